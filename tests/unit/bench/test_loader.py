"""What `penstock bench loader` gives a loader."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.bench import LoaderBenchOptions, bench_loader
from penstock.build import build
from penstock.load.cache_layout import CHOICES
from penstock.synth import Scenes, write

NUM_IMAGES, PIXEL_BYTES = 60, 96 * 64 * 3
FIXED = [kept for kept in CHOICES if kept != "decoded"]  # which measures anew each time, and may choose otherwise


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Small JPEGs: their pixels take some ten times their bytes."""
    folder = tmp_path_factory.mktemp("bench")
    write(folder / "images", images=NUM_IMAGES, scenes=Scenes(width=96, height=64, classes=2), format="jpeg:q=60")
    build(folder / "images", folder / "images.pen", mix="jpeg=1")
    return folder / "images.pen"


def options(**more: str | int) -> LoaderBenchOptions:
    return LoaderBenchOptions(transform="none", batch_size=8, threads=2, epochs=2, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("cache", "cached"),
    [("liquid", "encoded"), *((cache, kept) for cache in ("rolling", "pinned") for kept in FIXED)],
)
def test_cache_bytes_are_those_of_samples_as_they_are_kept(dataset: Path, cache: str, cached: str) -> None:
    wanted = 20 * PIXEL_BYTES
    stats = bench_loader(dataset, options(cache=cache, cache_format=cached, cache_bytes=wanted)).stats
    assert stats["cache_limit_bytes"] == pytest.approx(wanted, rel=0.005)


def test_cache_bytes_hold_as_many_pixels_as_they_say(dataset: Path) -> None:
    wish = options(cache="pinned", cache_format="pixels", cache_bytes=NUM_IMAGES // 2 * PIXEL_BYTES)
    last = bench_loader(dataset, wish).epochs[-1]
    assert last.hits_per_batch.median * len(range(0, NUM_IMAGES, 8)) == pytest.approx(NUM_IMAGES / 2, abs=2)


def test_what_keeps_nothing_itself_ignores_cache_bytes(dataset: Path) -> None:
    assert bench_loader(dataset, options(cache="system", cache_bytes=10**6)).stats["cache_limit_bytes"] == 0


@pytest.mark.parametrize("window", ["none", "auto", "4KiB"])
def test_a_window_is_given_as_a_loader_takes_it(dataset: Path, window: str) -> None:
    stats = bench_loader(dataset, options(window=window)).stats
    assert (stats["window"] is not None) == (window == "4KiB")
