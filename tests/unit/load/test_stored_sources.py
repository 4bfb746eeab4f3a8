"""Every source whose images lie in files is opened, loaded and built from a store as from a folder."""

from __future__ import annotations

import pickle
import tarfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tifffile

import penstock
from penstock import Loader, SourceError
from penstock.build import build
from penstock.export import ExportOptions, export
from penstock.profile.measure import ProfileOptions, measure
from penstock.storage import ByteRange, LocalStore, MemoryStore, Store, StorePath, ThrottledStore
from penstock.transforms import RandomHorizontalFlip, RandomResizedCrop
from tests.unit.export.layouts import FILES, LAYOUTS, put
from tests.unit.load.test_any_source import csv_manifest

FIELDS = {"cityscapes": ["image", "mask", "city", "key"], "manifest": ["image", "label", "n", "key"]}
"""Fields that every sample of a layout has, where that is not all of them."""


def exported(root: Path, layout: str) -> Path:
    build(LAYOUTS["masks"](root / "source"), root / "data.pen", mix="png=1", durable=False)
    export(root / "data.pen", root / "back", options=ExportOptions(layout=layout))
    return root / "back"


def unpacked(root: Path) -> Path:
    packed = LAYOUTS["webdataset"](root / "packed")
    for tar in sorted(packed.glob("*.tar")):
        with tarfile.open(tar) as file:
            file.extractall(root / "unpacked", filter="data")
    put(root / "unpacked/.hidden/1.png", FILES[0])
    put(root / "unpacked/notes.txt", b"left out")
    return root / "unpacked"


def one_tar(root: Path) -> Path:
    return LAYOUTS["webdataset"](root) / "train-000000.tar"


SOURCES: dict[str, Callable[[Path], Path]] = {
    **{name: LAYOUTS[name] for name in ("folder", "flat", "cityscapes", "masks", "webdataset", "manifest")},
    "csv": csv_manifest,
    "unpacked": unpacked,
    "one tar": one_tar,
    "exported folder": lambda root: exported(root, "folder"),
    "exported tars": lambda root: exported(root, "webdataset"),
}


def copied(source: Path, root: Path) -> StorePath:
    """Put everything below a folder into a store, and return the source's place there."""
    files = [path for path in root.rglob("*") if path.is_file()]
    store = MemoryStore({f"sets/{path.relative_to(root).as_posix()}": path.read_bytes() for path in files})
    name = source.relative_to(root).as_posix()
    return StorePath(store, "sets" if name == "." else f"sets/{name}")


def plain(value: Any) -> Any:  # noqa: ANN401  # pixels, numbers, texts, boxes
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


def batches(source: Any, **options: Any) -> list[dict[str, Any]]:  # noqa: ANN401  # a Loader's
    with Loader(source, batch_size=4, seed=3, threads=2, **options) as loader:
        return [{name: plain(values) for name, values in batch.items()} for _ in range(2) for batch in loader]


@pytest.mark.parametrize("kind", SOURCES)
def test_a_source_in_memory_is_that_of_the_folder(tmp_path: Path, kind: str) -> None:
    source = SOURCES[kind](tmp_path / "source")
    place = copied(source, tmp_path / "source")
    local, stored = penstock.open(source), penstock.open(place)

    assert stored.kind == local.kind
    assert stored.fields == local.fields
    assert stored.classes == local.classes
    assert stored.splits == local.splits
    assert dict(stored.left_out) == dict(local.left_out)
    assert stored.fingerprint == local.fingerprint
    assert stored.columns.to_pylist() == local.columns.to_pylist()
    assert stored.sizes.tolist() == local.sizes.tolist()
    assert [plain(sample["image"]) for sample in stored] == [plain(sample["image"]) for sample in local]


@pytest.mark.parametrize("kind", SOURCES)
def test_a_source_in_memory_gives_the_batches_of_the_folder(tmp_path: Path, kind: str) -> None:
    source = SOURCES[kind](tmp_path / "source")
    options = {
        "fields": FIELDS.get(kind),
        "transform": [RandomResizedCrop(16), RandomHorizontalFlip()],
        "memory": "64MiB",
    }

    assert batches(copied(source, tmp_path / "source"), **options) == batches(source, **options)


@pytest.mark.parametrize("kind", ["folder", "cityscapes", "webdataset", "csv"])
def test_a_build_from_memory_writes_the_dataset_of_the_folder(tmp_path: Path, kind: str) -> None:
    source = SOURCES[kind](tmp_path / "source")
    options = {"mix": "weir:fast=0.5,png=0.5", "durable": False}

    build(source, tmp_path / "local.pen", **options)  # type: ignore[arg-type]
    build(copied(source, tmp_path / "source"), tmp_path / "stored.pen", **options)  # type: ignore[arg-type]

    written = {path.relative_to(tmp_path / "local.pen"): path.read_bytes() for path in files_of(tmp_path / "local.pen")}
    assert written == {
        path.relative_to(tmp_path / "stored.pen"): path.read_bytes() for path in files_of(tmp_path / "stored.pen")
    }


def files_of(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def test_files_that_only_python_decodes_are_built_from_a_store(tmp_path: Path) -> None:
    pixels = np.arange(16 * 16 * 3, dtype=np.uint8).reshape(16, 16, 3)
    put(tmp_path / "source/b.png", FILES[0])
    tifffile.imwrite(tmp_path / "source/a.tif", pixels, photometric="rgb")

    build(copied(tmp_path / "source", tmp_path / "source"), tmp_path / "data.pen", mix="weir:fast=1", durable=False)

    assert np.array_equal(penstock.open(tmp_path / "data.pen")[0]["image"], pixels)


def test_a_dataset_in_a_store_is_the_source_of_another(tmp_path: Path) -> None:
    build(LAYOUTS["masks"](tmp_path / "source"), tmp_path / "first.pen", mix="png=1", durable=False)

    build(copied(tmp_path / "first.pen", tmp_path), tmp_path / "second.pen", mix="weir:fast=1", durable=False)

    first, second = penstock.open(tmp_path / "first.pen"), penstock.open(tmp_path / "second.pen")
    assert [plain(sample["mask"]) for sample in first] == [plain(sample["mask"]) for sample in second]


def test_a_profile_measures_a_source_in_a_store(tmp_path: Path) -> None:
    place = copied(LAYOUTS["folder"](tmp_path / "source"), tmp_path / "source")
    options = ProfileOptions(on=tmp_path, sample=2, formats="raw", repeat_seconds=0.01)

    assert measure(place, options).dataset.num_samples == len(FILES)
    with pytest.raises(penstock.ArgumentError, match="no local folder"):
        measure(place)


@pytest.mark.parametrize("kind", ["folder", "cityscapes", "webdataset", "csv"])
def test_an_index_in_a_store_survives_pickling(tmp_path: Path, kind: str) -> None:
    index = penstock.open(copied(SOURCES[kind](tmp_path / "source"), tmp_path / "source")).subset([2, 1])

    again = pickle.loads(pickle.dumps(index))

    assert np.array_equal(again[1]["image"], index[1]["image"])


def test_a_whole_store_is_opened_and_loaded(tmp_path: Path) -> None:
    source = LAYOUTS["folder"](tmp_path / "source")
    whole = MemoryStore({path.relative_to(source).as_posix(): path.read_bytes() for path in files_of(source)})

    assert batches(whole) == batches(source)
    assert batches(LocalStore(source)) == batches(source)
    assert batches(ThrottledStore(whole, bytes_per_second=1e9)) == batches(source)


class Counting(MemoryStore):
    """Counts its requests."""

    num_requests = 0

    def size(self, name: str) -> int | None:
        self.num_requests += 1
        return super().size(name)

    def read_ranges(self, name: str, ranges: Sequence[ByteRange]) -> Sequence[bytes]:
        self.num_requests += 1
        return super().read_ranges(name, ranges)


def test_opening_a_folder_in_a_store_asks_for_no_single_object() -> None:
    store = Counting({f"photos/{label}/{number}.png": FILES[0] for label in "abc" for number in range(30)})

    index = penstock.open(StorePath(store, "photos"))

    assert len(index) == 90
    assert store.num_requests <= 8  # names by which kinds of sources are recognised


def test_many_rows_of_a_manifest_cost_one_listing() -> None:
    rows = "\n".join(["path", *(f"a/{number}.png" for number in range(100))])
    store = Counting({"m/list.csv": rows.encode(), **{f"m/a/{number}.png": FILES[0] for number in range(100)}})

    index = penstock.open(StorePath(store, "m/list.csv"))

    assert len(index) == 100
    assert store.num_requests <= 12


def test_a_manifest_in_a_store_names_a_file_that_is_missing() -> None:
    store: Store = MemoryStore({"list.csv": b"path\na.png\nb.png\n", "a.png": FILES[0]})

    with pytest.raises(penstock.StorageError, match="no such object") as caught:
        penstock.open(StorePath(store, "list.csv"))

    assert "line 3" in caught.value.where
    assert "b.png" in caught.value.where


@pytest.mark.parametrize("path", ["../secret.png", "/etc/secret.png"])
def test_a_manifest_does_not_lead_out_of_its_folder_in_a_store(path: str) -> None:
    store = MemoryStore({"m/list.csv": f"path\n{path}\n".encode(), "secret.png": FILES[0]})

    with pytest.raises(SourceError, match="leads out"):
        penstock.open(StorePath(store, "m/list.csv"))


def test_parquet_in_a_store_is_refused_with_a_way_out(tmp_path: Path) -> None:
    source = LAYOUTS["parquet"](tmp_path / "source")

    with pytest.raises(SourceError, match="local disk only"):
        penstock.open(copied(source, tmp_path / "source"))
