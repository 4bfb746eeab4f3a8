"""`penstock.torch.Loader`: batches as tensors."""

from __future__ import annotations

from inspect import Parameter
from typing import TYPE_CHECKING

import torch

from penstock.index import SampleIndex
from penstock.load import Loader as ArrayLoader
from penstock.load import LoaderPlan
from penstock.load.loader_keywords import signature_with_keywords
from penstock.storage import AnyPlace
from penstock.torch.tensor_sink import TensorSink

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from penstock.load.loader_keywords import CommonKeywords


class Loader(ArrayLoader):
    """Load batches of tensors: images N×C×H×W unless `layout` says otherwise, labels and ids int64.

    Takes the keywords of `penstock.Loader`, which documents them, and those below. Tensors share the memory of the
    batch: nothing is copied on the host.

    Args:
        path: As for `penstock.Loader`.
        device: Move batches there, on CUDA from pinned memory on a stream of its own, one batch ahead.
        decode_on: "device" sends Weir and L3 images encoded and decodes and transforms them there, by
            `penstock.kernels`; batches equal those of the host. Changes of colours and warps run on the host alone.
        rank: Rank of this process; default that of torch.distributed, if it is initialised.
        world_size: Number of ranks; default that of torch.distributed.
        layout: "NCHW" or "NHWC".

    >>> import pathlib, tempfile, numpy, penstock
    >>> folder = tempfile.TemporaryDirectory()
    >>> data = penstock.encode(numpy.zeros((4, 5, 3), numpy.uint8), "png")
    >>> _ = pathlib.Path(folder.name, "black.png").write_bytes(data)
    >>> with Loader(folder.name) as loader:
    ...     [batch["image"].shape for batch in loader]
    [torch.Size([1, 3, 4, 5])]
    >>> folder.cleanup()

    """

    def __init__(
        self,
        path: AnyPlace | SampleIndex | LoaderPlan,
        *,
        device: torch.device | str | None = None,
        decode_on: str = "host",
        rank: int | None = None,
        world_size: int | None = None,
        layout: str = "NCHW",
        **keywords: Unpack[CommonKeywords],
    ) -> None:
        sink = TensorSink(device, decode_on)
        self.device = sink.device
        if isinstance(path, LoaderPlan):
            super().__init__(path, sink=sink, **keywords)
            return
        own_rank, own_world = _distributed()
        super().__init__(
            path,
            sink=sink,
            rank=own_rank if rank is None else rank,
            world_size=own_world if world_size is None else world_size,
            layout=layout,
            **keywords,
        )


def _distributed() -> tuple[int, int]:
    """Return (rank, world size) of torch.distributed; (0, 1) without it."""
    distributed = torch.distributed
    if distributed.is_available() and distributed.is_initialized():
        return distributed.get_rank(), distributed.get_world_size()
    return 0, 1


Loader.__init__.__signature__ = signature_with_keywords(  # type: ignore[attr-defined]  # for help() and editors
    "path",
    Parameter("device", Parameter.KEYWORD_ONLY, default=None),
    Parameter("decode_on", Parameter.KEYWORD_ONLY, default="host"),
    Parameter("rank", Parameter.KEYWORD_ONLY, default=None),
    Parameter("world_size", Parameter.KEYWORD_ONLY, default=None),
    Parameter("layout", Parameter.KEYWORD_ONLY, default="NCHW"),
)
