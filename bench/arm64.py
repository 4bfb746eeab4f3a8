"""How many instructions does Weir take for a pixel on 64-bit ARM, in NEON and in plain code?

Counts, under emulation: time under emulation says nothing about a processor. Needs what `scripts.arm64` needs.
"""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

import penstock
from bench.corpus import files_of
from scripts import arm64

PLUGIN = Path(__file__).with_name("arm64_instructions.c")
FORMATS = ("weir:fast", "weir:dense")
PATHS = ("portable", "neon")
FEW, MANY = 2, 32
PROGRAM = """
import sys, numpy, penstock
from penstock import _native
from penstock.codecs import DecodeOptions
name, path, verb, times = sys.argv[1:]
data = open(name, "rb").read()
pixels = penstock.decode(data)
format = "weir:" + penstock.inspect(data).variant
_native.force_simd_path(path)
for _ in range(int(times)):
    if verb == "encode":
        penstock.encode(pixels, format)
    else:
        penstock.decode(data, out=pixels, options=DecodeOptions(verify=verb == "verify"))
"""


def main() -> None:
    """Print a line for each format and verb, on one image of Cityscapes."""
    arm64.build()
    pixels = penstock.decode(files_of("cityscapes", 1)[0].read_bytes())
    with tempfile.TemporaryDirectory() as folder:
        plugin = Path(folder) / "count.so"
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", str(plugin), str(PLUGIN)], check=True)
        for format in FORMATS:
            file = Path(folder) / "image.weir"
            file.write_bytes(penstock.encode(pixels, format))
            for verb in ("decode", "verify", "encode"):
                counts = {path: per_run(plugin, file, path, verb) / pixels[..., 0].size for path in PATHS}
                shown = ", ".join(f"{path} {count:.1f}" for path, count in counts.items())
                print(f"{format} {verb}: instructions a pixel: {shown}", flush=True)


def per_run(plugin: Path, file: Path, path: str, verb: str) -> float:
    """Count the instructions of one call, without those of starting Python."""
    counts = [executed(plugin, [str(file), path, verb, str(times)]) for times in (FEW, MANY)]
    return (counts[1] - counts[0]) / (MANY - FEW)


def executed(plugin: Path, arguments: list[str]) -> int:
    """Count the instructions of a whole process."""
    emulator, *python = arm64.python_command("-c", PROGRAM, *arguments)
    command = [emulator, "-plugin", str(plugin), *python]
    environment = arm64.environment() | {"PYTHONHASHSEED": "0"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return int(done.stderr.split()[-1])


if __name__ == "__main__":
    main()
