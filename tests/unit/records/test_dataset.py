"""What an opened dataset gives: samples, columns, selections; in other processes too."""

from __future__ import annotations

import multiprocessing
import os
import pickle
from pathlib import Path

import numpy as np
import pytest

import penstock
from penstock.build import BuildOptions, build
from penstock.errors import ArgumentError, DatasetError
from tests.dataset_files import files_of, make_photos


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("dataset")
    make_photos(root / "photos" / "train", images=12)
    make_photos(root / "photos" / "val", images=6)
    build(root / "photos", root / "data.pen", mix="weir:fast=0.5,png=0.5", options=BuildOptions(shard_bytes=30_000))
    return root / "data.pen"


@pytest.fixture
def dataset(folder: Path) -> penstock.Dataset:
    return penstock.Dataset(folder)


def test_a_sample_is_a_dict_of_its_fields(dataset: penstock.Dataset) -> None:
    sample = dataset[0]

    assert set(sample) == {"id", "key", "split", "image", "label"}
    assert (sample["id"], sample["split"], sample["label"]) == (0, "train", 0)
    assert sample["key"] == "train/class000/000000.png"
    assert sample["image"].shape == (48, 64, 3)
    assert dataset[-1]["id"] == 17
    with pytest.raises(IndexError):
        dataset[18]


def test_splits_subsets_and_formats_select(dataset: penstock.Dataset) -> None:
    assert dataset.splits == ("train", "val")
    assert len(dataset.split("val")) == 6
    assert {sample["split"] for sample in dataset.split("val")} == {"val"}
    weir, png = dataset.with_format("weir:fast"), dataset.with_format("png")
    assert sorted([*weir.ids, *png.ids]) == list(range(18))
    assert len(weir) == 9
    assert dataset.subset([5, 3, 3]).ids.tolist() == [5, 3, 3]
    assert dataset.split("val").with_format("png").ids.tolist() == sorted(set(png.ids.tolist()) & set(range(12, 18)))
    assert dataset.split("train").column("label").to_pylist() == [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2]


@pytest.mark.parametrize(
    ("wrong", "what"),
    [
        (lambda data: data.split("dev"), "no split 'dev'"),
        (lambda data: data.with_format("raw"), "no image is in format 'raw'"),
        (lambda data: data.split("val").subset([0]), "sample 0 is not here"),
        (lambda data: data.subset([-1]), "sample -1 is not here"),
        (lambda data: data.column("weather"), "no column 'weather'"),
        (lambda data: data.locations("label"), "no image field 'label'"),
    ],
)
def test_what_is_not_there_is_refused_by_name(dataset: penstock.Dataset, wrong: object, what: str) -> None:
    assert callable(wrong)
    with pytest.raises(ArgumentError, match=what) as caught:
        wrong(dataset)
    assert caught.value.fix


def test_locations_lead_to_the_bytes(dataset: penstock.Dataset, folder: Path) -> None:
    found = dataset.locations()

    assert found.formats == ("weir:fast", "png")
    for position in range(len(dataset)):
        shard = folder / found.shard_files[found.file[position]]
        begin = int(found.offset[position])
        data = shard.read_bytes()[begin : begin + int(found.length[position])]
        assert data == dataset.read(position)
        info = penstock.inspect(data)
        assert info.codec == found.formats[found.format[position]].partition(":")[0]
        assert (info.width, info.height, info.channels) == (
            found.width[position],
            found.height[position],
            found.channels[position],
        )
        assert begin % 64 == 0
    assert all(path.stat().st_size % 4096 == 0 for path in dataset.shard_paths())


def test_opening_and_reading_writes_nothing(folder: Path) -> None:
    before = files_of(folder)
    list(penstock.Dataset(folder))

    assert files_of(folder) == before


def test_a_pickled_dataset_is_its_path_and_its_selection(dataset: penstock.Dataset) -> None:
    val = dataset.split("val")
    data = pickle.dumps(val)
    restored = pickle.loads(data)

    assert len(data) < 600
    assert restored.ids.tolist() == val.ids.tolist()
    assert np.array_equal(restored[2]["image"], val[2]["image"])


def test_a_forked_process_reads_what_its_parent_opened(dataset: penstock.Dataset) -> None:
    expected = dataset[4]["image"].sum()
    pid = os.fork()
    if pid == 0:
        os._exit(0 if dataset[4]["image"].sum() == expected and dataset[9]["image"] is not None else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


@pytest.mark.parametrize("method", ["fork", pytest.param("spawn", marks=pytest.mark.long)])
def test_torch_loads_it_in_worker_processes(dataset: penstock.Dataset, method: str) -> None:
    from torch.utils.data import DataLoader

    loader: DataLoader[object] = DataLoader(
        dataset,  # type: ignore[arg-type]  # torch asks for a subclass, and uses __len__ and __getitems__
        batch_size=6,
        num_workers=2,
        collate_fn=_ids,
        multiprocessing_context=multiprocessing.get_context(method),
    )

    assert list(loader) == [[0, 1, 2, 3, 4, 5], [6, 7, 8, 9, 10, 11], [12, 13, 14, 15, 16, 17]]


def _ids(samples: list[dict[str, object]]) -> list[object]:
    assert all(isinstance(sample["image"], np.ndarray) for sample in samples)
    return [sample["id"] for sample in samples]


def test_a_folder_that_is_no_dataset_is_named(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="there is no dataset here") as caught:
        penstock.Dataset(tmp_path)
    assert caught.value.where == str(tmp_path)


def test_the_fingerprint_is_the_samples_and_their_places(folder: Path, dataset: penstock.Dataset) -> None:
    assert penstock.Dataset(folder).fingerprint == dataset.fingerprint
    assert dataset.split("val").fingerprint == dataset.fingerprint


def test_the_index_opens_in_pandas_or_duckdb(folder: Path) -> None:
    import pyarrow.parquet as pq

    table = pq.read_table(folder / "index.parquet")

    assert table.num_rows == 18
    assert set(table.column("image.format").to_pylist()) == {"weir:fast", "png"}
