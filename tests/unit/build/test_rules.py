"""Rules of a plan: which sample gets which format."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import penstock
from penstock.build import BuildOptions, build, load_plan
from penstock.build.assignment import assign_formats, exact_counts, write_order
from penstock.build.rules import read_rules, rules_of_plan
from penstock.errors import ArgumentError
from penstock.plan import Goals, make_plan, write_plan
from tests.dataset_files import make_photos
from tests.unit.plan.conftest import MEGABYTE, make_profile


@pytest.fixture(scope="module")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("source")
    make_photos(root / "train", images=12, width=64, height=48)
    make_photos(root / "val", images=6, width=32, height=32)
    return root


def plan_file(folder: Path, **members: object) -> Path:
    path = folder / "plan.json"
    path.write_text(json.dumps({"kind": "penstock plan", "version": 1, **members}))
    return path


def formats_of(folder: Path) -> list[str]:
    column: list[str] = penstock.open(folder).column("image.format").to_pylist()
    return column


@pytest.mark.parametrize(
    ("condition", "chosen"),
    [
        ({"feature": "split", "is": "val"}, range(12, 18)),
        ({"feature": "pixels", "below": 2000}, range(12, 18)),
        ({"feature": "pixels", "from": 2000, "below": 5000}, range(12)),
        ({"feature": "channels", "is": 3}, range(18)),
        ({"feature": "codec", "is": "png"}, range(18)),
        ({"feature": "label", "is": 1}, [4, 5, 6, 7, 14, 15]),
        ({"feature": "source_bytes", "below": 1}, []),
        ({"feature": "bytes_per_pixel", "from": 0.1}, range(18)),
    ],
)
def test_the_first_rule_that_holds_decides(
    photos: Path, tmp_path: Path, condition: dict[str, object], chosen: range | list[int]
) -> None:
    rules = [{"where": [condition], "mix": {"raw": 1.0}}, {"mix": {"png": 1.0}}]
    build(photos, tmp_path / "data.pen", mix=load_plan(plan_file(tmp_path, rules=rules)))

    assert formats_of(tmp_path / "data.pen") == ["raw" if number in chosen else "png" for number in range(18)]


def test_a_plan_of_one_mix_is_that_mix(photos: Path, tmp_path: Path) -> None:
    plan = plan_file(tmp_path, seed=3, rules=[{"mix": {"raw": 0.25, "png": 0.75}}])
    build(photos, tmp_path / "plan.pen", mix=load_plan(plan))
    build(photos, tmp_path / "mix.pen", mix="raw=0.25,png=0.75", options=BuildOptions(seed=3))

    assert formats_of(tmp_path / "plan.pen") == formats_of(tmp_path / "mix.pen")


def test_a_manifest_repeats_the_rules_and_nothing_of_a_machine(photos: Path, tmp_path: Path) -> None:
    plan = plan_file(tmp_path, rules=[{"mix": {"png": 1.0}}], threads=64, predicted={"images_per_second": 1})
    built = build(photos, tmp_path / "data.pen", mix=load_plan(plan))

    assert built.manifest.recipe["plan"] == {"rules": [{"mix": {"png": 1.0}}]}


@pytest.mark.parametrize(
    ("rules", "what"),
    [
        ([], "only the last"),
        ([{"where": [{"feature": "split", "is": "val"}], "mix": {"png": 1}}], "only the last"),
        ([{"mix": {"png": 1}}, {"mix": {"raw": 1}}], "only the last"),
        ([{"mix": {"png": 0.5}}], "add up to 0.5"),
        ([{"mix": {"gif": 1}}], "no codec 'gif'"),
        ([{"where": [{"feature": "mood", "is": "good"}], "mix": {"png": 1}}], "no feature 'mood'"),
        ([{"where": [{"feature": "pixels"}], "mix": {"png": 1}}], "needs below, from or is"),
        ([{"where": [{"feature": "split", "below": 3}], "mix": {"png": 1}}], "needs is"),
    ],
)
def test_a_plan_that_cannot_be_obeyed_is_refused(tmp_path: Path, rules: list[object], what: str) -> None:
    with pytest.raises(ArgumentError, match=what) as caught:
        load_plan(plan_file(tmp_path, rules=rules))
    assert str(tmp_path) in caught.value.where


def test_shares_are_exact_and_the_choice_is_seeded() -> None:
    ranks = np.arange(1000)

    chosen = assign_formats(ranks, [0.3, 0.7], seed=1)

    assert np.bincount(chosen).tolist() == [300, 700]
    assert np.array_equal(chosen, assign_formats(ranks, [0.3, 0.7], seed=1))
    assert not np.array_equal(chosen, assign_formats(ranks, [0.3, 0.7], seed=2))
    # A uniform choice: both halves have about as many.
    assert abs(int((chosen[:500] == 0).sum()) - 150) < 40


@pytest.mark.parametrize(("total", "shares"), [(7, [1 / 3, 1 / 3, 1 / 3]), (10, [0.1] * 10), (1, [0.5, 0.5]), (0, [1])])
def test_counts_add_up(total: int, shares: list[float]) -> None:
    assert sum(exact_counts(total, shares)) == total


def test_runs_keep_neighbours_of_the_source_together() -> None:
    order = write_order(np.arange(100), np.arange(100), seed=0, runs=10)

    assert sorted(order.tolist()) == list(range(100))
    assert all((order[i : i + 10] == np.arange(order[i], order[i] + 10)).all() for i in range(0, 100, 10))
    assert order[0] != 0 or order[10] != 10


def test_a_plan_of_this_process_has_the_rules_of_its_document() -> None:
    formats = {"png": (1.0, 20.0), "raw": (3.0, 0.5)}
    plan = make_plan(make_profile(formats, source="png", disk=150 * MEGABYTE, spread=0.3), Goals(memory_bytes=10**8))
    assert len(plan.mix) == 2
    assert rules_of_plan(plan) == read_rules(write_plan(plan), "plan.json")
