"""Whatever the image is, every codec keeps its promise: any shape, channels, depth and content that it holds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.codecs import DecodeOptions, Promise, find, parse_format
from penstock.testing.codec import capabilities_of, sample_image
from penstock.types import Pixels, Region
from tests.unit.codecs.test_suite import FORMATS

PRIMES = (2, 3, 5, 7, 11, 13, 31, 61, 67, 127, 131)
SIDES = st.one_of(st.just(1), st.sampled_from(PRIMES), st.integers(1, 140))
SHAPES = st.one_of(
    st.tuples(SIDES, SIDES), st.tuples(st.just(1), st.integers(1, 1500)), st.tuples(st.integers(1, 1500), st.just(1))
)


@st.composite
def images(draw: st.DrawFn, format_text: str) -> Pixels:
    """An image that the format holds: like a photograph, noise, flat, two values, or the extremes of its type."""
    can = capabilities_of(find(format_text.partition(":")[0]))
    height, width = draw(SHAPES)
    channels, dtype = draw(st.sampled_from(can.channels)), draw(st.sampled_from(can.dtypes))
    top = np.iinfo(dtype).max
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    shape = (height, width) if channels == 1 else (height, width, channels)
    kind = draw(st.sampled_from(["photograph", "noise", "flat", "two values", "extremes"]))
    if kind == "photograph":
        return sample_image(height, width, channels, dtype, seed=draw(st.integers(0, 99)))
    if kind == "noise":
        return rng.integers(0, top, shape, dtype, endpoint=True)
    if kind == "flat":
        return np.full(shape, draw(st.integers(0, top)), dtype)
    if kind == "two values":
        return rng.choice(rng.integers(0, top, 2, dtype, endpoint=True), shape)
    return rng.choice(np.array([0, top], dtype), shape)


@st.composite
def regions(draw: st.DrawFn, height: int, width: int) -> Region:
    y, x = draw(st.integers(0, height - 1)), draw(st.integers(0, width - 1))
    return (y, x, draw(st.integers(1, height - y)), draw(st.integers(1, width - x)))


@pytest.mark.parametrize("format_text", FORMATS)
@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_any_image_keeps_the_promise(format_text: str, data: st.DataObject) -> None:
    format, codec = parse_format(format_text), find(format_text.partition(":")[0])
    pixels = data.draw(images(format_text))

    encoded = codec.encode(pixels, format)
    info, whole = codec.inspect(encoded), codec.decode(encoded, DecodeOptions())

    assert (info.shape, info.dtype) == (whole.shape, whole.dtype.name) == (pixels.shape, pixels.dtype.name)
    if codec.promise(format) is Promise.EXACT:
        np.testing.assert_array_equal(whole, pixels)


@pytest.mark.parametrize("format_text", FORMATS)
@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_any_region_of_any_scale_equals_the_crop(format_text: str, data: st.DataObject) -> None:
    codec = find(format_text.partition(":")[0])
    encoded = codec.encode(data.draw(images(format_text)), parse_format(format_text))
    scale = data.draw(st.sampled_from(capabilities_of(codec).scales))

    whole = codec.decode(encoded, DecodeOptions(scale=scale))
    y, x, height, width = region = data.draw(regions(*whole.shape[:2]))
    frame = np.full((height + 2, width + data.draw(st.integers(0, 5)), *whole.shape[2:]), 77, whole.dtype)
    part = codec.decode(encoded, DecodeOptions(scale=scale, region=region), out=frame[1:-1, :width])

    np.testing.assert_array_equal(part, whole[y : y + height, x : x + width])
    assert (frame[0] == 77).all()
    assert (frame[-1] == 77).all()
    assert (frame[1:-1, width:] == 77).all()
