"""A dataset as a source: another mix of the same samples, without the files of the first."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from penstock.build import BuildOptions, Built, build
from penstock.errors import PenstockError
from penstock.records import open_dataset
from tests.unit.export.layouts import FILES, LAYOUTS, assert_same


@pytest.mark.parametrize("layout", ["folder", "manifest", "cityscapes"])
def test_another_mix_has_the_same_samples(layout: str, tmp_path: Path) -> None:
    build(LAYOUTS[layout](tmp_path / "source"), tmp_path / "one.pen", mix="l3=0.5,png=0.5")

    build(tmp_path / "one.pen", tmp_path / "two.pen", mix="weir:fast=0.5,raw=0.5")

    assert_same(open_dataset(tmp_path / "one.pen"), open_dataset(tmp_path / "two.pen"))


def test_jpegs_are_copied_from_dataset_to_dataset(tmp_path: Path) -> None:
    build(LAYOUTS["folder"](tmp_path / "source"), tmp_path / "one.pen", mix="jpeg=1")

    built = build(tmp_path / "one.pen", tmp_path / "two.pen", mix="jpeg=1")

    one, two = open_dataset(tmp_path / "one.pen"), open_dataset(tmp_path / "two.pen")
    assert [one.read(position) for position in range(6)] == [two.read(position) for position in range(6)]
    assert built.manifest.formats["jpeg"].kept == 6


def test_a_stored_source_is_what_the_next_dataset_is_made_from(tmp_path: Path) -> None:
    options = BuildOptions(keep_source=True)
    build(LAYOUTS["folder"](tmp_path / "source"), tmp_path / "one.pen", mix="jpeg:q=10=1", options=options)

    build(tmp_path / "one.pen", tmp_path / "two.pen", mix="raw=1")
    build(tmp_path / "source", tmp_path / "straight.pen", mix="raw=1")

    assert_same(open_dataset(tmp_path / "two.pen"), open_dataset(tmp_path / "straight.pen"))


def test_a_damaged_record_is_found_although_its_bytes_would_only_be_copied(tmp_path: Path) -> None:
    build(LAYOUTS["folder"](tmp_path / "source"), tmp_path / "one.pen", mix="jpeg=1")
    dataset = open_dataset(tmp_path / "one.pen")
    places = dataset.locations()
    shard = dataset.shard_paths()[0]
    damaged = bytearray(shard.read_bytes())
    damaged[int(places.offset[3] + places.length[3] // 2)] ^= 4
    shard.write_bytes(damaged)

    with pytest.raises(PenstockError, match="do not match their checksum") as caught:
        build(tmp_path / "one.pen", tmp_path / "two.pen", mix="jpeg=1")

    assert f"{shard}, byte {places.offset[3]}" in caught.value.where


def test_the_bytes_are_those_of_the_first_source_after_two_steps(tmp_path: Path) -> None:
    def step(source: Path, name: str) -> Built:
        return build(source, tmp_path / name, mix="png=1")

    step(LAYOUTS["flat"](tmp_path / "source"), "one.pen")
    step(tmp_path / "one.pen", "two.pen")

    dataset = open_dataset(tmp_path / "two.pen")
    assert [dataset.read(position) for position in (0, 2, 4)] == FILES[0::2]
    assert np.array_equal(dataset.ids, np.arange(6))
