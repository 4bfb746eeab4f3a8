"""`penstock plan`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from penstock.profile import write_profile
from tests.unit.plan.conftest import make_profile

if TYPE_CHECKING:
    from tests.unit.cli.conftest import Call

FORMATS = {"png": (1.0, 20.0), "raw": (3.0, 0.5)}


@pytest.fixture
def profile(tmp_path: Path) -> Path:
    path = tmp_path / "profile.json"
    path.write_bytes(write_profile(make_profile(FORMATS, source="png", disk=150e6)))
    return path


def test_the_mix_and_its_reasons_are_shown(shell: Call, profile: Path, tmp_path: Path) -> None:
    answer = shell("plan", str(profile), "--memory", "0", "--out", str(tmp_path / "plan.json"))

    assert answer.status == 0
    assert "folder as it is" in answer.stdout
    assert "both finish at the same time" in answer.stdout
    assert (tmp_path / "plan.json").exists()


def test_another_machine_can_be_asked_for(shell: Call, profile: Path, tmp_path: Path) -> None:
    out = str(tmp_path / "plan.json")
    slow = shell("plan", str(profile), "--memory", "0", "--disk", "10MB/s", "--out", out, "--json").json
    fast = shell("plan", str(profile), "--memory", "0", "--disk", "90GB/s", "--out", out, "--json").json

    assert slow["mix"] == {"png": 1.0}
    assert fast["mix"] == {"raw": 1.0}


def test_wrong_arguments_are_named(shell: Call, profile: Path, tmp_path: Path) -> None:
    assert shell("plan", str(profile), "--disk", "fast").status == 2
    assert shell("plan", str(profile), "--lossless", "--min-ms-ssim", "0.9").status == 2
    (tmp_path / "broken.json").write_text("{}")
    broken = shell("plan", str(tmp_path / "broken.json"))
    assert broken.status in (1, 2)
    assert "broken.json" in broken.stderr
