"""The published logs give the published numbers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from penstock.errors import ArgumentError
from penstock.lab import Published, analyse, read_report
from penstock.lab.training import best_top1_within, fits_storage, representative_seconds


@pytest.fixture(scope="module")
def published(shared_data: Path) -> Published:
    return analyse(shared_data / "dl2-logs")


def test_table_3_epoch_times(published: Published) -> None:
    seconds = {run.variant: round(run.seconds) for run in published.epoch_times}
    assert seconds == {"raw": 516, "jpeg85": 265, "jpeg75": 214, "jpeg50": 201, "jpeg25": 190, "jpeg10": 186}


def test_figure_7a_best_accuracy_in_five_hours(published: Published) -> None:
    reached = {run.variant: (round(run.top1, 2), run.num_epochs) for run in published.budgets}
    assert reached == {
        "raw": (49.84, 34),
        "jpeg85": (52.87, 67),
        "jpeg75": (54.04, 84),
        "jpeg50": (54.18, 89),
        "jpeg25": (53.41, 94),
        "jpeg10": (52.12, 96),
    }


def test_figure_9_regimens(published: Published) -> None:
    reached = {run.stages: (round(run.top1, 2), round(run.mean_gib, 1)) for run in published.regimens}
    assert reached == {"jpeg10 45, raw 45": (75.94, 80.1), "jpeg10 80, raw 10": (74.19, 29.1)}


def test_figure_10_cache_and_compression(published: Published) -> None:
    rates = {(run.disk, run.variant, run.loader): round(run.images_per_second) for run in published.caches}
    order = [("raw", "pytorch"), ("raw", "minio"), ("jpeg85", "pytorch"), ("jpeg85", "minio")]
    assert [rates["hdd", variant, loader] for variant, loader in order] == [139, 262, 388, 1174]
    assert [rates["ssd", variant, loader] for variant, loader in order] == [2623, 2608, 3124, 3193]


def line(step: list[object], **data: object) -> str:
    return "DLLL " + json.dumps({"type": "LOG", "step": step, "data": data})


def write_run(folder: Path, name: str, top1: list[float], seconds: float = 100.0) -> None:
    lines = [line(["P"], arch="resnet50", data="data/raw")]
    for epoch, value in enumerate(top1):
        lines += [line(["E", epoch], **{"v.top1": value}), line(["E", epoch], **{"e.total_time": f"{seconds} s"})]
    lines.append(line(["S"], **{"v.top1": max(top1)}))
    (folder / name).mkdir(parents=True)
    (folder / name / "experiment_report.json").write_text("\n".join(lines) + "\n")


def test_figure_8_from_lines_made_of_its_answers(tmp_path: Path) -> None:
    subsampled = {50: 70.82, 40: 68.56, 30: 63.91, 20: 59.13, 10: 44.37}
    compressed = {85: 76.78, 75: 76.07, 50: 75.57, 25: 75.32, 10: 73.48}
    for percent, top1 in subsampled.items():
        write_run(tmp_path, f"space-inet-r50-raw{percent}-mem", [1.0, top1])
    for quality, top1 in compressed.items():
        write_run(tmp_path, f"acc-inet-r50-jpeg{quality}-mem", [1.0, top1])
    gaps = [round(row.compressed_top1 - row.subsampled_top1, 2) for row in analyse(tmp_path).storage]
    assert gaps == [5.96, 7.51, 11.66, 16.19, 29.11]


def test_other_models_and_budgets_of_the_layout_are_read(tmp_path: Path) -> None:
    write_run(tmp_path, "time-p365-vgg16-webp50-hdd-12h", [10.0, 30.0, 20.0])
    (row,) = analyse(tmp_path).budgets
    assert (row.data, row.model, row.variant, row.hours, row.num_epochs, row.top1) == (
        "p365",
        "vgg16",
        "webp50",
        12,
        3,
        30.0,
    )


def test_runs_of_other_names_are_listed_not_lost(tmp_path: Path) -> None:
    write_run(tmp_path, "my own run", [1.0])
    assert analyse(tmp_path).unknown == ("my own run",)


def test_a_run_that_was_killed_is_read_up_to_its_last_line(tmp_path: Path) -> None:
    write_run(tmp_path, "inet-alex-raw-ssd-w4", [1.0, 2.0, 3.0], seconds=50.0)
    path = tmp_path / "inet-alex-raw-ssd-w4" / "experiment_report.json"
    path.write_bytes(path.read_bytes()[:-25])
    assert analyse(tmp_path).epoch_times[0].seconds == 50.0


def test_what_is_no_report_is_refused_by_line(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match=r"line 2 of a\.json"):
        read_report(line(["P"], arch="x").encode() + b"\nnot a line\nDLLL {}\n", "a.json")
    with pytest.raises(ArgumentError, match="no DLLogger report"):
        analyse(tmp_path)


def test_a_budget_counts_whole_epochs_and_their_best(tmp_path: Path) -> None:
    write_run(tmp_path, "inet-alex-raw-ssd-w4", [10.0, 30.0, 20.0, 40.0])
    report = read_report((tmp_path / "inet-alex-raw-ssd-w4" / "experiment_report.json").read_bytes(), "a")
    assert representative_seconds(report.epochs) == 100.0
    assert best_top1_within(report.epochs, 399.0, 100.0) == 30.0
    assert best_top1_within(report.epochs, 99.0, 100.0) is None
    assert fits_storage({"raw": 9.0}, 5.0) is None
