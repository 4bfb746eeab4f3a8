"""A loader reads every source whose images lie in files, and gives what a loader of a dataset built from it gives."""

from __future__ import annotations

import csv
import pickle
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock
from penstock import ArgumentError, Loader, SampleIndex, SourceError, StorageError
from penstock.build import build
from penstock.export import ExportOptions, export
from penstock.transforms import CenterCrop, RandomHorizontalFlip, RandomResizedCrop
from tests.unit.export.layouts import FILES, LAYOUTS, MASK_FILES, ending_of, label_of, put

FIELDS = {
    "cityscapes": ["image", "mask", "city", "key"],
    "masks": ["image", "mask", "label", "key"],
    "webdataset": ["image", "seg", "label", "boxes", "night", "key"],
    "manifest": ["image", "label", "n", "key"],
    "csv": ["image", "mask", "label", "key"],
    "folder": ["image", "label", "key"],
    "flat": ["image", "key"],
}


def csv_manifest(root: Path) -> Path:
    """Images and masks in files, rows in another order than their keys."""
    rows = []
    for number, (data, mask) in enumerate(zip(FILES, MASK_FILES, strict=True)):
        place = f"files/{number}{ending_of(data)}"
        put(root / place, data)
        put(root / f"masks/{number}.png", mask)
        rows.append([place, f"masks/{number}.png", label_of(number)])
    with (root / "list.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["path", "mask", "label"], *rows[::-1]])
    return root / "list.csv"


def source_of(kind: str, root: Path) -> Path:
    return csv_manifest(root) if kind == "csv" else LAYOUTS[kind](root)


def plain(value: Any) -> Any:  # noqa: ANN401  # pixels, numbers, texts, boxes
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


def loaded(source: Path | SampleIndex, **options: Any) -> dict[int, dict[str, Any]]:  # noqa: ANN401  # a Loader's
    """Two epochs of samples by id; each must come twice, and be the same unless it is transformed."""
    found: dict[int, dict[str, Any]] = {}
    with Loader(source, batch_size=4, seed=3, threads=2, **options) as loader:
        for epoch in range(2):
            seen = set()
            for batch in loader:
                for place, number in enumerate(batch["id"].tolist()):
                    sample = {name: plain(values[place]) for name, values in batch.items()}
                    if epoch == 0 or options.get("transform"):
                        found[number] = sample
                    assert found[number] == sample
                    seen.add(number)
            assert seen == set(range(len(loader.dataset)))
    return found


@pytest.mark.parametrize("kind", FIELDS)
def test_a_source_loads_as_a_dataset_built_from_it(tmp_path: Path, kind: str) -> None:
    source = source_of(kind, tmp_path / "source")
    build(source, tmp_path / "data.pen", mix="raw=1")

    assert loaded(source, fields=FIELDS[kind]) == loaded(tmp_path / "data.pen", fields=FIELDS[kind])


@pytest.mark.parametrize("kind", ["cityscapes", "webdataset", "csv"])
@pytest.mark.parametrize("cache", ["rolling", "pinned", "none", "system", "liquid"])
def test_masks_move_with_their_images_under_every_cache(tmp_path: Path, kind: str, cache: str) -> None:
    source = source_of(kind, tmp_path / "source")
    build(source, tmp_path / "data.pen", mix="raw=1")
    options = {
        "fields": FIELDS[kind],
        "transform": [RandomResizedCrop(16), RandomHorizontalFlip()],
        "cache": cache,
        "memory": "64MiB",
        "window": False,
    }

    if cache == "liquid":  # its order follows the places of records, which differ: compare what is there
        assert set(loaded(source, **options)) == set(loaded(tmp_path / "data.pen", **options))
    else:
        assert loaded(source, **options) == loaded(tmp_path / "data.pen", **options)


def test_an_unpacked_webdataset_loads_as_its_build_does(tmp_path: Path) -> None:
    packed = LAYOUTS["webdataset"](tmp_path / "packed")
    for tar in sorted(packed.glob("*.tar")):
        with tarfile.open(tar) as file:
            file.extractall(tmp_path / "unpacked", filter="data")
    build(tmp_path / "unpacked", tmp_path / "data.pen", mix="raw=1")

    found = loaded(tmp_path / "unpacked")

    assert found == loaded(tmp_path / "data.pen")
    assert len(found) == 2 * len(FILES)  # masks are images of a plain folder


@pytest.mark.parametrize("layout", ["folder", "webdataset"])
def test_an_export_loads_without_a_build(tmp_path: Path, layout: str) -> None:
    build(LAYOUTS["masks"](tmp_path / "source"), tmp_path / "data.pen", mix="png=1")
    export(tmp_path / "data.pen", tmp_path / "back", options=ExportOptions(layout=layout))

    found = loaded(tmp_path / "back", fields=["image", "mask", "label"])

    assert found == loaded(tmp_path / "data.pen", fields=["image", "mask", "label"])


@pytest.mark.parametrize("kind", FIELDS)
def test_an_index_gives_the_samples_of_the_loader(tmp_path: Path, kind: str) -> None:
    source = source_of(kind, tmp_path / "source")
    samples = loaded(source, fields=FIELDS[kind], channels="unchanged")

    index = penstock.open(source)

    assert len(index) == len(samples) == len(FILES)
    for number, sample in samples.items():
        found = index[number]
        assert {name: plain(found[name]) for name in sample if name != "label"} == {
            name: value for name, value in sample.items() if name != "label"
        }
        if "label" in sample:
            assert index.targets[number] == sample["label"]


def test_a_loader_takes_an_index_and_hands_it_back(tmp_path: Path) -> None:
    index = penstock.open(LAYOUTS["folder"](tmp_path / "source"))

    with Loader(index, split="val") as loader:
        dataset = loader.dataset
        assert isinstance(dataset, SampleIndex)
        assert dataset.classes == index.classes == ("bird", "cat", "dog")
        assert dataset.class_to_idx == {"bird": 0, "cat": 1, "dog": 2}
        assert (len(dataset), len(index)) == (3, 6)
        assert dataset.targets.tolist() == index.targets[dataset.ids].tolist()
        assert dataset[0]["key"].startswith("val/")
        assert sorted(number for batch in loader for number in batch["id"].tolist()) == dataset.ids.tolist()


def test_a_part_of_an_index_is_loaded_as_that_part(tmp_path: Path) -> None:
    index = penstock.open(LAYOUTS["webdataset"](tmp_path / "source"))
    part = index.split("train").subset([2, 0])

    with Loader(part, fields=["image"]) as loader:
        assert sorted(number for batch in loader for number in batch["id"].tolist()) == [0, 2]
    with pytest.raises(ArgumentError, match="listed twice"):
        Loader(index.subset([1, 1]))


@pytest.mark.parametrize("kind", FIELDS)
def test_an_index_survives_pickling_with_its_selection(tmp_path: Path, kind: str) -> None:
    index = penstock.open(source_of(kind, tmp_path / "source")).subset([4, 1])

    again = pickle.loads(pickle.dumps(index))

    assert again.column("key").to_pylist() == index.column("key").to_pylist()
    assert np.array_equal(again[1]["image"], index[1]["image"])


@pytest.mark.parametrize("kind", ["parquet"])
def test_images_that_are_in_no_files_are_refused_with_the_command_that_builds_them(tmp_path: Path, kind: str) -> None:
    source = LAYOUTS[kind](tmp_path / "my data")

    with pytest.raises(SourceError, match="must be built") as caught:
        Loader(source)

    assert f"`penstock build '{source}' 'my data.pen' --format jpeg`" in caught.value.fix
    with pytest.raises(SourceError, match="build a dataset"):
        _ = penstock.open(source)[0]


def test_samples_without_a_mask_are_refused_by_the_field(tmp_path: Path) -> None:
    source = LAYOUTS["cityscapes"](tmp_path / "source")

    with pytest.raises(SourceError, match="3 samples have no instance") as caught:
        Loader(source)

    assert "leave 'instance' out of `fields`" in caught.value.fix


def test_boxes_of_a_manifest_move_with_the_pixels(tmp_path: Path) -> None:
    rows = []
    for number, data in enumerate(FILES):
        put(tmp_path / f"source/{number}{ending_of(data)}", data)
        rows.append(f'{{"path": "{number}{ending_of(data)}", "boxes": [[4, 2, {20 + number}, 12]]}}')
    (tmp_path / "source/list.jsonl").write_text("\n".join(rows))
    build(tmp_path / "source/list.jsonl", tmp_path / "data.pen", mix="raw=1")
    transform = [CenterCrop(16), RandomHorizontalFlip()]

    found = loaded(tmp_path / "source/list.jsonl", transform=transform)

    assert found == loaded(tmp_path / "data.pen", transform=transform)
    assert any(sample["boxes"] != [[4, 2, 20 + number, 12]] for number, sample in found.items())


def test_a_file_that_shrank_since_it_was_listed_is_named(tmp_path: Path) -> None:
    source = LAYOUTS["masks"](tmp_path / "source")
    index = penstock.open(source)
    mask = next((source / "masks").rglob("*.png"))
    mask.write_bytes(mask.read_bytes()[:-9])

    with Loader(index) as loader, pytest.raises(StorageError, match="shorter than it was") as caught:
        list(loader)

    assert mask.name in str(caught.value)


def test_reads_of_several_files_stay_within_the_memory(tmp_path: Path) -> None:
    source = LAYOUTS["cityscapes"](tmp_path / "source")
    with Loader(source, fields=["image", "mask"], batch_size=2, threads=2, memory="96MiB", cache="rolling") as loader:
        for _ in range(3):
            assert sum(len(batch["id"]) for batch in loader) == len(FILES)
        stats = loader.stats()

    assert stats["peak_memory_bytes"] <= 96 << 20
    assert stats["hit_ratio"] > 0
