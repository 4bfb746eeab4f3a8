"""`penstock.torch.Loader`: batches as tensors."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from penstock import _native
from penstock.errors import ArgumentError
from penstock.functions.forms import Forms
from penstock.load import Loader as ArrayLoader
from penstock.load.delivery import BatchDict
from penstock.torch.device import copied_ahead
from penstock.torch.encoded import DeviceDecoder
from penstock.torch.python_transforms import Tensors
from penstock.transforms import ColorJitter

PLACES = ("host", "device")


class Loader(ArrayLoader):
    """As `penstock.Loader`, with tensors: images N×C×H×W unless `layout` says otherwise, labels and ids int64.

    Tensors share the memory of the batch: nothing is copied on the host. `device` moves batches there, on CUDA from
    pinned memory on a stream of its own, one batch ahead. `rank` and `world_size` are torch.distributed's if it is
    initialised. `decode_on="device"` sends Weir and L3 images encoded; they are decoded and transformed there by
    `penstock.kernels`, and the batches equal those of the host. ColorJitter stays a matter of the host.

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
        self._undecoded = _native.Undecoded.FOR_DEVICE if decode_on == "device" else _native.Undecoded.NONE
        if self._decodes_on_device:
            _check_device(self.device)
        own_rank, own_world = _distributed()
        super().__init__(
            path,
            rank=own_rank if rank is None else rank,
            world_size=own_world if world_size is None else world_size,
            layout=layout,
            **keywords,
        )
        if self._decodes_on_device:
            self._check_encoded()
            self._decoder = self._new_decoder()

    def _decoded(self, batch: BatchDict, epoch: int) -> BatchDict:
        if self._decodes_on_device:
            batch["image"] = self._decoder(batch["image"], batch["id"], self._order.seed, epoch)
        return batch

    def _finish(self, batch: BatchDict) -> BatchDict:
        batch = {name: _tensors(value) for name, value in batch.items()}
        label = batch.get("label")
        if isinstance(label, torch.Tensor) and not label.is_floating_point():
            batch["label"] = label.long()  # an index may hold int32, which torch's losses refuse
        return batch

    def _forms(self) -> Forms:
        return Tensors()

    def _python_workers(self, asked: int | None) -> int | None:
        if not self._decodes_on_device:
            return asked
        if asked:
            raise ArgumentError(
                "decode_on='device' leaves no pixels that could go to worker processes",
                where="python_workers",
                fix="leave python_workers out: functions get tensors of the device, in the caller's thread",
                code=100,
            )
        return 0

    def _ahead(self, batches: Iterator[tuple[BatchDict, int]]) -> Iterator[tuple[BatchDict, int]]:
        return batches if self.device is None else copied_ahead(batches, self.device)

    @property
    def _decodes_on_device(self) -> bool:
        return self._undecoded is _native.Undecoded.FOR_DEVICE

    def _new_decoder(self) -> DeviceDecoder:
        assert self.device is not None, "checked before"
        policy = self._policy
        # The records of a dataset are checked as a whole, before they are sent.
        unchecked = not self._samples.has_checksums
        return DeviceDecoder(
            self._chain.program(),
            self.device,
            channels=policy.channels,
            layout="NCHW" if self._pixel_layout == "NCHW" else "NHWC",
            changes=bool(self._chain.native),
            verify=unchecked and policy.verify != "never",
        )

    def _check_encoded(self) -> None:
        """Refuse what the device cannot do as the host does."""
        if self._stage is not None and self._stage.functions.needs_pillow:
            self.close()
            raise ArgumentError(
                f"decode_on='device' gives tensors, and {self._stage.functions.names[0]} expects a Pillow image",
                where="transform",
                fix="put ToImage before it, or decode on the host",
                code=100,
            )
        if any(isinstance(transform, ColorJitter) for transform in self._chain.native):
            self.close()
            raise ArgumentError(
                "decode_on='device' has no ColorJitter",
                where="transform",
                fix="leave it out and change the colours of batches on the device, or decode on the host",
                code=100,
            )
        if not self._samples.has_checksums and self._log.policy.on_error != "raise":
            self.close()
            raise ArgumentError(
                f"on_error={self._log.policy.on_error!r} cannot be kept: files have no checksum before they are sent",
                where="on_error",
                fix="build a dataset of the folder, whose records have one, or leave on_error at 'raise'",
                code=100,
            )


def _tensors(value: Any) -> Any:  # noqa: ANN401  # an array, or a list of them
    if isinstance(value, list):
        return [_tensors(item) for item in value]
    if isinstance(value, dict):
        return {key: _tensors(item) for key, item in value.items()}
    return torch.from_numpy(value) if isinstance(value, np.ndarray) else value


def _distributed() -> tuple[int, int]:
    """(rank, world size) of torch.distributed; (0, 1) without it."""
    distributed = torch.distributed
    if distributed.is_available() and distributed.is_initialized():
        return distributed.get_rank(), distributed.get_world_size()
    return 0, 1


def _check_device(device: torch.device | None) -> None:
    interpreted = os.environ.get("TRITON_INTERPRET") == "1"
    if device is None or (device.type == "cpu" and not interpreted):
        raise ArgumentError(
            "decode_on='device' needs an accelerator",
            where="device",
            fix="pass device='cuda' (or set TRITON_INTERPRET=1 to try the kernels on the CPU, slowly)",
            code=100,
        )
