"""Datasets for tests: made from a procedural source, compared file by file, killed on purpose."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from penstock.build.shard_notes import read_notes
from penstock.synth import Scenes, write


def make_photos(folder: Path, images: int = 24, *, width: int = 64, height: int = 48, classes: int = 3) -> Path:
    """A folder of PNGs, a class per sub-folder."""
    write(folder, images=images, scenes=Scenes(width=width, height=height, classes=classes))
    return folder


def files_of(folder: Path) -> dict[str, bytes]:
    """Every file under a folder, by its relative path."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def finished_samples(folder: Path) -> int:
    """Samples in the finished shards of a build that was interrupted."""
    notes = sorted((folder / ".build").glob("*.rows"))
    return sum(read_notes(path.read_bytes(), str(path)).num_samples for path in notes)


def start_build(*arguments: str) -> subprocess.Popen[str]:
    """`penstock build` in a process of its own."""
    command = [sys.executable, "-m", "penstock", "build", *arguments, "--json"]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_for(path: Path, process: subprocess.Popen[str]) -> None:
    """Until a file is there or the process has ended."""
    while not path.exists() and process.poll() is None:
        wait(process, 0.002)


def wait(process: subprocess.Popen[str], seconds: float) -> bool:
    """Whether the process ends within this time."""
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        return False
    return True
