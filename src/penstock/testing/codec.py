"""Test suite that every codec passes, built-in or of a third party.

import pytest
from penstock.testing.codec import CHECKS

@pytest.mark.parametrize("check", CHECKS)
def test_my_codec(check):
check(MY_CODEC, "mycodec")
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from penstock.codecs.contract import Capabilities, Codec, DecodeOptions, Promise
from penstock.codecs.formats import format_of
from penstock.errors import CodecError, PenstockError
from penstock.types import Pixels

SHAPES = ((1, 1), (1, 7), (13, 1), (17, 31), (64, 64), (65, 63), (3, 257), (127, 5))


def capabilities_of(codec: Codec) -> Capabilities:
    """Return the pixels that the codec says it can hold; all, if it says nothing."""
    found = getattr(codec, "capabilities", None)
    return found if isinstance(found, Capabilities) else Capabilities()


def sample_image(height: int, width: int, channels: int, dtype: str, seed: int = 0) -> Pixels:
    """Make a smooth gradient with noise and an edge, which compresses like a photograph and reveals swapped axes."""
    rng = np.random.default_rng([height, width, channels, seed])
    y, x, c = np.mgrid[0:height, 0:width, 0:channels]
    top = 65535 if dtype == "uint16" else 255
    smooth = (y * 3 + x * 5 + c * 40) % 200 / 255 * top
    smooth[:, width // 2 :] *= 0.5
    noisy: Pixels = np.clip(smooth + rng.normal(0, top / 100, smooth.shape), 0, top).astype(dtype)
    return noisy[:, :, 0] if channels == 1 else noisy


def sample_images(codec: Codec) -> Iterator[Pixels]:
    """Yield an image of every shape, channel count and depth that the codec holds."""
    can = capabilities_of(codec)
    for height, width in SHAPES:
        for channels in can.channels:
            for dtype in can.dtypes:
                yield sample_image(height, width, channels, dtype)


def check_round_trip(codec: Codec, format_text: str) -> None:
    """Check that decoding returns the encoded pixels, exactly or approximately, as promised."""
    format = format_of(codec, format_text)
    for pixels in sample_images(codec):
        decoded = codec.decode(codec.encode(pixels, format), DecodeOptions())
        assert decoded.dtype == pixels.dtype, (decoded.dtype, pixels.dtype)
        assert decoded.shape == pixels.shape, (decoded.shape, pixels.shape)
        if codec.promise(format) is Promise.EXACT:
            np.testing.assert_array_equal(decoded, pixels)
        else:
            top = np.iinfo(pixels.dtype).max
            error = np.abs(decoded.astype(float) - pixels.astype(float)).mean() / top
            assert error < 0.25, f"mean error {error:.3f} of full scale for {pixels.shape}"


def check_inspect(codec: Codec, format_text: str) -> None:
    """Check that the header agrees with the decoded pixels."""
    format = format_of(codec, format_text)
    for pixels in sample_images(codec):
        data = codec.encode(pixels, format)
        info = codec.inspect(data)
        assert codec.sniff(data)
        assert info.codec == codec.name
        assert info.shape == pixels.shape, (info, pixels.shape)
        assert info.dtype == pixels.dtype.name


def check_into_buffer(codec: Codec, format_text: str) -> None:
    """Check that decoding into a caller's strided buffer writes the same pixels and nothing else."""
    format = format_of(codec, format_text)
    for pixels in sample_images(codec):
        data = codec.encode(pixels, format)
        expected = codec.decode(data, DecodeOptions())
        frame = np.full((expected.shape[0] + 2, expected.shape[1] + 3, *expected.shape[2:]), 99, expected.dtype)
        window = frame[1:-1, 1:-2]
        returned = codec.decode(data, DecodeOptions(), out=window)
        assert returned is window
        np.testing.assert_array_equal(window, expected)
        window[...] = 99
        assert (frame == 99).all(), "wrote outside the buffer"


def check_wrong_buffer(codec: Codec, format_text: str) -> None:
    """Check that a buffer of another shape or type is refused."""
    pixels = sample_image(9, 11, capabilities_of(codec).channels[-1], capabilities_of(codec).dtypes[0])
    data = codec.encode(pixels, format_of(codec, format_text))
    for wrong in (np.zeros((10, 11, *pixels.shape[2:]), pixels.dtype), np.zeros(pixels.shape, np.float32)):
        try:
            codec.decode(data, DecodeOptions(), out=wrong)  # type: ignore[arg-type]  # wrong on purpose
        except PenstockError:
            continue
        raise AssertionError(f"accepted a buffer of {wrong.shape} {wrong.dtype} for {pixels.shape}")


def check_region(codec: Codec, format_text: str) -> None:
    """Check that every region equals the crop of the full decode."""
    format = format_of(codec, format_text)
    rng = np.random.default_rng(3)
    for pixels in sample_images(codec):
        data = codec.encode(pixels, format)
        full = codec.decode(data, DecodeOptions())
        height, width = full.shape[:2]
        for _ in range(4):
            y, x = int(rng.integers(height)), int(rng.integers(width))
            h, w = int(rng.integers(1, height - y + 1)), int(rng.integers(1, width - x + 1))
            crop = codec.decode(data, DecodeOptions(region=(y, x, h, w)))
            np.testing.assert_array_equal(crop, full[y : y + h, x : x + w])


def check_bad_region(codec: Codec, format_text: str) -> None:
    """Check that an empty region, or one outside the image, is refused."""
    can = capabilities_of(codec)
    data = codec.encode(sample_image(9, 11, can.channels[0], can.dtypes[0]), format_of(codec, format_text))
    for region in ((0, 0, 10, 1), (0, 0, 1, 12), (9, 0, 1, 1), (0, 0, 0, 1), (-1, 0, 1, 1)):
        try:
            codec.decode(data, DecodeOptions(region=region))
        except PenstockError:
            continue
        raise AssertionError(f"accepted region {region} of an 11x9 image")


def check_scale(codec: Codec, format_text: str) -> None:
    """Check that reduced scales have the rounded-up size and regions that equal crops, and that others are refused."""
    can = capabilities_of(codec)
    pixels = sample_image(41, 67, can.channels[-1], can.dtypes[0])
    data = codec.encode(pixels, format_of(codec, format_text))
    for scale in (1, 2, 4, 8, 3):
        if scale not in can.scales:
            try:
                codec.decode(data, DecodeOptions(scale=scale))
            except PenstockError:
                continue
            raise AssertionError(f"accepted scale 1/{scale}")
        small = codec.decode(data, DecodeOptions(scale=scale))
        assert small.shape[:2] == (-(-41 // scale), -(-67 // scale))
        height, width = small.shape[:2]
        region = (height // 3, width // 3, height - height // 3, width // 2)
        crop = codec.decode(data, DecodeOptions(scale=scale, region=region))
        y, x, h, w = region
        np.testing.assert_array_equal(crop, small[y : y + h, x : x + w])


def check_max_pixels(codec: Codec, format_text: str) -> None:
    """Check that an image above `max_pixels` is refused before its pixels are allocated."""
    can = capabilities_of(codec)
    data = codec.encode(sample_image(9, 11, can.channels[0], can.dtypes[0]), format_of(codec, format_text))
    codec.decode(data, DecodeOptions(max_pixels=99))
    try:
        codec.decode(data, DecodeOptions(max_pixels=98))
    except CodecError:
        return
    raise AssertionError("max_pixels was not applied")


def check_truncation(codec: Codec, format_text: str) -> None:
    """Check that a truncated file raises CodecError, or gives an image if the format cannot detect it."""
    can = capabilities_of(codec)
    data = codec.encode(sample_image(33, 47, can.channels[-1], can.dtypes[0]), format_of(codec, format_text))
    cuts = sorted({*range(0, len(data), max(1, len(data) // 97)), *range(0, min(len(data), 64))})
    for cut in cuts:
        try:
            codec.decode(data[:cut], DecodeOptions())
        except CodecError as error:
            assert error.what
            assert error.where
            assert error.fix
            continue
        if can.checksummed:
            raise AssertionError(f"accepted {cut} of {len(data)} bytes")


def check_flips(codec: Codec, format_text: str) -> None:
    """Check that a flipped byte raises CodecError if the format has a checksum, and no other error otherwise."""
    can = capabilities_of(codec)
    data = codec.encode(sample_image(33, 47, can.channels[-1], can.dtypes[0]), format_of(codec, format_text))
    original = codec.decode(data, DecodeOptions())
    for position in range(0, len(data), max(1, len(data) // 211)):
        damaged = bytearray(data)
        damaged[position] ^= 0x5A
        try:
            decoded = codec.decode(bytes(damaged), DecodeOptions(max_pixels=2**20))
        except CodecError:
            continue
        if can.checksummed and not np.array_equal(decoded, original):
            raise AssertionError(f"byte {position} was flipped and other pixels came back")


CHECKS: tuple[Callable[[Codec, str], None], ...] = (
    check_round_trip,
    check_inspect,
    check_into_buffer,
    check_wrong_buffer,
    check_region,
    check_bad_region,
    check_scale,
    check_max_pixels,
    check_truncation,
    check_flips,
)
