"""Rivals exist once, stand alone, and do in a benchmark what they do in the lab."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.lab.loaders.table import RIVALS
from penstock.synth import Scenes, write

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "src" / "penstock" / "lab" / "rivals"

WITHOUT_PENSTOCK = """
import importlib.abc, runpy, sys

class Refuse(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "penstock":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Refuse())
sys.argv = sys.argv[1:]
runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
"""


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.py")), ids=lambda path: path.stem)
def test_a_rival_imports_nothing_of_penstock(path: Path) -> None:
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    absolute = [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom) and node.level == 0]
    absolute += [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    assert not [name for name in absolute if name.partition(".")[0] == "penstock"]
    assert all(node.level <= 1 for node in nodes if isinstance(node, ast.ImportFrom))


def test_every_rival_of_the_lab_has_its_module() -> None:
    assert all((FOLDER / f"{module}.py").exists() for module, _ in RIVALS.values())


@pytest.mark.parametrize("job", ["train224", "full"])
def test_a_rival_runs_where_penstock_is_not_installed(tmp_path: Path, job: str) -> None:
    write(tmp_path / "images", images=6, scenes=Scenes(width=64, height=48))
    command = [sys.executable, "-c", WITHOUT_PENSTOCK, "bench.contenders.rival", "torch_dataloader", "--job", job]
    command += ["--source", str(tmp_path / "images"), "--batch-size", "4", "--threads", "1"]
    done = subprocess.run(command, cwd=ROOT, input="epoch\nepoch\n", capture_output=True, text=True, check=True)
    ready, first, second = map(json.loads, done.stdout.splitlines())
    assert ready["antialias"] is True
    assert 0 < ready["level"] < 255
    assert first["num_images"] == second["num_images"] == 6
