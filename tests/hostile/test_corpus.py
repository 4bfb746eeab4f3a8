"""What fuzzing learned, replayed through the Python API: pixels or a CodecError, and regions equal to the crop."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import numpy as np
import pytest

import penstock
from fuzz.run import MAX_INPUT_BYTES, MAX_KEPT_BYTES
from fuzz.targets import PARTS, READERS
from penstock import _native
from penstock.codecs import DecodeOptions, find
from penstock.codecs.table import BUILTIN
from penstock.testing.codec import capabilities_of
from spec.reference import weir as reference
from tests.weir_files import WeirFile

ROOT = Path(__file__).parents[2]
CORPUS = ROOT / "fuzz" / "corpus"
TARGETS = sorted(folder.name for folder in CORPUS.iterdir())
CODECS = [target for target in TARGETS if target not in PARTS]


@pytest.mark.parametrize("codec_name", CODECS)
def test_every_kept_input_gives_pixels_or_a_codec_error(codec_name: str) -> None:
    codec = find(codec_name)
    for file in sorted((CORPUS / codec_name).iterdir()):
        for scale in capabilities_of(codec).scales:
            try:
                whole = codec.decode(file.read_bytes(), DecodeOptions(scale=scale, max_pixels=2**20))
            except penstock.CodecError:
                continue
            height, width = whole.shape[:2]
            region = (height // 2, width // 3, height - height // 2, width - width // 3)
            part = codec.decode(file.read_bytes(), DecodeOptions(scale=scale, max_pixels=2**20, region=region))
            np.testing.assert_array_equal(part, whole[height // 2 :, width // 3 :])


@pytest.mark.parametrize("target", TARGETS)
def test_the_kept_corpus_is_small(target: str) -> None:
    files = list((CORPUS / target).iterdir())
    assert 0 < len(files) < 60
    sizes = [file.stat().st_size for file in files]
    assert max(sizes) <= MAX_INPUT_BYTES
    assert sum(sizes) <= MAX_KEPT_BYTES + 4 * MAX_INPUT_BYTES  # files with a name of their own come on top


@pytest.mark.parametrize("target", READERS)
def test_every_kept_input_of_a_reader_gives_values_or_an_error_of_ours(target: str) -> None:
    module = importlib.import_module(f"fuzz.python.{target}")
    for file in sorted((CORPUS / target).iterdir()):
        module.check_input(file.read_bytes())


def test_every_kept_jpeg_is_transcoded_to_its_pixels_or_refused() -> None:
    for file in sorted((CORPUS / "transcode").iterdir()):
        data = file.read_bytes()
        try:
            expected = find("jpeg").decode(data, DecodeOptions(max_pixels=2**16))
            coded = _native.transcode_jpeg(data, [("progressive", "true")], 2**16)
        except penstock.CodecError:
            continue
        np.testing.assert_array_equal(penstock.decode(coded), expected)


@pytest.mark.parametrize("target", ["jpeg", "pjpeg", "restore", "transcode"])
def test_every_kept_jpeg_comes_back_from_its_coefficients_or_is_refused(target: str) -> None:
    """Inputs of `restore` that are no JPEGs are restoration data; the target itself replays those."""
    for file in sorted((CORPUS / target).iterdir()):
        data = file.read_bytes()
        try:
            image, restoration = _native.jpeg_take_apart(data, 2**16)
        except penstock.CodecError:
            continue
        assert _native.jpeg_put_together(image, restoration) == data


@pytest.mark.parametrize("parameter", ["progressive", "optimize", "restart"])
def test_a_progressive_jpeg_that_lacks_scans_is_not_transcoded_to_other_pixels(parameter: str) -> None:
    """Decoders smooth it over blocks, which they would not do with a file that has all its scans."""
    data = (CORPUS / "transcode" / "progressive-that-lacks-scans").read_bytes()
    assert find("jpeg").decode(data, DecodeOptions()).shape == (53, 75, 3)
    with pytest.raises(penstock.CodecError, match="lacks scans"):
        _native.transcode_jpeg(data, [(parameter, "true")], 2**16)


@pytest.mark.parametrize("target_format", ["jpeg", "png", "webp", "weir"])
def test_metadata_of_every_kept_input_can_be_stored_and_embedded(target_format: str) -> None:
    for file in sorted((CORPUS / "metadata").iterdir()):
        try:
            block, kept, _ = _native.read_metadata(file.read_bytes())
        except penstock.CodecError:
            continue
        target = penstock.encode(np.zeros((2, 3, 3), np.uint8), target_format)
        embedded, dropped = _native.embed_metadata(target, block)
        assert sorted([*_native.read_metadata(embedded)[1], *dropped]) == sorted(kept)


@pytest.mark.usefixtures("simd_path")
def test_every_kept_tile_decodes_alike_or_is_refused() -> None:
    inputs = [path.read_bytes() for path in sorted((CORPUS / "weir_tile").iterdir())]
    for data in inputs:
        if len(data) >= 3:
            check_tile(data)


def check_tile(data: bytes) -> None:
    """What fuzz/weir_tile.cpp reads: three bytes of shape, then a tile. The reader of the spec is the judge."""
    kind, width, height = data[0], *(1 + side % 64 for side in data[1:3])
    file = WeirFile(kind & 1, 1 + (kind >> 1 & 3), 8 + (kind & 8), width, height, (data[3:],)).data()
    try:
        expected = np.array(reference.decode(file).rows)
    except reference.WeirError:
        with pytest.raises(penstock.CodecError):
            penstock.decode(file)
    else:
        np.testing.assert_array_equal(penstock.decode(file).reshape(expected.shape), expected)


def test_every_target_has_a_kept_corpus() -> None:
    assert {*(codec.name for codec in BUILTIN), *PARTS} == set(TARGETS), (
        "run `python -m fuzz.run --keep TARGET` for a new one"
    )


def test_every_native_codec_has_a_fuzz_target() -> None:
    """fuzz/CMakeLists.txt reads the targets out of the table, by this pattern."""
    table = (ROOT / "native" / "codecs" / "table.cpp").read_text()
    assert sorted(re.findall(r"&([a-z0-9_]+)_codec\(\)", table)) == sorted(_native.codec_names())
