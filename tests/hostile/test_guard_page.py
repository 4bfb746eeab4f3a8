"""No decoder reads beyond its data or writes beyond its output, on any SIMD path: what is beyond cannot be touched."""

from __future__ import annotations

import signal
import subprocess
import sys

import numpy as np
import pytest

import penstock
from penstock.codecs import DecodeOptions, find, parse_format
from penstock.testing.codec import capabilities_of, sample_image
from penstock.types import Pixels
from tests.golden import images
from tests.golden.make import FOLDER
from tests.guarded import guarded, guarded_copy
from tests.import_graph import ROOT
from tests.unit.codecs.test_suite import FORMATS

every_path = pytest.mark.usefixtures("simd_path")


def outcome(data: object, **options: object) -> str | bytes:
    """Pixels, or the words of a refusal."""
    try:
        return penstock.decode(data, options=DecodeOptions(**options)).tobytes()  # type: ignore[arg-type]
    except penstock.CodecError as error:
        return str(error)


def check_data(data: bytes) -> None:
    for at_end in (True, False):
        with guarded_copy(data, at_end=at_end) as copy:
            assert outcome(copy) == outcome(data)
            assert outcome(copy, verify=False) == outcome(data, verify=False)


@every_path
@pytest.mark.parametrize("format_text", FORMATS)
def test_nothing_beyond_the_data_is_read(format_text: str) -> None:
    can = capabilities_of(find(parse_format(format_text).codec))
    for channels in can.channels:
        for dtype in can.dtypes:
            check_data(penstock.encode(sample_image(67, 70, channels, dtype), format_text))


@every_path
@pytest.mark.parametrize("folder", ["weir", "weir-refused", "l3"])
def test_nothing_beyond_a_golden_file_is_read(folder: str) -> None:
    for path in sorted((FOLDER / folder).iterdir()):
        check_data(path.read_bytes())


@every_path
@pytest.mark.parametrize("format_text", ["weir:fast", "weir:dense", "l3"])
def test_nothing_beyond_a_damaged_file_is_read(format_text: str) -> None:
    rng = np.random.default_rng(7)
    data = penstock.encode(images.photo(40, 70, 3), format_text)
    for _ in range(60):
        damaged = bytearray(data)
        damaged[int(rng.integers(32, len(data)))] ^= 1 << int(rng.integers(8))
        cut = bytes(damaged[: int(rng.integers(1, len(data) + 1))]) if rng.random() < 0.3 else bytes(damaged)
        with guarded_copy(cut) as copy:
            assert outcome(copy, verify=False) == outcome(cut, verify=False)


@every_path
@pytest.mark.parametrize("format_text", FORMATS)
def test_nothing_beyond_the_output_is_written(format_text: str) -> None:
    can = capabilities_of(find(parse_format(format_text).codec))
    for channels in can.channels:
        for dtype in can.dtypes:
            data = penstock.encode(sample_image(67, 70, channels, dtype), format_text)
            check_output(data, penstock.decode(data))


def check_output(data: bytes, expected: Pixels) -> None:
    for at_end in (True, False):
        with guarded(expected.nbytes, at_end=at_end) as memory:
            out: Pixels = memory.view(expected.dtype).reshape(expected.shape)
            penstock.decode(data, out=out)
            np.testing.assert_array_equal(out, expected)


@every_path
@pytest.mark.parametrize("format_text", ["weir:fast", "weir:dense", "l3"])
def test_nothing_beyond_the_output_of_a_region_is_written(format_text: str) -> None:
    rng = np.random.default_rng(3)
    pixels = images.photo(130, 140, 3)
    data = penstock.encode(pixels, format_text)
    for at_end in (True, False) * 15:
        y, x = int(rng.integers(130)), int(rng.integers(140))
        height, width = int(rng.integers(1, 131 - y)), int(rng.integers(1, 141 - x))
        with guarded(height * width * 3, at_end=at_end) as memory:
            out = memory.reshape(height, width, 3)
            penstock.decode(data, region=(y, x, height, width), out=out)
            np.testing.assert_array_equal(out, pixels[y : y + height, x : x + width])


@every_path
@pytest.mark.parametrize("format_text", ["weir:fast", "weir:dense", "l3", "png"])
def test_nothing_beyond_the_pixels_is_read_by_an_encoder(format_text: str) -> None:
    for channels in (1, 2, 3, 4):
        pixels = sample_image(67, 70, channels, "uint8")
        with guarded_copy(pixels.tobytes()) as memory:
            assert penstock.encode(memory.reshape(pixels.shape), format_text) == penstock.encode(pixels, format_text)


def test_a_byte_beyond_really_ends_the_process() -> None:
    code = "import ctypes; from tests.guarded import guarded"
    code += "\nwith guarded(5) as memory: ctypes.string_at(memory.ctypes.data + {}, 1)"
    run = [subprocess.run([sys.executable, "-c", code.format(i)], cwd=ROOT, capture_output=True) for i in (4, 5)]
    assert [done.returncode for done in run] == [0, -signal.SIGSEGV]
