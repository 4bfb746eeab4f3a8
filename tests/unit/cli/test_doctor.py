"""`penstock doctor` from a training command to a page about it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from penstock.documents import Document
from penstock.synth import Scenes, write

if TYPE_CHECKING:
    from tests.unit.cli.conftest import Call

pytest.importorskip("torch", reason="the watched program uses torch's DataLoader")

PROGRAM = """
import time
from torch.utils.data import DataLoader, Dataset, Subset

class Photos(Dataset):
    def __init__(self):
        self.samples = [({first!r}, 0), ({last!r}, 1)] * 8
    def __len__(self):
        return 16
    def __getitem__(self, index):
        time.sleep(0.01)
        return index

for batch in DataLoader(Subset(Photos(), range(16)), batch_size=4):
    pass
"""


@pytest.mark.long
def test_the_command_finds_the_data_and_writes_a_page(tmp_path: Path, shell: Call) -> None:
    photos = tmp_path / "photos"
    write(photos, images=12, scenes=Scenes(width=64, height=64, classes=2))
    files = sorted(photos.rglob("*.png"))
    program = tmp_path / "train.py"
    program.write_text(PROGRAM.format(first=str(files[0]), last=str(files[-1])))
    page = tmp_path / "doctor.html"
    words = ["doctor", "--transform", "none", "--report", str(page), "--json", "--", sys.executable, str(program)]
    found = Document(json.loads(shell(*words).stdout), "doctor")
    assert list(found.child("observed").values("roots")) == [str(photos)]
    assert found.child("penstock").number("gain") > 1
    assert any("memory" in str(sentence) for sentence in found.values("flow_chart"))
    assert set(found.child("triangle").members) == {"compute", "decode", "storage"}
    assert "<polygon" in page.read_text()


@pytest.mark.parametrize("wrong", [("--data", "missing"), ("--report", "missing/page.html"), ("--report", ".")])
def test_a_wrong_path_is_told_before_the_command_runs(tmp_path: Path, cli: Call, wrong: tuple[str, str]) -> None:
    ran = tmp_path / "ran"
    answer = cli("doctor", wrong[0], tmp_path / wrong[1], "--", "touch", ran)
    assert answer.status == 2
    assert f"where: {wrong[0]}" in answer.stderr
    assert not ran.exists()
