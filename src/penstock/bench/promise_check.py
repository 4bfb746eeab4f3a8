"""Check of a format before timing: encodes images and verifies the decoded pixels."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from penstock.bench.corpus import SourceImage
from penstock.bench.result import Distortion
from penstock.bench.spread import Spread
from penstock.codecs import Codec, DecodeOptions, Format, Promise, find
from penstock.errors import CodecError
from penstock.pixels import ms_ssim, psnr
from penstock.types import OnProgress, Pixels, no_progress

MISMATCH = 370


@dataclass(slots=True)
class Encoded:
    """Images in a format, those it refused, and the times of the first encode and decode."""

    pixels: list[Pixels] = field(default_factory=list)
    data: list[bytes] = field(default_factory=list)
    refusals: list[CodecError] = field(default_factory=list)
    distortion: Distortion | None = None
    encode_seconds: float = 0.0
    decode_seconds: float = 0.0


def encode_all(format: Format, images: Sequence[SourceImage], on_progress: OnProgress = no_progress) -> Encoded:
    """Encode every image that the format can hold, and decode it again.

    A lossless format must restore the pixels, otherwise `CodecError` names the image. For a lossy one, the distortion
    is measured.
    """
    codec = find(format.codec)
    lossless = codec.promise(format) is Promise.EXACT
    found = Encoded()
    noise: list[tuple[float, float]] = []
    for number, image in enumerate(images):
        on_progress(f"verifying {format}", number, len(images))
        begin = time.perf_counter()
        try:
            data = codec.encode(image.pixels, format)
        except CodecError as error:
            found.refusals.append(error)
            continue
        found.encode_seconds += time.perf_counter() - begin
        decoded = _decode(codec, data, found)
        if lossless:
            _compare(format, image, decoded)
        else:
            noise.append((psnr(image.pixels, decoded), ms_ssim(image.pixels, decoded)))
        found.pixels.append(image.pixels)
        found.data.append(data)
    if noise:
        found.distortion = Distortion(Spread.of(a for a, _ in noise), Spread.of(b for _, b in noise))
    return found


def _decode(codec: Codec, data: bytes, found: Encoded) -> Pixels:
    begin = time.perf_counter()
    decoded = codec.decode(data, DecodeOptions())
    found.decode_seconds += time.perf_counter() - begin
    return decoded


def _compare(format: Format, image: SourceImage, decoded: Pixels) -> None:
    if decoded.dtype == image.pixels.dtype and np.array_equal(decoded, image.pixels):
        return
    raise CodecError(
        f"{format} promises to be lossless and gave other pixels back",
        where=str(image.path),
        fix="do not use this format for it, and report the image",
        code=MISMATCH,
    )
