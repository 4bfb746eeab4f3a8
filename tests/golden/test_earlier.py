"""What an earlier version wrote is read today: its dataset, its states, and the batches that followed them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import penstock
from penstock.build import build
from penstock.records import verify
from tests.golden.earlier import COUNT, OPTIONS, SOURCES, batches_of

EARLIER = Path(__file__).with_name("earlier")


@pytest.mark.parametrize("name", SOURCES)
def test_a_state_of_an_earlier_version_goes_on_with_the_same_batches(name: str) -> None:
    told = json.loads((EARLIER / f"{name}.json").read_text())
    source = EARLIER / "photos" / "images" if name == "photos" else EARLIER / name

    with penstock.Loader(source, **OPTIONS) as loader:
        loader.load_state_dict(told["state"])
        assert batches_of(loader, 2) == told["batches"]


def test_a_dataset_of_an_earlier_version_is_whole() -> None:
    assert verify(EARLIER / "data.pen").problems == ()
    assert len(penstock.open(EARLIER / "data.pen")) == COUNT


def test_a_build_of_today_writes_the_bytes_of_the_earlier_version(tmp_path: Path) -> None:
    build(EARLIER / "photos", tmp_path / "data.pen", mix="weir:fast=0.5,png=0.25,jpeg:q=90=0.25")

    for path in sorted((EARLIER / "data.pen").rglob("*")):
        if path.is_file():
            assert (tmp_path / "data.pen" / path.relative_to(EARLIER / "data.pen")).read_bytes() == path.read_bytes()
