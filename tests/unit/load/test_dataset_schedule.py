"""Regimens: another variant from an epoch on, and exact when it goes on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock
from penstock.build import BuildOptions, build
from penstock.errors import ArgumentError
from penstock.load import DatasetSchedule
from tests.progressive_files import build_blocks


@pytest.fixture(scope="module")
def variants(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A small variant, and the whole."""
    root = tmp_path_factory.mktemp("regimen")
    whole = build_blocks(root, 20, greys=0)
    small = build(root / "source", root / "small.pen", mix="jpeg=1", options=BuildOptions(max_side=16)).path
    return small, whole


def epoch_of(regimen: DatasetSchedule) -> list[tuple[list[int], tuple[int, ...]]]:
    return [(batch["id"].tolist(), np.asarray(batch["image"][0]).shape) for batch in regimen]


def test_variants_take_their_turns(variants: tuple[Path, Path]) -> None:
    small, whole = variants
    with DatasetSchedule([(0, small), (2, (whole, 2)), (3, (whole, None))], batch_size=8, threads=1) as regimen:
        shapes = []
        for _ in range(4):
            found = epoch_of(regimen)
            assert sorted(sample for ids, _ in found for sample in ids) == list(range(20))
            shapes.append((found[0][1][0], regimen.loader.fidelity))
        assert shapes == [(13, None), (13, None), (40, 2), (40, None)]
        assert regimen.epoch == 4


def test_a_state_goes_on_in_its_variant(variants: tuple[Path, Path]) -> None:
    small, whole = variants
    steps: Any = [(0, small), (1, (whole, 2))]
    with DatasetSchedule(steps, batch_size=4, threads=1) as straight:
        expected = [epoch_of(straight) for _ in range(2)]
    with DatasetSchedule(steps, batch_size=4, threads=1) as first:
        epoch_of(first)
        iterator = iter(first)
        head = [next(iterator)["id"].tolist() for _ in range(2)]
        state = json.loads(json.dumps(first.state_dict()))
    with DatasetSchedule(steps, batch_size=4, threads=1) as second:
        second.load_state_dict(state)
        rest = [ids for ids, _ in epoch_of(second)]
    assert [*head, *rest] == [ids for ids, _ in expected[1]]


def test_steps_that_cannot_be_are_refused(variants: tuple[Path, Path]) -> None:
    for steps in ([], [(1, variants[0])], [(0, variants[0]), (0, variants[1])]):
        with pytest.raises(ArgumentError, match="epochs of the schedule"):
            DatasetSchedule(steps)


def test_an_epoch_can_be_jumped_to(variants: tuple[Path, Path]) -> None:
    with DatasetSchedule([(0, variants[0]), (5, variants[1])], batch_size=20, threads=1) as regimen:
        regimen.set_epoch(5)
        assert epoch_of(regimen)[0][1] == (40, 48, 3)
        regimen.set_epoch(0)
        assert isinstance(regimen.loader, penstock.Loader)
        assert epoch_of(regimen)[0][1][0] == 13
