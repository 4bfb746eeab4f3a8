"""Bad input gives a CodecError that says what, where and how to fix it: no crash, no hang, no foreign exception."""

from __future__ import annotations

import numpy as np
import pytest

import penstock
from fuzz.seeds import Seed, all_seeds
from penstock.codecs import DecodeOptions, find, parse_format
from penstock.codecs.pjpeg import scan_ends
from penstock.codecs.table import BUILTIN
from tests.hostile.headers import HEADERS, claiming, encoder, photograph
from tests.unit.codecs.test_suite import FORMATS

CODECS = sorted(codec.name for codec in BUILTIN)
SEEDS = [seed for seed in all_seeds() if seed.codec in CODECS]


def assert_complete(error: penstock.CodecError) -> None:
    assert error.what
    assert error.where
    assert error.fix
    assert 300 <= error.code < 400


def test_every_codec_has_a_header_to_patch() -> None:
    assert set(CODECS) <= set(HEADERS), "tell tests/hostile/headers.py how the new codec says its size"


@pytest.mark.parametrize("name", sorted({*CODECS, *FORMATS} - {"pjpeg"}))
def test_data_cut_at_every_64th_byte_is_refused(name: str) -> None:
    codec = find(name.partition(":")[0])
    data = (HEADERS[name].write if name in HEADERS else encoder(name))(photograph())
    for cut in range(0, len(data), 64):
        with pytest.raises(penstock.CodecError) as caught:
            codec.decode(data[:cut], DecodeOptions())
        assert_complete(caught.value)


def test_a_progressive_jpeg_that_ends_anywhere_is_refused_or_shows_its_whole_scans() -> None:
    codec = find("pjpeg")
    data = codec.encode(photograph(), parse_format("pjpeg"))
    scans = [codec.decode(data[:end], DecodeOptions()) for end in scan_ends(data)]
    num_refused = 0
    for cut in range(0, len(data), 17):
        try:
            pixels = codec.decode(data[:cut], DecodeOptions())
        except penstock.CodecError as error:
            assert_complete(error)
            num_refused += 1
        else:
            assert any(np.array_equal(pixels, whole) for whole in scans)
    assert num_refused > len(data) // 17 * 0.8


@pytest.mark.parametrize("codec", CODECS)
def test_a_header_that_claims_too_many_pixels_is_refused(codec: str) -> None:
    side = HEADERS[codec].max_side
    data = claiming(codec, side, side)
    for max_pixels in (2**20, side * side - 1):
        with pytest.raises(penstock.CodecError, match=f"{side}x{side}") as caught:
            penstock.inspect(data, max_pixels=max_pixels)
        with pytest.raises(penstock.CodecError, match=f"{side}x{side}") as caught:
            _decode(data, max_pixels)
        assert caught.value.code == 340
        assert_complete(caught.value)


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("size", [(0, 0), (0, 40), (40, 0)])
def test_a_header_that_claims_no_pixels_is_refused(codec: str, size: tuple[int, int]) -> None:
    with pytest.raises(penstock.CodecError) as caught:
        penstock.decode(claiming(codec, *size))
    assert_complete(caught.value)


@pytest.mark.parametrize("codec", CODECS)
def test_a_header_that_claims_a_larger_image_than_there_is_is_refused(codec: str) -> None:
    with pytest.raises(penstock.CodecError) as caught:
        penstock.decode(claiming(codec, 1000, 1500))
    assert_complete(caught.value)


@pytest.mark.parametrize("codec", CODECS)
def test_empty_data_is_refused(codec: str) -> None:
    for verb in (penstock.inspect, penstock.decode, find(codec).inspect, lambda data: _decode(data, 2**28, codec)):
        with pytest.raises(penstock.CodecError) as caught:
            verb(b"")
        assert_complete(caught.value)


@pytest.mark.parametrize("codec", CODECS)
def test_data_of_another_codec_is_refused(codec: str) -> None:
    for seed in SEEDS:
        if seed.codec != codec and not find(codec).sniff(seed.data):
            with pytest.raises(penstock.CodecError) as caught:
                _decode(seed.data, 2**20, codec)
            assert_complete(caught.value)


@pytest.mark.parametrize("codec", CODECS)
def test_noise_after_a_valid_beginning_gives_pixels_or_a_codec_error(codec: str) -> None:
    rng = np.random.default_rng(7)
    for seed in (seed for seed in SEEDS if seed.codec == codec):
        for valid_bytes in (2, 4, 8, 12, 20, 26, 32, 48, 80, 160):
            noise = rng.integers(0, 256, int(rng.integers(0, 400)), np.uint8).tobytes()
            _decode_or_complete(seed.data[:valid_bytes] + noise, codec)


@pytest.mark.parametrize("seed", SEEDS, ids=lambda seed: f"{seed.codec}-{seed.name}")
def test_every_seed_decodes(seed: Seed) -> None:
    codec = find(seed.codec)
    info = codec.inspect(seed.data)
    assert codec.sniff(seed.data)
    assert info.codec == seed.codec
    assert codec.decode(seed.data, DecodeOptions()).shape == info.shape


def _decode(data: bytes, max_pixels: int, codec: str | None = None) -> None:
    options = DecodeOptions(max_pixels=max_pixels)
    if codec is None:
        penstock.decode(data, options=options)
    else:
        find(codec).decode(data, options)


def _decode_or_complete(data: bytes, codec: str) -> None:
    try:
        _decode(data, 2**20, codec)
    except penstock.CodecError as error:
        assert_complete(error)
