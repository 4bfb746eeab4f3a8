"""`decode_batch`: decodes images to one tensor, on the accelerator if it can."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from penstock.codecs.api import decode, inspect
from penstock.codecs.contract import DecodeOptions, ImageInfo
from penstock.errors import ArgumentError, CodecError
from penstock.kernels.batch_output import Canvas, Layout, Output
from penstock.types import Buffer


def decode_batch(
    records: Sequence[Buffer],
    *,
    device: torch.device | str = "cpu",
    layout: Layout = "NCHW",
    dtype: torch.dtype | None = None,
    mean: Sequence[float] = (0.0,),
    std: Sequence[float] = (1.0,),
    verify: bool = True,
) -> torch.Tensor | list[torch.Tensor]:
    """Decode images of any codec: one tensor if all have one shape and type, else a list of tensors.

    On CUDA, Weir and L3 files are sent encoded and decoded there (`penstock.kernels`); the native core decodes all
    others and sends pixels. The function returns when the pixels are ready.

    Args:
        records: Encoded images.
        device: Device of the tensors.
        layout: "NCHW" or "NHWC".
        dtype: None keeps the stored type (uint8, uint16). A float type gives (sample / largest sample - mean) / std.
        mean: Means, one for all channels or one per channel.
        std: Standard deviations, one for all channels or one per channel.
        verify: Verify checksums, also on the accelerator.

    Raises:
        CodecError: If a record is damaged; it names the record and its tile or patch.

    >>> import numpy, penstock
    >>> grey = penstock.encode(numpy.full((2, 3), 7, numpy.uint8), "weir")
    >>> decode_batch([grey, grey]).shape
    torch.Size([2, 1, 2, 3])
    """
    if not records:
        raise ArgumentError("there are no records", where="records", fix="pass at least one")
    output = Output(layout, dtype, tuple(mean), tuple(std))
    target = torch.device(device)
    infos = [_inspect(index, record) for index, record in enumerate(records)]
    canvas = Canvas.allocate(infos, output, target)
    here = list(range(len(records)))
    if target.type == "cuda":
        here = decode_on_device(records, infos, canvas, output, verify=verify)
    for index in here:
        _decode_here(index, records[index], infos[index], canvas.images[index], output, verify=verify)
    return canvas.result


def decode_on_device(
    records: Sequence[Buffer], infos: Sequence[ImageInfo], canvas: Canvas, output: Output, *, verify: bool
) -> list[int]:
    """Decode on the device what it can decode; the indices of the rest."""
    from penstock.kernels.decode import can_decode, decode_into  # needs triton, which only accelerators need

    able = [can_decode(record, info) for record, info in zip(records, infos, strict=True)]
    there = [index for index, ability in enumerate(able) if ability]
    damages = decode_into(
        [canvas.images[i] for i in there], [records[i] for i in there], [infos[i] for i in there], output, verify=verify
    )
    for position, error in damages:
        raise _named(there[position], error) from None
    return [index for index, ability in enumerate(able) if not ability]


def _decode_here(
    index: int, record: Buffer, info: ImageInfo, image: torch.Tensor, output: Output, *, verify: bool
) -> None:
    try:
        pixels = torch.from_numpy(decode(record, options=DecodeOptions(verify=verify)))
    except CodecError as error:
        raise _named(index, error) from error
    pixels = pixels.view(info.height, info.width, info.channels)
    if output.normalises:
        scale, bias = output.affine(info)
        pixels = pixels.to(torch.float32) * scale + bias
    image.copy_(pixels.permute(2, 0, 1) if output.layout == "NCHW" else pixels)


def _inspect(index: int, record: Buffer) -> ImageInfo:
    try:
        return inspect(record)
    except CodecError as error:
        raise _named(index, error) from error


def _named(index: int, error: CodecError) -> CodecError:
    """Return the error with the index of its record."""
    return CodecError(f"record {index}: {error.what}", where=error.where, fix=error.fix, code=error.code)
