"""One small PNG per figure of a page, by Chromium; without it none, and a word."""

from __future__ import annotations

import sys
from pathlib import Path

from scripts.browser import BrowserMissingError, shoot_figures


def write_previews(page: Path, folder: Path) -> None:
    """Write FOLDER/figure-N.png for each figure, replacing what was there."""
    try:
        shots = shoot_figures(page)
    except BrowserMissingError as missing:
        print(f"  previews stay as they were: {missing}", file=sys.stderr)
        return
    for old in folder.glob("figure-*.png"):
        old.unlink()
    for number, shot in enumerate(shots, start=1):
        (folder / f"figure-{number}.png").write_bytes(shot)
