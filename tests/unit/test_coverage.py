"""`make coverage` judges what gcov counted, and its extension is the one that the tests import."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from scripts import coverage
from tests.import_graph import ROOT


def test_a_folder_below_its_goal_fails(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    counts = {"native/codecs/a.cpp": {line: int(line > 2) for line in range(20)}}
    monkeypatch.setattr(coverage, "count_lines", lambda: counts)

    assert coverage.main(["--report-only", "--missing", "native/codecs"]) == 1
    printed = capsys.readouterr().out
    assert "  85.0 %      17 of     20 lines  native/codecs" in printed
    assert "native/codecs/a.cpp: 0-2" in printed


def test_a_folder_at_its_goal_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = {"native/codecs/a.cpp": {line: int(line > 1) for line in range(20)}}
    monkeypatch.setattr(coverage, "count_lines", lambda: counts)

    assert coverage.main(["--report-only"]) == 0


def test_the_plugin_answers_for_the_extension_alone(tmp_path: Path) -> None:
    program = (
        "from scripts.coverage_plugin import CountingExtension as finder\n"
        "print(finder.find_spec('penstock._native').origin)\n"
        "assert finder.find_spec('penstock') is None\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT)

    assert done.stdout.strip() == str(coverage.extension())
