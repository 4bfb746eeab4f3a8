"""Name the source files that a fuzz target covers, and give them one hash.

Fuzzing time counts for the sources that were fuzzed. A hash of a target's own files lets time survive changes of other
codecs: a change of `sluice` takes nothing from `png`.

A native target starts from its own file in fuzz/ and from the files of its codec. Each file brings those that it
includes, and a header brings the files that implement it: `jpeg_back.h` stands for `jpeg_back.cpp`,
`jpeg_back_avx2.cpp` and so on. All of native/base belongs to every native target. A target in Python covers the modules
that it instruments.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from fuzz.targets import PYTHON, ROOT

INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)
MODULE = re.compile(r'"(penstock[a-z_.]*)"')
SHARED = {"restore": "jpeg", "transcode": "jpeg"}
"""Targets that are named after what they do, with the codec whose files they cover."""
EXTRA = {
    "dataset": ("native/engine/*", "fuzz/packed.py"),
    "metadata": ("native/codecs/*metadata*", "native/codecs/*embed*"),
    "tiff": ("src/penstock/codecs/tiff.py", "src/penstock/codecs/deliver.py"),
}
"""Files that a target covers and that neither its includes nor its instrumented modules name."""


def covered_files(target: str, root: Path = ROOT) -> list[Path]:
    """List the source files that a target covers, sorted."""
    extra = [file for pattern in EXTRA.get(target, ()) for file in root.glob(pattern)]
    if target in PYTHON:
        return sorted({*_python_files(target, root), *extra})
    codec = SHARED.get(target, target.split("_")[0])
    own = [file for file in (root / "native" / "codecs").iterdir() if re.split(r"[._]", file.name)[0] == codec]
    return sorted({*_closure([*_fuzz_files(target, root), *own, *extra], root), *(root / "native" / "base").iterdir()})


def sources_hash(target: str, root: Path = ROOT) -> str:
    """Return 16 hexadecimal digits that change with any file that a target covers."""
    digest = hashlib.sha256()
    for file in covered_files(target, root):
        content = file.read_bytes()
        digest.update(f"{file.relative_to(root)} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()[:16]


def _fuzz_files(target: str, root: Path) -> list[Path]:
    generic = "round_trip.cpp" if target.endswith("_round_trip") else "decode.cpp"
    own = root / "fuzz" / f"{target}.cpp"
    return [own if own.is_file() else root / "fuzz" / generic]


def _closure(files: Iterable[Path], root: Path) -> set[Path]:
    found: set[Path] = set()
    waiting = list(files)
    while waiting:
        file = waiting.pop()
        if file not in found:
            found.add(file)
            waiting.extend(_brought_by(file, root))
    return found


def _brought_by(file: Path, root: Path) -> Iterator[Path]:
    for name in INCLUDE.findall(file.read_text(encoding="utf-8")):
        for header in (root / "native" / name, root / "fuzz" / name):
            if header.is_file():
                yield header
                yield from header.parent.glob(f"{header.stem}.cpp")
                yield from header.parent.glob(f"{header.stem}_*.cpp")


def _python_files(target: str, root: Path) -> Iterator[Path]:
    program = root / "fuzz" / "python" / f"{target}.py"
    yield program
    yield root / "fuzz" / "python" / "harness.py"
    instrumented = re.search(r"with instrumented\((.*?)\):", program.read_text(encoding="utf-8"), re.DOTALL)
    for module in MODULE.findall(instrumented.group(1)) if instrumented else ():
        place = root / "src" / Path(*module.split("."))
        yield from place.rglob("*.py") if place.is_dir() else [place.with_suffix(".py")]
