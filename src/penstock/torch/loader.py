"""`penstock.torch.Loader`: batches as tensors."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from penstock.errors import ArgumentError
from penstock.kernels.output import Output
from penstock.load import Loader as ArrayLoader
from penstock.load.delivery import BatchDict
from penstock.load.rest import stack
from penstock.torch.decode import decode_records
from penstock.torch.device import copied_ahead

PLACES = ("host", "device")


class Loader(ArrayLoader):
    """As `penstock.Loader`, with tensors: images N×C×H×W unless `layout` says otherwise, labels and ids int64.

    Tensors share the memory of the batch: nothing is copied on the host. `device` moves batches there, on CUDA from
    pinned memory on a stream of its own, one batch ahead. `rank` and `world_size` are torch.distributed's if it is
    initialised. `decode_on="device"` sends Weir and L3 images encoded and decodes them with `penstock.kernels`; it
    takes no transform, and the batches equal those of the host.

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
        path: str | os.PathLike[str],
        *,
        device: torch.device | str | None = None,
        decode_on: str = "host",
        rank: int | None = None,
        world_size: int | None = None,
        layout: str = "NCHW",
        **keywords: Any,  # noqa: ANN401  # those of penstock.Loader, which checks them
    ) -> None:
        if decode_on not in PLACES:
            fix = f"choose among {', '.join(PLACES)}"
            raise ArgumentError(f"decode_on is {decode_on!r}", where="decode_on", fix=fix, code=100)
        self.device = torch.device(device) if device is not None else None
        self._takes_encoded = decode_on == "device"
        if self._takes_encoded:
            _check_device(self.device, keywords)
        own_rank, own_world = _distributed()
        super().__init__(
            path,
            rank=own_rank if rank is None else rank,
            world_size=own_world if world_size is None else world_size,
            layout=layout,
            **keywords,
        )

    def _finish(self, batch: BatchDict) -> BatchDict:
        image = batch["image"]
        batch = {name: _tensors(value) for name, value in batch.items()}
        label = batch.get("label")
        if isinstance(label, torch.Tensor) and not label.is_floating_point():
            batch["label"] = label.long()  # an index may hold int32, which torch's losses refuse
        if self._takes_encoded:
            batch["image"] = self._decoded(image)
        elif self._rest is not None:
            batch["image"] = _stacked(self._rest(list(batch["image"])))
        return batch

    def _ahead(self, batches: Iterator[tuple[BatchDict, int]]) -> Iterator[tuple[BatchDict, int]]:
        return batches if self.device is None else copied_ahead(batches, self.device)

    def _decoded(self, records: Any) -> torch.Tensor | list[torch.Tensor]:  # noqa: ANN401  # an array or a list of them
        assert self.device is not None, "checked when the loader was made"
        output = Output("NCHW" if self._policy.layout == "NCHW" else "NHWC")
        pieces = [memoryview(record) for record in records]
        return decode_records(pieces, self.device, output, by_kernels=True, verify=self._policy.verify != "never")


def _tensors(value: Any) -> Any:  # noqa: ANN401  # an array, or a list of them
    if isinstance(value, list):
        return [_tensors(item) for item in value]
    return torch.from_numpy(value) if isinstance(value, np.ndarray) else value


def _stacked(images: list[Any]) -> Any:  # noqa: ANN401  # whatever the functions give
    first = images[0] if images else None
    if not isinstance(first, torch.Tensor):
        return stack(images)
    alike = all(
        isinstance(image, torch.Tensor) and image.shape == first.shape and image.dtype == first.dtype
        for image in images
    )
    return torch.stack(images) if alike else images


def _distributed() -> tuple[int, int]:
    """(rank, world size) of torch.distributed; (0, 1) without it."""
    distributed = torch.distributed
    if distributed.is_available() and distributed.is_initialized():
        return distributed.get_rank(), distributed.get_world_size()
    return 0, 1


def _check_device(device: torch.device | None, keywords: dict[str, Any]) -> None:
    interpreted = os.environ.get("TRITON_INTERPRET") == "1"
    if device is None or (device.type == "cpu" and not interpreted):
        raise ArgumentError(
            "decode_on='device' needs an accelerator",
            where="device",
            fix="pass device='cuda' (or set TRITON_INTERPRET=1 to try the kernels on the CPU, slowly)",
            code=100,
        )
    if keywords.get("transform") is not None:
        raise ArgumentError(
            "decode_on='device' decodes whole images: it takes no transform",
            where="transform",
            fix="transform the batch on the device, or decode on the host",
            code=100,
        )
    if keywords.get("channels", "unchanged") != "unchanged":
        raise ArgumentError(
            "decode_on='device' gives images the channels they have", where="channels", fix="leave it out", code=100
        )
    keywords["channels"] = "unchanged"
