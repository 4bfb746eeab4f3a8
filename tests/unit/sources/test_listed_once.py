"""Steps of one command share a listing."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.auto import AutoOptions, decide, finish
from penstock.build import build, prepare
from penstock.limits import Limits
from penstock.sources import open_source
from penstock.sources.image_folder import ImageFolder
from penstock.sources.listed_once import ListedOnce
from penstock.synth import Scenes, write


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    write(tmp_path / "photos", images=12, scenes=Scenes(width=96, height=64, classes=2))
    return tmp_path / "photos"


@pytest.fixture
def listings(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Paths of folders, each time one is listed in this process."""
    found: list[Path] = []
    list_folder = ImageFolder.listing

    def listing(self: ImageFolder) -> object:
        found.append(Path(str(self.path)))
        return list_folder(self)

    monkeypatch.setattr(ImageFolder, "listing", listing)
    return found


def test_auto_lists_its_source_once(photos: Path, tmp_path: Path, listings: list[Path]) -> None:
    limits = Limits(disk_bytes_per_second=20e6, memory_bytes=2**30)
    decision = decide(photos, tmp_path / "photos.pen", AutoOptions(sample=4, formats="raw", limits=limits))
    assert decision.cache_bytes > 2**28
    result = finish(decision, tmp_path / "photos.pen")
    assert result.built.manifest.num_samples == 12
    assert listings == [photos]


def test_a_build_from_an_open_source_is_the_build_from_its_path(photos: Path, tmp_path: Path) -> None:
    source = ListedOnce(open_source(photos))
    opened = prepare(source, tmp_path / "opened.pen", mix="png=0.5,raw=0.5").run(durable=False)
    named = build(photos, tmp_path / "named.pen", mix="png=0.5,raw=0.5", durable=False)
    assert opened.manifest.identity == named.manifest.identity
    assert source.listing() is source.listing()
