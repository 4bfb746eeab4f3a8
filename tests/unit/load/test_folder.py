"""A plain folder: its listing is kept for the next time, and never in the folder."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from penstock import ArgumentError, Loader
from penstock.load import folder as listing
from tests.unit.load.conftest import COUNT


@pytest.fixture(autouse=True)
def keeps_small_listings(monkeypatch: pytest.MonkeyPatch) -> None:
    """As it keeps those of large folders."""
    monkeypatch.setattr(listing, "LEAST_KEPT", 1)


@pytest.fixture
def copy(folder: Path, tmp_path: Path) -> Path:
    """A folder that a test may change."""
    place = tmp_path / "images"
    shutil.copytree(folder, place)
    return place


def test_a_listing_is_made_once(copy: Path, own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = sorted(path.name for path in copy.rglob("*"))
    listing.open_folder(copy)

    monkeypatch.setattr(listing, "list_folder", None)  # would fail if it were asked
    assert listing.open_folder(copy).num_samples == COUNT
    assert len(list(own_cache.rglob("*.npz"))) == 1
    assert sorted(path.name for path in copy.rglob("*")) == before


def test_a_changed_folder_is_listed_again(copy: Path) -> None:
    first = listing.open_folder(copy)
    next(copy.rglob("*.png")).unlink()
    second = listing.open_folder(copy)
    (copy / "new").mkdir()
    third = listing.open_folder(copy)

    assert (first.num_samples, second.num_samples) == (COUNT, COUNT - 1)
    assert first.fingerprint != second.fingerprint == third.fingerprint


def test_a_damaged_listing_is_made_anew(copy: Path, own_cache: Path) -> None:
    listing.open_folder(copy)
    (kept,) = own_cache.rglob("*.npz")
    kept.write_bytes(kept.read_bytes()[:100])

    assert listing.open_folder(copy).num_samples == COUNT


def test_listings_do_not_pile_up(copy: Path, own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "MOST_LISTINGS", 2)
    for name in ("class0", "class1", "class2"):
        listing.open_folder(copy / name)

    assert len(list(own_cache.rglob("*.npz"))) == 2


def test_a_small_folder_leaves_nothing_behind(copy: Path, own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "LEAST_KEPT", COUNT + 1)
    listing.open_folder(copy)

    assert list(own_cache.rglob("*.npz")) == []


def test_listing_tells_how_far_it_is(copy: Path) -> None:
    calls: list[tuple[str, int]] = []
    listing.open_folder(copy, lambda stage, done, total: calls.append((stage, done)))

    assert calls[0] == ("listing", 0)
    assert calls[-1][1] > 0


def test_splits_are_chosen_by_name(copy: Path, tmp_path: Path) -> None:
    root = tmp_path / "split"
    for name in ("train", "val"):
        shutil.copytree(copy, root / name)
    with Loader(root, split="val", batch_size=COUNT) as loader:
        (batch,) = loader
        assert sorted(batch["id"].tolist()) == list(range(COUNT, 2 * COUNT))
    with pytest.raises(ArgumentError, match="no split 'test'"):
        Loader(root, split="test")


@pytest.mark.parametrize("name", ["cache", "decode", "channels", "layout", "verify", "on_error"])
def test_a_wrong_word_names_the_right_ones(folder: Path, name: str) -> None:
    with pytest.raises(ArgumentError, match=f"{name} is 'wrong'") as caught:
        Loader(folder, **{name: "wrong"})  # type: ignore[arg-type]
    assert "choose among" in caught.value.fix


@pytest.mark.parametrize(("name", "value"), [("batch_size", 0), ("threads", -1), ("batch_size", 2.5)])
def test_wrong_numbers_are_refused(folder: Path, name: str, value: object) -> None:
    with pytest.raises(ArgumentError, match=name):
        Loader(folder, **{name: value})  # type: ignore[arg-type]
