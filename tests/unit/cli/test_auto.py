"""`penstock auto` from images to a faster dataset and a page about it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import penstock
from penstock.auto import AutoOptions, decide
from penstock.documents import Document
from penstock.limits import Limits
from penstock.synth import Scenes, write

if TYPE_CHECKING:
    from tests.unit.cli.conftest import Call


@pytest.fixture(scope="module")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("auto") / "photos"
    write(folder, images=12, scenes=Scenes(width=160, height=120, classes=2))
    return folder


def test_it_builds_benches_and_reports(photos: Path, tmp_path: Path, shell: Call) -> None:
    out = tmp_path / "photos.pen"
    found = shell("auto", str(photos), str(out), "--sample", "4", "--emulate", "disk=20MB/s", "--json").json

    assert found["is_worth_it"] is True
    assert len(penstock.open(out)) == 12
    page = (tmp_path / "photos.pen.report.html").read_text()
    assert page.count("<svg") == 4
    assert "Limits were enforced as follows" in page


@pytest.mark.long
def test_a_model_that_eats_slowly_gets_nothing_built(photos: Path, tmp_path: Path, shell: Call) -> None:
    out = tmp_path / "photos.pen"
    answer = shell("auto", str(photos), str(out), "--sample", "4", "--compute-rate", "1", "--json")

    assert answer.status == 0
    assert answer.json["is_worth_it"] is False
    assert not out.exists()


@pytest.mark.long
def test_a_dry_run_writes_nothing(photos: Path, tmp_path: Path, shell: Call) -> None:
    assert shell("auto", str(photos), str(tmp_path / "x.pen"), "--sample", "4", "--dry-run").status == 0
    assert list(tmp_path.iterdir()) == []


def test_limits_stand_for_the_machine_in_the_plan(photos: Path, tmp_path: Path) -> None:
    slow = decide(photos, tmp_path / "x", AutoOptions(sample=4, limits=Limits(disk_bytes_per_second=1e6, cores=1)))
    assert slow.plan.rows.folder.rates.bottleneck == "storage"
    assert slow.plan.rows.folder.rates.load < 1e6 / 1000


@pytest.mark.long
def test_an_emulated_memory_is_planned_with_and_held(photos: Path, tmp_path: Path, shell: Call) -> None:
    limits = "disk=2MB/s,memory=1GiB"
    words = ["--sample", "4", "--batch-size", "4", "--formats", "raw,weir:fast", "--emulate", limits, "--json"]
    found = Document(json.loads(shell("auto", str(photos), str(tmp_path / "x.pen"), *words).stdout), "auto")

    assert found.text("cache") == "rolling"
    assert found.integer("cache_bytes") > 2**28
    assert found.child("predicted").number("cached_share") == 1.0  # a dozen photos fit
