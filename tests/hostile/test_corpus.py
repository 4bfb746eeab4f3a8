"""What fuzzing learned, replayed through the Python API: pixels or a CodecError, and regions equal to the crop."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import penstock
from penstock import _native
from penstock.codecs import DecodeOptions, find
from penstock.codecs.table import BUILTIN
from penstock.testing.codec import capabilities_of

ROOT = Path(__file__).parents[2]
CORPUS = ROOT / "fuzz" / "corpus"
CODECS = sorted(folder.name for folder in CORPUS.iterdir())


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


@pytest.mark.parametrize("codec_name", CODECS)
def test_the_kept_corpus_is_small(codec_name: str) -> None:
    files = list((CORPUS / codec_name).iterdir())
    assert 0 < len(files) < 60
    assert max(file.stat().st_size for file in files) <= 10_000


def test_every_built_in_codec_has_a_kept_corpus() -> None:
    assert {codec.name for codec in BUILTIN} == set(CODECS), "run `python -m fuzz.run --keep CODEC` for a new codec"


def test_every_native_codec_has_a_fuzz_target() -> None:
    """fuzz/CMakeLists.txt reads the targets out of the table, by this pattern."""
    table = (ROOT / "native" / "codecs" / "table.cpp").read_text()
    assert sorted(re.findall(r"&([a-z0-9_]+)_codec\(\)", table)) == sorted(_native.codec_names())
