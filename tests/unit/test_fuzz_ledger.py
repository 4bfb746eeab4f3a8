"""Fuzzing time is CPU time, it adds up over recorded lines, and it counts only for the sources that were fuzzed."""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from fuzz import ledger, run
from fuzz.ledger import Entry
from fuzz.processes import Report, run_process
from fuzz.sources import covered_files, sources_hash
from fuzz.targets import SANITIZERS, all_targets
from tests.import_graph import ROOT

ENTRY = Entry("png", "address", 200.0, 900.0, 1000, 0, 60, 75, "aaaa", "0123456789ab", "2026-01-01T00:00:00+00:00", "x")

FUZZER = """
import os, signal, sys, time
asked = []
signal.signal(signal.SIGUSR1, lambda *_: asked.append(1))
runs = 0
while not asked or "--deaf" in sys.argv:
    runs += 1
print(f"#{runs}\\tDONE   cov: 12", flush=True)
"""

CRASH = """
import sys
(prefix,) = [word.partition("=")[2] for word in sys.argv if word.startswith("-artifact_prefix=")]
open(prefix + "crash-1", "w").close()
sys.exit(77)
"""


def test_time_adds_up_over_the_lines_of_the_same_sources(tmp_path: Path) -> None:
    record = tmp_path / "results.jsonl"
    lines = [
        ENTRY,
        ENTRY,
        replace(ENTRY, sources="bbbb"),
        replace(ENTRY, sanitizer="memory"),
        replace(ENTRY, target="bmp"),
    ]
    for line in lines:
        ledger.append(line, record)

    assert ledger.read(record) == lines
    found = ledger.total(ledger.read(record), "png", "address", "aaaa")
    assert (found.cpu_seconds, found.runs, found.earlier_cpu_seconds) == (400.0, 2000, 200.0)
    assert found.is_complete(400)
    assert not found.is_complete(401)


def test_a_finding_on_the_current_sources_is_never_complete() -> None:
    found = ledger.total([ENTRY, replace(ENTRY, findings=1)], "png", "address", "aaaa")
    assert not found.is_complete(100)
    assert ledger.total([ENTRY, replace(ENTRY, findings=1, sources="bbbb")], "png", "address", "aaaa").is_complete(100)


def test_the_status_names_what_is_complete_and_what_is_not() -> None:
    entries = [ENTRY, replace(ENTRY, target="bmp", findings=1, cpu_seconds=700)]
    found = ledger.totals(entries, [("png", "address"), ("png", "memory"), ("bmp", "address")], lambda _: "aaaa")

    lines = ledger.format_totals(found, 200).splitlines()
    assert [line.split()[0] for line in lines[1:4]] == ["png", "png", "bmp"]
    assert lines[1].endswith("complete")
    assert lines[2].endswith("needs 200 s more")
    assert lines[3].endswith("found something")
    assert lines[4].startswith("1 of 3 ")


def test_the_committed_record_can_be_read_and_names_known_targets() -> None:
    known = {(target, sanitizer) for sanitizer in SANITIZERS for target in all_targets(sanitizer)}
    assert {(entry.target, entry.sanitizer) for entry in ledger.read()} <= known
    assert all(entry.cpu_seconds > 0 and entry.runs > 0 for entry in ledger.read())


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what targets are built from."""
    tmp_path = tmp_path_factory.mktemp("sources")
    for folder in ("native", "fuzz", "src/penstock"):
        shutil.copytree(
            ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("corpus", "*.so", "__pycache__")
        )
    return tmp_path


@pytest.mark.parametrize(
    ("file", "changed", "same"),
    [
        (
            "native/codecs/sluice_symbols.cpp",
            {"sluice", "sluice_tile", "sluice_round_trip"},
            {"png", "weir", "metadata", "tar"},
        ),
        (
            "native/codecs/jpeg_back_avx2.cpp",
            {"jpeg", "pjpeg", "sluice", "transcode", "restore"},
            {"png", "webp", "index"},
        ),
        ("native/codecs/weir_decode_neon.cpp", {"weir", "weir_tile", "weir_header", "weir_round_trip"}, {"l3", "bmp"}),
        ("native/codecs/png_unfilter_wide.h", {"png", "png_round_trip"}, {"webp", "raw"}),
        ("native/codecs/webp_embed.cpp", {"webp", "metadata"}, {"pnm"}),
        ("native/base/crc32c.cpp", {"png", "bmp", "sluice", "metadata"}, {"manifest"}),
        ("native/engine/pieces.cpp", {"dataset"}, {"index", "jpeg"}),
        ("fuzz/decode.cpp", {"png", "webp", "jpeg"}, {"weir_tile", "restore", "tar"}),
        ("fuzz/round_trip.cpp", {"png_round_trip", "l3_round_trip"}, {"png", "sluice_round_trip"}),
        ("src/penstock/records/manifest.py", {"manifest", "index", "dataset"}, {"tar", "png"}),
        ("src/penstock/sources/tar.py", {"tar", "pcr"}, {"documents"}),
        ("src/penstock/codecs/tiff.py", {"tiff"}, {"dataset"}),
        ("fuzz/python/harness.py", {"documents", "dataset"}, {"png"}),
    ],
)
def test_a_change_resets_the_targets_that_cover_the_file_alone(
    sources: Path, file: str, changed: set[str], same: set[str]
) -> None:
    before = {target: sources_hash(target, sources) for target in changed | same}
    with (sources / file).open("a") as out:
        out.write("\n")
    after = {target: sources_hash(target, sources) for target in changed | same}

    assert {target for target in before if before[target] != after[target]} == changed


@pytest.mark.parametrize("target", all_targets())
def test_every_target_covers_its_own_program_and_some_of_the_product(target: str) -> None:
    files = {str(file.relative_to(ROOT)) for file in covered_files(target)}
    assert any(file.startswith("fuzz/") and file.endswith((".cpp", ".py")) for file in files)
    assert any(file.startswith(("native/codecs/", "src/penstock/")) for file in files)


def test_a_process_ends_by_its_cpu_time_and_says_what_it_used(tmp_path: Path) -> None:
    report = run_process([sys.executable, "-c", FUZZER], os.environ, tmp_path, cpu_seconds=0.5)

    assert report.code == 0
    assert report.runs > 0
    assert 0.5 <= report.cpu_seconds <= report.wall_seconds + 0.1


def test_a_process_that_does_not_listen_is_killed(tmp_path: Path) -> None:
    report = run_process([sys.executable, "-c", FUZZER, "--deaf"], os.environ, tmp_path, 0.2, grace_seconds=0.2)
    assert report.code == -9


@pytest.mark.parametrize(("code", "cpu_seconds", "expected"), [(0, 0.3, False), (0, 10.5, True), (77, 0.3, True)])
def test_a_slow_input_is_a_hang_if_it_fails_alone_or_takes_cpu_time(
    code: int, cpu_seconds: float, expected: bool
) -> None:
    assert run.hangs(Path("slow-unit-x"), lambda _: Report(code, "", cpu_seconds, 100.0)) is expected


@pytest.fixture
def target_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("LEARNED", "FINDINGS", "KEPT", "SEEDS"):
        monkeypatch.setattr(run, name, tmp_path / name)
    return tmp_path


def test_a_recorded_run_adds_what_is_lacking(target_folders: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "command_of", lambda *_: [sys.executable, "-c", FUZZER])
    monkeypatch.setattr(run, "RECORDED_SECONDS", 0.4)
    record = target_folders / "results.jsonl"
    circumstances = run.Circumstances("0123456789ab", "x", "aaaa")
    ledger.append(replace(ENTRY, cpu_seconds=0.3), record)

    assert run.run_recorded("png", run.Session(1.0, "address", record), circumstances) == []
    added = ledger.read(record)[1:]
    assert all(entry.runs > 0 and entry.findings == 0 and entry.sources == "aaaa" for entry in added)
    assert sum(entry.cpu_seconds for entry in added) >= 0.69

    assert run.run_recorded("png", run.Session(1.0, "address", record), circumstances) == []
    assert len(ledger.read(record)) == 1 + len(added), "a target with enough seconds does not run again"


def test_a_recorded_run_ends_with_its_finding(target_folders: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "command_of", lambda *_: [sys.executable, "-c", CRASH])
    record = target_folders / "results.jsonl"

    found = run.run_recorded("png", run.Session(50, "address", record), run.Circumstances("0", "x", "aaaa"))
    assert [file.name for file in found] == ["crash-1"]
    (entry,) = ledger.read(record)
    assert entry.findings == 1
