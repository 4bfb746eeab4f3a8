"""Decoding and transforms of encoded batches on a device, with results equal to the host's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from penstock import _native
from penstock.codecs.api import inspect
from penstock.codecs.contract import ImageInfo
from penstock.errors import CodecError
from penstock.kernels.batch_output import Canvas, Layout, Output
from penstock.types import Buffer

CHANNELS = {"RGB": 3, "L": 1}


class DeviceDecoder:
    """Decoder that makes tensors from a pipeline's output: encoded Weir and L3 files, and other images as pixels."""

    def __init__(
        self,
        program: _native.TransformProgram,
        device: torch.device,
        *,
        channels: str,
        layout: Layout,
        changes: bool,
        verify: bool,
    ) -> None:
        from penstock.kernels.transform_passes import Transformer  # needs triton, which only accelerators need

        self._device = device
        self._layout = layout
        self._channels = channels
        self._changes = changes
        self._verify = verify
        self._transformer = Transformer(program, channels, layout, device)

    def __call__(
        self, handed: Sequence[npt.NDArray[Any]], ids: npt.NDArray[np.int64], seed: int, epoch: int
    ) -> torch.Tensor | list[torch.Tensor]:
        """Return one tensor if all images have one shape and type, else a list."""
        encoded = [index for index, array in enumerate(handed) if array.ndim == 1]
        records = [handed[index].data for index in encoded]
        infos = [inspect(record) for record in records]
        names = [f"sample {ids[index]}" for index in encoded]
        if not self._must_transform(infos) and len(encoded) == len(handed):
            output = Output(self._layout)
            canvas = Canvas.allocate(infos, output, self._device)
            self._decode(canvas.images, records, infos, names, output)
            return canvas.result
        output = Output("NHWC")
        images = Canvas.allocate(infos, output, self._device).images if encoded else []
        self._decode(images, records, infos, names, output)
        drawn = self._transformer.draw(images, ids[encoded].astype(np.uint64), seed, epoch)
        places = {encoded[number]: place for number, place in self._transformer.places(drawn).items()}
        finished = {index: torch.from_numpy(array) for index, array in enumerate(handed) if array.ndim != 1}
        for index, image in finished.items():
            height, width, channels = image.shape
            places[index] = (height, width, channels), image.dtype
        canvas = Canvas.of([places[index] for index in range(len(handed))], self._device)
        self._transformer.run(drawn, images, [canvas.images[index] for index in encoded])
        for index, image in finished.items():
            canvas.images[index].copy_(image)
        return canvas.result

    def _must_transform(self, infos: Sequence[ImageInfo]) -> bool:
        wanted = CHANNELS.get(self._channels)
        return self._changes or any(info.channels != wanted for info in infos if wanted is not None)

    def _decode(
        self,
        images: Sequence[torch.Tensor],
        records: Sequence[Buffer],
        infos: Sequence[ImageInfo],
        names: Sequence[str],
        output: Output,
    ) -> None:
        from penstock.kernels.decode import decode_into

        if not records:
            return
        for position, error in decode_into(images, records, infos, output, verify=self._verify):
            where = f"{names[position]}: {error.where}"
            raise CodecError(error.what, where=where, fix=error.fix, code=error.code)
