"""`TensorSink`: finish batches as torch tensors, on a device if one is asked for."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from penstock import _native
from penstock.errors import ArgumentError
from penstock.functions.forms import Forms
from penstock.functions.sample import Drawing
from penstock.load.batch_sink import BatchSink, Delivered
from penstock.load.delivery import BatchDict
from penstock.load.loader_options import LoaderOptions
from penstock.load.plan_values import PlanValues
from penstock.load.python_stage import PythonStage
from penstock.torch.device import copied_ahead
from penstock.torch.encoded import DeviceDecoder
from penstock.torch.python_transforms import Tensors
from penstock.transforms import Chain

PLACES = ("host", "device")


class TensorSink(BatchSink):
    """Give batches of tensors that share the memory of the native batch; labels and ids are int64.

    `device` moves batches there, on CUDA one batch ahead. With `decode_on="device"` Weir and L3 images are sent encoded
    and decoded there.
    """

    def __init__(self, device: torch.device | str | None = None, decode_on: str = "host") -> None:
        if decode_on not in PLACES:
            fix = f"choose among {', '.join(PLACES)}"
            raise ArgumentError(f"decode_on is {decode_on!r}", where="decode_on", fix=fix, code=100)
        self.device = torch.device(device) if device is not None else None
        self._decoder: DeviceDecoder | None = None
        if decode_on == "device":
            _check_device(self.device)
            self.undecoded = _native.Undecoded.FOR_DEVICE

    def options(self, options: LoaderOptions) -> LoaderOptions:
        """Keep functions in Python in this process where pixels are on the device."""
        options = super().options(options)
        if not options.output.is_undecoded:
            return options
        if options.output.python_workers:
            raise ArgumentError(
                "decode_on='device' leaves no pixels that could go to worker processes",
                where="python_workers",
                fix="leave python_workers out: functions get tensors of the device, in the caller's thread",
                code=100,
            )
        return replace(options, output=replace(options.output, python_workers=0))

    def forms(self, chain: Chain) -> Forms:
        """Return tensors for all functions."""
        return Tensors()

    def prepare(self, plan: PlanValues, stage: PythonStage | None) -> None:
        """Make the decoder of a device, and refuse what it cannot do like the host."""
        if self.undecoded is not _native.Undecoded.FOR_DEVICE:
            return
        assert self.device is not None, "checked before"
        _check_encoded(plan, stage)
        options = plan.options
        layout = options.output.layout if stage is None else stage.functions.layout
        # The records of a dataset are checked as a whole, before they are sent.
        unchecked = not plan.samples.has_checksums
        self._decoder = DeviceDecoder(
            plan.chain.program(),
            self.device,
            channels=options.output.channels,
            layout="NCHW" if layout == "NCHW" else "NHWC",
            changes=bool(plan.chain.native),
            verify=unchecked and options.reading.verify != "never",
        )

    def decoded(self, batch: BatchDict, drawing: Drawing) -> BatchDict:
        """Decode images on the device, if they were sent encoded."""
        if self._decoder is not None:
            batch["image"] = self._decoder(batch["image"], batch["id"], drawing.seed, drawing.epoch)
        return batch

    def finish(self, batch: BatchDict, drawing: Drawing) -> BatchDict:
        """Convert arrays to tensors."""
        batch = {name: _tensors(value) for name, value in batch.items()}
        label = batch.get("label")
        if isinstance(label, torch.Tensor) and not label.is_floating_point():
            batch["label"] = label.long()  # an index may hold int32, which torch's losses refuse
        return batch

    def ahead(self, batches: Iterator[Delivered]) -> Iterator[Delivered]:
        """Start the copy to a device one batch ahead."""
        return batches if self.device is None else copied_ahead(batches, self.device)


def _tensors(value: Any) -> Any:  # noqa: ANN401  # an array, or a list of them
    if isinstance(value, list):
        return [_tensors(item) for item in value]
    if isinstance(value, dict):
        return {key: _tensors(item) for key, item in value.items()}
    return torch.from_numpy(value) if isinstance(value, np.ndarray) else value


def _check_device(device: torch.device | None) -> None:
    interpreted = os.environ.get("TRITON_INTERPRET") == "1"
    if device is None or (device.type == "cpu" and not interpreted):
        raise ArgumentError(
            "decode_on='device' needs an accelerator",
            where="device",
            fix="pass device='cuda' (or set TRITON_INTERPRET=1 to try the kernels on the CPU, slowly)",
            code=100,
        )


def _check_encoded(plan: PlanValues, stage: PythonStage | None) -> None:
    """Refuse what the device cannot do like the host."""
    on_error = plan.options.errors.on_error
    if stage is not None and stage.functions.needs_pillow:
        raise ArgumentError(
            f"decode_on='device' gives tensors, and {stage.functions.names[0]} expects a Pillow image",
            where="transform",
            fix="put ToImage before it, or decode on the host",
            code=100,
        )
    missing = [type(transform).__name__ for transform in plan.chain.native if not transform.runs_on_device]
    if missing:
        raise ArgumentError(
            f"decode_on='device' has no {', '.join(missing)}",
            where="transform",
            fix="leave it out and transform batches on the device, or decode on the host",
            code=100,
        )
    if not plan.samples.has_checksums and on_error != "raise":
        raise ArgumentError(
            f"on_error={on_error!r} cannot be kept: files have no checksum before they are sent",
            where="on_error",
            fix="build a dataset of the folder, whose records have one, or leave on_error at 'raise'",
            code=100,
        )
