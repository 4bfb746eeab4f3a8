"""Source → dataset → files → dataset: everything is there again, for every layout and several formats."""

from __future__ import annotations

from pathlib import Path

import pytest

import penstock
from penstock.build import BuildOptions, build
from penstock.export import ExportOptions, export
from penstock.records import open_dataset
from tests.unit.export.layouts import FILES, LAYOUTS, assert_same

MIXES = ("jpeg=0.5,png=0.5", "weir:fast=0.5,jpeg:restart=0.5", "raw=1")


@pytest.mark.parametrize("mix", MIXES)
@pytest.mark.parametrize("back", ["folder", "webdataset"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_everything_comes_back(layout: str, back: str, mix: str, tmp_path: Path) -> None:
    source = LAYOUTS[layout](tmp_path / "source")
    build(source, tmp_path / "one.pen", mix=mix)

    export(tmp_path / "one.pen", tmp_path / "back", options=ExportOptions(layout=back, shard_samples=2))
    build(tmp_path / "back", tmp_path / "two.pen", mix="png=1")

    assert_same(open_dataset(tmp_path / "one.pen"), open_dataset(tmp_path / "two.pen"))


def test_kept_files_come_back_byte_for_byte_under_their_names(tmp_path: Path) -> None:
    source = LAYOUTS["folder"](tmp_path / "source")
    built = build(source, tmp_path / "one.pen", mix="jpeg=0.5,png=0.5")

    done = export(tmp_path / "one.pen", tmp_path / "back")

    kept = {str(path.relative_to(source)): path.read_bytes() for path in source.rglob("*.*")}
    back = {str(path.relative_to(tmp_path / "back")): path.read_bytes() for path in (tmp_path / "back").rglob("*.*")}
    same = [name for name, data in kept.items() if back.get(name) == data]
    assert len(same) == sum(count.kept for count in built.manifest.formats.values())
    assert done.num_samples == done.num_images == 6
    assert done.num_encoded == 0
    assert back["classes.txt"] == b"bird\ncat\ndog\n"


def test_the_bytes_of_a_stored_source_come_back_whatever_the_format(tmp_path: Path) -> None:
    source = LAYOUTS["folder"](tmp_path / "source")
    build(source, tmp_path / "one.pen", mix="weir:fast=1", options=BuildOptions(keep_source=True))

    export(tmp_path / "one.pen", tmp_path / "back")

    assert sorted(path.read_bytes() for path in (tmp_path / "back").rglob("[0-9].*")) == sorted(FILES)


@pytest.mark.parametrize("format", ["webp:lossless", "weir:dense", "raw"])
def test_pixels_are_written_in_the_format_asked_for(format: str, tmp_path: Path) -> None:
    source = LAYOUTS["folder"](tmp_path / "source")
    build(source, tmp_path / "one.pen", mix="l3=1")

    done = export(tmp_path / "one.pen", tmp_path / "back", options=ExportOptions(image_format=format))

    files = sorted(path for path in (tmp_path / "back").rglob("[0-9].*"))
    assert {penstock.inspect(path.read_bytes()).codec for path in files} == {format.partition(":")[0]}
    assert done.num_encoded == 6
    build(tmp_path / "back", tmp_path / "two.pen", mix="png=1")
    assert_same(open_dataset(tmp_path / "one.pen"), open_dataset(tmp_path / "two.pen"))


def test_one_split_can_be_exported_alone(tmp_path: Path) -> None:
    build(LAYOUTS["folder"](tmp_path / "source"), tmp_path / "one.pen", mix="png=1")

    done = export(tmp_path / "one.pen", tmp_path / "back", options=ExportOptions(split="val"))

    assert done.num_samples == 3
    assert sorted(path.name for path in (tmp_path / "back").iterdir()) == ["classes.txt", "manifest.jsonl", "val"]


@pytest.mark.parametrize("layout", ["folder", "webdataset"])
def test_the_same_dataset_gives_the_same_bytes_whatever_the_threads(layout: str, tmp_path: Path) -> None:
    build(LAYOUTS["manifest"](tmp_path / "source"), tmp_path / "one.pen", mix="weir:fast=0.5,jpeg=0.5")

    for threads in (1, 4):
        export(tmp_path / "one.pen", tmp_path / f"back{threads}", options=ExportOptions(layout=layout), threads=threads)

    one, four = (
        {str(path.relative_to(tmp_path / name)): path.read_bytes() for path in (tmp_path / name).rglob("*.*")}
        for name in ("back1", "back4")
    )
    assert one == four
