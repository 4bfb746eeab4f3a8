"""A plain folder: its listing is kept for the next time, and never in the folder."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from penstock import ArgumentError, Loader
from penstock.errors import SourceError
from penstock.load.open_samples import open_samples
from penstock.sources import folder_index as listing
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


DAMAGE: dict[str, Callable[[dict[str, Any]], object]] = {
    "ends beyond the text": lambda kept: kept["name_ends"].__setitem__(-1, 1 << 40),
    "ends that fall": lambda kept: kept["name_ends"].__setitem__(0, kept["name_ends"][1]),
    "a number too few": lambda kept: kept.update(sizes=kept["sizes"][1:]),
    "negative sizes": lambda kept: kept["sizes"].__setitem__(0, -1),
    "a split that is none": lambda kept: kept["splits"].__setitem__(0, 5),
    "names as numbers": lambda kept: kept.update(names=kept["names"].astype(np.int64)),
    "ends as text": lambda kept: kept.update(name_ends=kept["name_ends"].astype(str)),
    "a table": lambda kept: kept.update(sizes=kept["sizes"][:, None]),
    "nothing": lambda kept: kept.update(sizes=kept["sizes"][:0]),
    "a column missing": lambda kept: kept.pop("labels"),
    "names that lead out": lambda kept: kept["names"].__setitem__(slice(0, 3), np.frombuffer(b"../", np.uint8)),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_listing_that_was_tampered_with_is_not_used(copy: Path, own_cache: Path, damage: str) -> None:
    whole = listing.open_folder(copy)
    (kept,) = own_cache.rglob("*.npz")
    arrays = dict(np.load(kept))
    DAMAGE[damage](arrays)
    np.savez(kept, **arrays)

    found = listing.open_folder(copy)

    assert (found.num_samples, found.fingerprint) == (COUNT, whole.fingerprint)


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


def test_the_length_of_the_dataset_is_that_of_the_split(copy: Path, tmp_path: Path) -> None:
    root = tmp_path / "split"
    for name in ("train", "val"):
        shutil.copytree(copy, root / name)

    with Loader(root, split="val") as loader:
        assert (len(loader.dataset), loader.dataset.num_samples) == (COUNT, 2 * COUNT)
        assert loader.dataset.ids.tolist() == list(range(COUNT, 2 * COUNT))
    with Loader(root, split="val", subset=slice(0, 7)) as loader:
        assert len(loader.dataset) == 7
    with Loader(root) as loader:
        assert len(loader.dataset) == 2 * COUNT


def test_chosen_files_that_only_python_decodes_are_refused_and_others_are_not(copy: Path) -> None:
    (copy / "class2" / "scan.tif").write_bytes(b"II*\0")
    samples = open_samples(copy)
    (scan,) = samples.unloadable

    with pytest.raises(ArgumentError, match="a file is decoded in Python"):
        Loader(copy)
    with pytest.raises(ArgumentError, match=r"scan\.tif"):
        Loader(copy, subset=[0, scan])
    with Loader(copy, subset=[number for number in range(samples.num_samples) if number != scan]) as loader:
        assert len(loader.dataset) == COUNT
    with Loader(copy, subset=[0, 1]) as loader:
        assert len(loader.dataset) == 2


def test_a_tree_of_coco_is_refused_by_name(tmp_path: Path) -> None:
    for name in ("annotations/instances_train2017.json", "train2017/1.jpg"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_bytes(b"{}")

    with pytest.raises(SourceError, match="this is a COCO dataset"):
        Loader(tmp_path)


def test_files_left_out_are_logged_by_ending_every_time(copy: Path, caplog: pytest.LogCaptureFixture) -> None:
    for name in ("a.json", "class1/b.json", "notes.txt"):
        (copy / name).write_text("x")

    for _ in range(2):  # listed, then from the listing that was kept
        caplog.clear()
        with caplog.at_level("INFO", "penstock"):
            listing.open_folder(copy)
        assert [record.getMessage() for record in caplog.records] == [f"Loader: {copy}: left out: 2 .json, 1 .txt"]


@pytest.mark.parametrize("name", ["cache", "decode", "channels", "layout", "verify", "on_error"])
def test_a_wrong_word_names_the_right_ones(folder: Path, name: str) -> None:
    with pytest.raises(ArgumentError, match=f"{name} is 'wrong'") as caught:
        Loader(folder, **{name: "wrong"})  # type: ignore[arg-type]
    assert "choose among" in caught.value.fix


@pytest.mark.parametrize(("name", "value"), [("batch_size", 0), ("threads", -1), ("batch_size", 2.5)])
def test_wrong_numbers_are_refused(folder: Path, name: str, value: object) -> None:
    with pytest.raises(ArgumentError, match=name):
        Loader(folder, **{name: value})  # type: ignore[arg-type]
