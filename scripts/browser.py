"""Looks at a page in a real browser without a window: what it became, what it complained about, how it looks.

Debian's Chromium (`apt-get install chromium`; scripts/setup.py installs it for the group `browser`).
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from scripts.system import BROWSERS

TIMEOUT_SECONDS = 120
FIGURE_SIZE = (640, 480)


class BrowserMissingError(Exception):
    """Error if no Chromium is installed."""


@dataclass(frozen=True)
class Look:
    """A page as the browser had it after its scripts ran."""

    dom: str
    console: list[str]
    """Log messages, including script errors."""
    screenshot: bytes


def find_browser() -> str:
    """Return the browser's command, or raise BrowserMissingError."""
    found = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if found is None:
        raise BrowserMissingError("chromium is not installed (apt-get install chromium)")
    return found


def look_at(page: Path, *, size: tuple[int, int] = (1000, 1400), is_dark: bool = False) -> Look:
    """Open a page, let its scripts run, and take its picture."""
    with tempfile.TemporaryDirectory(prefix="penstock-browser-") as folder:
        shot = Path(folder, "shot.png")
        command = [
            find_browser(),
            "--headless",
            "--no-sandbox",  # a test often runs as root, where the sandbox refuses to
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--hide-scrollbars",
            "--enable-logging=stderr",
            f"--blink-settings=preferredColorScheme={0 if is_dark else 1}",
            f"--user-data-dir={folder}/profile",
            "--virtual-time-budget=2000",
            f"--window-size={size[0]},{size[1]}",
            f"--screenshot={shot}",
            "--dump-dom",
            page.resolve().as_uri(),
        ]
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=True)
        console = [line for line in done.stderr.splitlines() if ":CONSOLE" in line]
        return Look(done.stdout, console, shot.read_bytes())


def shoot_figures(page: Path) -> list[bytes]:
    """Take a picture of each figure of a report, alone on its page."""
    text = page.read_text(encoding="utf-8")
    style = re.search(r"<style>.*?</style>", text, re.DOTALL)
    assert style is not None, "a report has a style"
    shots = []
    for figure in re.findall(r"<figure>.*?</figure>", text, re.DOTALL):
        with tempfile.TemporaryDirectory(prefix="penstock-figure-") as folder:
            alone = Path(folder, "figure.html")
            body = f"<body style='margin:8px;max-width:none'>{figure}</body>"
            alone.write_text(f"<!DOCTYPE html><meta charset='utf-8'>{style[0]}{body}", encoding="utf-8")
            shots.append(look_at(alone, size=FIGURE_SIZE).screenshot)
    return shots
