"""A codec of another package: found by its entry point, used like a built-in one, unable to take a name over."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

MODULE = '''
import zlib
from dataclasses import dataclass, field

import numpy as np

from penstock.codecs import DecodeOptions, ImageInfo, Promise
from penstock.codecs.contract import DEFAULT_MAX_PIXELS, Capabilities
from penstock.codecs.deliver import check_scale, check_size, deliver
from penstock.codecs.parameters import Integer
from penstock.errors import CodecError


@dataclass(frozen=True)
class Squeezed:
    """The rows of an 8-bit image behind one deflate stream."""

    name: str = "squeezed"
    extensions: tuple = (".sqz",)
    parameters: dict = field(default_factory=lambda: {"level": Integer(1, 9, "6", "effort")})
    capabilities: Capabilities = Capabilities(dtypes=("uint8",), checksummed=True)
    can_encode: bool = True

    def promise(self, format):
        return Promise.EXACT

    def sniff(self, data):
        return bytes(memoryview(data)[:4]) == b"SQZ1"

    def inspect(self, data, *, max_pixels=DEFAULT_MAX_PIXELS):
        if len(data) < 16:
            raise CodecError("header is cut off", where=f"byte {len(data)}", fix="restore it", code=310)
        width, height, channels = np.frombuffer(data, "<u4", 3, 4).tolist()
        check_size(self.name, width, height, max_pixels)
        if not 1 <= channels <= 4:
            raise CodecError(f"{channels} channels", where="byte 12", fix="restore it", code=320)
        return ImageInfo(self.name, width, height, channels, 8, "uint8", True)

    def decode(self, data, options, *, out=None):
        check_scale(self.name, options.scale)
        info = self.inspect(data, max_pixels=options.max_pixels)
        try:
            header, body = data[:16], data[20:]
            if zlib.crc32(header) != int.from_bytes(data[16:20], "little"):
                raise ValueError("header checksum")
            pixels = np.frombuffer(zlib.decompress(body), np.uint8).reshape(info.shape)
        except (zlib.error, ValueError) as error:
            raise CodecError(str(error), where="stream", fix="restore it", code=320) from error
        return deliver(pixels, 1, options, out)

    def encode(self, pixels, format):
        channels = pixels.shape[2] if pixels.ndim == 3 else 1
        header = b"SQZ1" + np.array([pixels.shape[1], pixels.shape[0], channels], "<u4").tobytes()
        body = zlib.compress(pixels.tobytes(), int(format.get("level")))
        return header + zlib.crc32(header).to_bytes(4, "little") + body


@dataclass(frozen=True)
class Usurper(Squeezed):
    name: str = "raw"


SQUEEZED = Squeezed()
USURPER = Usurper()
'''


def install(folder: Path, **entry_points: str) -> None:
    """Write a distribution the way an installer leaves it."""
    (folder / "squeezed_plugin.py").write_text(MODULE)
    info = folder / "squeezed_plugin-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: squeezed-plugin\nVersion: 1.0\n")
    points = "".join(f"{name} = {target}\n" for name, target in entry_points.items())
    (info / "entry_points.txt").write_text(f"[penstock.codecs]\n{points}")


def run(folder: Path, program: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    install(tmp_path, squeezed="squeezed_plugin:SQUEEZED", usurper="squeezed_plugin:USURPER")
    return tmp_path


def test_a_plug_in_is_used_like_a_built_in_codec(folder: Path) -> None:
    program = """
import numpy, penstock
from penstock.codecs import parse_format
pixels = numpy.arange(60, dtype=numpy.uint8).reshape(4, 5, 3)
data = penstock.encode(pixels, "squeezed:level=9")
assert numpy.array_equal(penstock.decode(data), pixels)
assert numpy.array_equal(penstock.decode(data, region=(1, 2, 3, 2)), pixels[1:4, 2:4])
print(penstock.inspect(data).codec, parse_format("squeezed:level=06"), penstock.codecs.names()[-1])
"""
    assert run(folder, program) == "squeezed squeezed squeezed"


def test_a_plug_in_passes_the_shipped_suite(folder: Path) -> None:
    program = """
from penstock.codecs import find
from penstock.testing.codec import CHECKS
for check in CHECKS:
    check(find("squeezed"), "squeezed:level=1")
print(len(CHECKS) >= 10)
"""
    assert run(folder, program) == "True"


def test_a_built_in_name_cannot_be_taken_over(folder: Path) -> None:
    program = """
from penstock.codecs import find, names
print(type(find("raw")).__name__, names().count("raw"))
"""
    assert run(folder, program) == "NativeCodec 1"


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        ("squeezed_plugin:MISSING", "has no attribute 'MISSING'"),
        ("squeezed_plugin:zlib", "squeezed_plugin:zlib is not a penstock.codecs.Codec"),
        ("missing_module:CODEC", "No module named 'missing_module'"),
    ],
)
def test_a_plug_in_that_fails_to_load_is_told_and_left_out(tmp_path: Path, target: str, reason: str) -> None:
    install(tmp_path, broken=target, squeezed="squeezed_plugin:SQUEEZED")
    program = """
import warnings
from penstock.codecs import names
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    assert "squeezed" in names()
print(caught[0].message)
"""
    told = run(tmp_path, program)
    assert told.startswith("codec plug-in 'broken' could not be loaded")
    assert reason in told


def test_importing_penstock_loads_no_plug_in(folder: Path) -> None:
    assert run(folder, "import sys, penstock; print('squeezed_plugin' in sys.modules)") == "False"
