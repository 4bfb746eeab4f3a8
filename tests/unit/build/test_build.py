"""A dataset holds what its source holds, whatever the mix, and the same bytes whatever the threads."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import penstock
from penstock.build import BuildOptions, build
from penstock.errors import DatasetError
from penstock.synth import Scenes, write

LOSSLESS = ("raw", "png", "weir:fast", "weir:dense", "webp:lossless", "l3")


@pytest.fixture(scope="module")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("source") / "photos"
    write(folder, images=24, scenes=Scenes(width=64, height=48, classes=3))
    return folder


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("format", LOSSLESS)
def test_a_lossless_format_gives_back_the_pixels_of_the_source(photos: Path, tmp_path: Path, format: str) -> None:
    build(photos, tmp_path / "data.pen", mix={penstock.codecs.parse_format(format): 1.0})
    dataset = penstock.open(tmp_path / "data.pen")

    assert len(dataset) == 24
    assert dataset.classes == ("class000", "class001", "class002")
    for sample in dataset:
        assert np.array_equal(sample["image"], penstock.decode((photos / sample["key"]).read_bytes()))
        assert sample["label"] == int(sample["key"][5:8])


def test_bytes_depend_neither_on_threads_nor_on_the_place(photos: Path, tmp_path: Path) -> None:
    options = BuildOptions(shard_bytes=20_000)
    build(photos, tmp_path / "one.pen", mix="weir:fast=0.6,png=0.4", options=options, threads=1)
    build(photos, tmp_path / "deep" / "er" / "many.pen", mix="weir:fast=0.6,png=0.4", options=options, threads=5)

    one = files_of(tmp_path / "one.pen")
    assert one == files_of(tmp_path / "deep" / "er" / "many.pen")
    assert len(one) > 6, "several shards of each format"


def test_ids_are_ranks_of_keys_for_every_mix_and_seed(photos: Path, tmp_path: Path) -> None:
    for seed, mix in enumerate(("png=1", "raw=0.5,l3=0.5")):
        build(photos, tmp_path / f"{seed}.pen", mix=mix, options=BuildOptions(seed=seed))

    keys = [penstock.open(tmp_path / f"{seed}.pen").column("key").to_pylist() for seed in (0, 1)]
    assert keys[0] == keys[1] == sorted(keys[0])


def test_shares_are_exact(photos: Path, tmp_path: Path) -> None:
    built = build(photos, tmp_path / "data.pen", mix="png=0.25,raw=0.5,weir:fast=0.25")

    assert [count.samples for count in built.manifest.formats.values()] == [6, 12, 6]


def test_a_source_in_the_wanted_format_is_copied(photos: Path, tmp_path: Path) -> None:
    built = build(photos, tmp_path / "data.pen", mix="png=1")
    dataset = penstock.open(tmp_path / "data.pen")

    assert built.manifest.formats["png"].kept == 24
    assert [dataset.read(i) for i in range(24)] == [
        (photos / key).read_bytes() for key in dataset.column("key").to_pylist()
    ]


def test_building_again_does_nothing(photos: Path, tmp_path: Path) -> None:
    build(photos, tmp_path / "data.pen", mix="png=1")
    before = files_of(tmp_path / "data.pen")

    again = build(photos, tmp_path / "data.pen", mix="png=1")

    assert again.num_converted == 0
    assert files_of(tmp_path / "data.pen") == before


def test_another_mix_is_refused_unless_forced(photos: Path, tmp_path: Path) -> None:
    build(photos, tmp_path / "data.pen", mix="png=1")

    with pytest.raises(DatasetError, match="another dataset is here"):
        build(photos, tmp_path / "data.pen", mix="raw=1")
    assert penstock.open(tmp_path / "data.pen").formats == ("png",)
    build(photos, tmp_path / "data.pen", mix="raw=1", force=True)
    assert penstock.open(tmp_path / "data.pen").formats == ("raw",)


def test_a_strangers_folder_is_left_alone(photos: Path, tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("x")

    with pytest.raises(DatasetError, match=r"thesis\.tex"):
        build(photos, tmp_path, mix="png=1", force=True)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]
