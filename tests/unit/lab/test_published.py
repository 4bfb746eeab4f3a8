"""The published logs give the published numbers."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path

import pytest

from penstock.cli.run import run
from penstock.errors import ArgumentError
from penstock.lab import Published, analyse, read_report
from penstock.lab.training_epochs import best_top1_within, fits_storage, representative_seconds


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
    reached = {run.stages: (round(run.top1, 2), round(run.mean_gib or 0, 1)) for run in published.regimens}
    assert reached == {"jpeg10 45, raw 45": (75.94, 80.1), "jpeg10 80, raw 10": (74.19, 29.1)}


def test_figure_10_cache_and_compression(published: Published) -> None:
    rates = {(run.disk, run.variant, run.loader): round(run.images_per_second or 0) for run in published.caches}
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


class TestTheWholeRepository:
    """Runs of the other experiments, named and laid out as their authors have them."""

    def test_rates_count_what_the_published_figures_count(self, tmp_path: Path) -> None:
        write_run(tmp_path, "alex-raw-hdd-w40", [1.0, 2.0, 3.0], seconds=6590.0)
        write_run(tmp_path, "alex-raw-synth", [1.0, 2.0, 3.0], seconds=156.46)
        rates = {(run.model, run.disk, run.workers): round(run.images_per_second) for run in analyse(tmp_path).rates}
        assert rates == {("alex", "hdd", 40): 202, ("alex", "none", 0): 8508}  # of Fig 3b

    def test_a_loader_alone_is_counted_without_validation(self, tmp_path: Path) -> None:
        write_plain(tmp_path, "standalone-raw-ssd-dalic", data_times=[[9.0]], epoch_times=[900.0, 690.0, 689.0])
        (run,) = analyse(tmp_path).rates
        assert (run.model, run.variant, run.disk, round(run.images_per_second)) == ("", "raw", "ssd", 1858)

    def test_what_an_epoch_reads_under_a_limit_of_memory(self, tmp_path: Path) -> None:
        """A warm-up of 7 GiB, then two epochs of 3 and 5; what comes after the last does not count."""
        write_run(tmp_path, "io-64G-pytorch", [1.0, 2.0, 3.0])
        path = tmp_path / "io-64G-pytorch" / "experiment_report.json"
        dated = []
        for row in path.read_text().splitlines():
            entry = json.loads(row.removeprefix("DLLL "))
            minute = entry["step"][1] + 1 if entry["step"][0] == "E" else 0
            dated.append("DLLL " + json.dumps({**entry, "datetime": f"2021-09-06 06:0{minute}:00.250000"}))
        path.write_text("\n".join(dated) + "\n")
        samples = [
            {"timestamp": f"09/06/21 06:0{minute}:30", "disk": [{"disk_device": "sda4", "kB_read": gib * 2**20}]}
            for minute, gib in enumerate((7, 3, 5, 100))
        ]
        iostat = {"sysstat": {"hosts": [{"nodename": "x", "statistics": samples}]}}
        (path.parent / "iostat.json").write_text(json.dumps(iostat))
        (run,) = analyse(tmp_path).thrashing
        assert (run.loader, run.memory_gib, run.read_gib) == ("pytorch", 64, 4.0)
        assert "Thrashing (Fig 2)" in imported(tmp_path, tmp_path)
        (path.parent / "iostat.json").unlink()
        with pytest.raises(ArgumentError, match=r"iostat\.json"):
            analyse(tmp_path)

    def test_accuracy_per_quality(self, tmp_path: Path) -> None:
        write_run(tmp_path, "acc-p365-r50-jpeg05-mem", [50.0, 53.55, 53.0])
        (run,) = analyse(tmp_path).accuracies
        assert (run.data, run.model, run.variant, run.num_epochs, run.top1) == ("p365", "r50", "jpeg05", 3, 53.55)

    def test_codecs_are_told_with_their_defect(self, tmp_path: Path) -> None:
        logs = tmp_path / "logs"
        write_plain(logs, "enc-mp-jpeg-85", total_time=4.2, enc_times=[0.02, 0.03, 0.01], bpp=[1.5, 2.0, 1.0])
        write_plain(logs, "dec-dl-mbt2018_mean-mse-4", total_time=1871.0, batch_times=[30.0, 40.0])
        found = {(run.codec, run.way): run for run in analyse(logs).codings}
        encoded = found["jpeg-85", "encode"]
        assert (encoded.num_images, encoded.median_ms, encoded.bits_per_pixel) == (3, 20.0, 1.5)
        assert found["mbt2018_mean-mse-4", "decode"].is_batched
        assert "decoded no pixel" in imported(logs, tmp_path)

    def test_qualities_of_one_digit_have_their_size(self, tmp_path: Path) -> None:
        write_run(tmp_path, "p365-r50-05:80_raw:10-mem", [1.0, 53.0])
        write_run(tmp_path, "space-p365-r50-raw20-mem", [1.0, 40.0])
        write_run(tmp_path, "acc-p365-r50-jpeg05-mem", [1.0, 53.55])
        found = analyse(tmp_path)
        assert found.regimens[0].mean_gib == pytest.approx((80 * 21.8 + 10 * 109.2) / 90)
        assert [(run.variant, run.compressed_top1, run.subsampled_top1) for run in found.storage] == [
            ("jpeg5", 53.55, 40.0)
        ]


def write_plain(folder: Path, name: str, **members: object) -> None:
    (folder / name).mkdir(parents=True)
    (folder / name / "experiment_report.json").write_text(json.dumps({"dataset": "data/raw", **members}, indent=4))


def test_data_of_others_is_told_as_far_as_it_is_known(tmp_path: Path) -> None:
    write_run(tmp_path, "cars-resnet50-hdd-raw-minio", [1.0, 2.0], seconds=50.0)
    write_run(tmp_path, "cars-resnet50-webp50:3_jpeg25:2_raw:1-mem", [1.0, 61.5])
    write_run(tmp_path, "space-cars-resnet50-raw50-mem", [1.0, 40.0])
    write_run(tmp_path, "time-cars-efficientnet-b0-raw-hdd-2.5h", [1.0, 40.0])
    found = analyse(tmp_path)
    assert (found.caches[0].images_per_second, found.caches[0].seconds) == (None, 50.0)
    assert (found.regimens[0].stages, found.regimens[0].mean_gib) == ("webp50 3, jpeg25 2, raw 1", None)
    assert (found.budgets[0].model, found.budgets[0].hours) == ("efficientnet-b0", 2.5)
    assert (found.storage, found.unknown, found.unread) == ((), (), ())
    imported(tmp_path, tmp_path)


def test_one_damaged_run_does_not_hide_the_others(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    write_run(logs, "inet-alex-raw-ssd-w40", [1.0, 2.0], seconds=516.0)
    write_run(logs, "inet-alex-jpeg85-ssd-w40", [1.0])  # killed in its second epoch
    write_run(logs, "time-inet-alex-raw-ssd-5h", [1.0, 2.0])
    (logs / "time-inet-alex-raw-ssd-5h" / "experiment_report.json").write_bytes(b"\x00\xff\nDLLL {}\n")
    found = analyse(logs)
    assert [run.variant for run in found.epoch_times] == ["raw"]
    assert [reason.partition(":")[0] for reason in found.unread] == [
        "time-inet-alex-raw-ssd-5h",
        "inet-alex-jpeg85-ssd-w40",
    ]
    assert "Runs that could not be read" in imported(logs, tmp_path)


def test_damaged_runs_alone_are_refused(tmp_path: Path) -> None:
    (tmp_path / "acc-inet-r50-raw-mem").mkdir()
    (tmp_path / "acc-inet-r50-raw-mem" / "experiment_report.json").write_text('{"half": ')
    with pytest.raises(ArgumentError, match="neither DLLogger's nor JSON"):
        analyse(tmp_path)


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


class TestPage:
    """`lab import LOGDIR --report PAGE`: the page says what the logs say, to the printed digit."""

    def test_of_the_excerpt_has_the_published_numbers_and_figures(self, shared_data: Path, tmp_path: Path) -> None:
        page = imported(shared_data / "dl2-logs", tmp_path)
        tables = tables_of(page)
        assert page.count("<svg") == 5
        assert [row[-2] for row in tables["Epoch times (Table III)"]] == ["186", "190", "201", "214", "265", "516"]
        assert tables["inet alex on ssd, 5 h (Fig 7)"] == [
            ["jpeg10", "96", "52.12"],
            ["jpeg25", "94", "53.41"],
            ["jpeg50", "89", "54.18"],
            ["jpeg75", "84", "54.04"],
            ["jpeg85", "67", "52.87"],
            ["raw", "34", "49.84"],
        ]
        assert [row[2:] for row in tables["Regimens (Fig 9)"]] == [["75.94", "80.1"], ["74.19", "29.1"]]
        rates = {tuple(row[1:4]): row[5] for row in tables["Cache and compression (Fig 10)"]}
        order = [("raw", "pytorch"), ("raw", "minio"), ("jpeg85", "pytorch"), ("jpeg85", "minio")]
        assert [rates[("hdd", *way)] for way in order] == ["139", "262", "388", "1,174"]
        assert [rates[("ssd", *way)] for way in order] == ["2,623", "2,608", "3,124", "3,193"]

    def test_of_another_model_and_budget_has_their_numbers(self, tmp_path: Path) -> None:
        logs = tmp_path / "logs"
        for variant, seconds, top1 in (("raw", 400.0, [11.0, 22.25]), ("webp50", 90.0, [10.0, 31.125, 30.0])):
            write_run(logs, f"p365-vgg16-{variant}-hdd-w8", [1.0, 2.0, 3.0], seconds)
            write_run(logs, f"time-p365-vgg16-{variant}-hdd-12h", top1, seconds)
        page = imported(logs, tmp_path)
        tables = tables_of(page)
        assert page.count("<svg") == 3
        assert [row[3:5] for row in tables["Epoch times (Table III)"]] == [["raw", "400"], ["webp50", "90"]]
        assert tables["p365 vgg16 on hdd, 12 h (Fig 7)"] == [["raw", "2", "22.25"], ["webp50", "3", "31.12"]]
        assert "webp50 reached most: 31.12 %." in page

    def test_of_compressed_and_fewer_has_their_gap(self, tmp_path: Path) -> None:
        logs = tmp_path / "logs"
        write_run(logs, "space-inet-r18-raw10-mem", [1.0, 40.5])
        write_run(logs, "acc-inet-r18-jpeg10-mem", [1.0, 66.98])
        assert tables_of(imported(logs, tmp_path))["Compress or subsample (Fig 8)"] == [
            ["inet r18", "10 %", "jpeg10", "66.98", "40.50", "26.48"]
        ]

    def test_curves_go_over_the_time_of_table_3(self, tmp_path: Path) -> None:
        write_run(tmp_path, "inet-alex-raw-ssd-w40", [1.0, 2.0], seconds=360.0)
        write_run(tmp_path, "time-inet-alex-raw-ssd-5h", [10.0, 20.0], seconds=7.0)
        (row,) = analyse(tmp_path).budgets
        assert row.curve == ((0.1, 10.0), (0.2, 20.0))


def imported(logs: Path, folder: Path) -> str:
    """The page that the command writes."""
    page = folder / "page.html"
    with pytest.raises(SystemExit) as ended:
        run(["lab", "import", str(logs), "--report", str(page), "--json"])
    assert ended.value.code == 0
    return page.read_text(encoding="utf-8")


def tables_of(page: str) -> dict[str, list[list[str]]]:
    """Rows of each table by the title above it, as a reader sees them."""
    found = {}
    for part in page.split("<h2")[1:]:
        title = text_of(part.partition(">")[2].partition("</h2>")[0])
        rows = re.findall(r"<tr>(.*?)</tr>", part, re.DOTALL)
        cells = [[text_of(cell) for cell in re.findall(r"<td[^>]*>(.*?)</td>", row, re.DOTALL)] for row in rows]
        found[title] = [row for row in cells if row]
    return found


def text_of(markup: str) -> str:
    return unescape(re.sub(r"<[^>]+>", "", markup)).strip()
