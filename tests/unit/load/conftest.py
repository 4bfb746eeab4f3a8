"""Small sets to load: a folder, and datasets of one, two and three formats made of it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import penstock
from penstock.build import build

COUNT = 50
MIXES = {
    "one": "weir:fast=1",
    "two": "weir:fast=0.5,raw=0.5",
    "three": "png=0.4,weir:fast=0.3,raw=0.3",
}
KINDS = ("folder", *MIXES)


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Listings are kept where no other test sees them."""
    place = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("XDG_CACHE_HOME", str(place))
    return place


def picture(number: int) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    """One size, content that tells the numbers apart and compresses a little."""
    generator = np.random.default_rng(number)
    rows = generator.integers(0, 256, (32, 1, 3))
    return np.asarray((rows + np.arange(40)[None, :, None] * 3) % 256, np.uint8)


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Fifty PNGs in five classes."""
    root = tmp_path_factory.mktemp("images")
    for number in range(COUNT):
        place = root / f"class{number % 5}"
        place.mkdir(exist_ok=True)
        (place / f"{number:03d}.png").write_bytes(penstock.encode(picture(number), "png"))
    return root


@pytest.fixture(scope="session")
def sets(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The same samples as a folder and as datasets; ids are the same in all of them."""
    place = tmp_path_factory.mktemp("datasets")
    found = {"folder": folder}
    for name, mix in MIXES.items():
        found[name] = place / f"{name}.pen"
        build(folder, found[name], mix=mix)
    return found


@pytest.fixture(scope="session")
def pixels(folder: Path) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    """Of all samples, by id: the rank in sorted order of paths."""
    files = sorted(folder.rglob("*.png"), key=lambda path: path.relative_to(folder).as_posix())
    return np.stack([penstock.decode(path.read_bytes()) for path in files])
