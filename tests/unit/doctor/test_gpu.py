"""GPUs are sampled while a command runs, and their absence is said."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from penstock.doctor import diagnose_run, watch_command

FAKE = """#!/bin/sh
while true; do echo 90; echo 70; sleep 0.05; done
"""


def test_what_nvidia_smi_says_becomes_a_share(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "nvidia-smi"
    program.write_text(FAKE)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    _, observed = watch_command([sys.executable, "-c", "import time; time.sleep(0.2)"])
    assert observed.gpu_share == pytest.approx(0.8, abs=0.05)
    assert diagnose_run(observed).gpu_share == observed.gpu_share


def test_a_machine_without_gpus_has_no_share(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.doctor.gpu.shutil.which", lambda name: None)
    _, observed = watch_command([sys.executable, "-c", "pass"])
    assert observed.gpu_share is None
