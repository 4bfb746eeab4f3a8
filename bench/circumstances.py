"""Conditions of a result besides the code: the commit, and the other load of the machine."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[1]


def commit_text() -> str:
    """Return the commit under test, with a plus sign if the tree has changes."""
    words = ["git", "-C", str(ROOT)]
    commit = subprocess.run([*words, "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True, check=True)
    changes = subprocess.run(
        [*words, "status", "--porcelain", "--untracked-files=no", ":!bench/results"],
        capture_output=True,
        text=True,
        check=True,
    )
    return commit.stdout.strip() + "+" * bool(changes.stdout.strip())


def busy_seconds() -> float:
    """Return the CPU seconds of all processes of the machine since it started."""
    user, nice, system, _idle, _wait, irq, softirq, steal = map(
        int, Path("/proc/stat").read_text().splitlines()[0].split()[1:9]
    )
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")


def own_seconds() -> float:
    used = os.times()
    return used.user + used.system
