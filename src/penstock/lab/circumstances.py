"""Conditions of a line besides its cell: the code, the machine, the day."""

from __future__ import annotations

import subprocess
from datetime import datetime, timezone
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from penstock.documents import Json
from penstock.machine import this_machine
from penstock.storage import exists
from penstock.version import __version__

RIVALS = ("torch", "pillow", "imagecodecs", "nvidia-dali-cuda120", "ffcv", "compressai")


def circumstances() -> dict[str, Json]:
    """Return commit (with a plus sign if files have changed since), machine, time, and versions of libraries."""
    machine = this_machine()
    return {
        "penstock": __version__,
        "commit": commit_text(),
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "cpu": machine.cpu,
        "cores": machine.cores,
        "memory_bytes": machine.memory.total_bytes,
        "simd": machine.simd,
        "system": machine.system,
        "versions": {name: found for name in RIVALS if (found := _version(name))},
    }


@cache
def commit_text() -> str:
    """Return the commit of the checkout that this code runs from; empty for an installed package."""
    commit = _git("rev-parse", "--short=12", "HEAD")
    return commit + "+" * bool(commit and _git("status", "--porcelain", "--untracked-files=no", "--", "src", "native"))


def _git(*arguments: str) -> str:
    root = Path(__file__).parents[3]
    if not exists(root / ".git"):
        return ""
    done = subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, text=True, check=False)
    return done.stdout.strip()


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""
