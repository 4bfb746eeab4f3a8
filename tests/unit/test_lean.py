"""Loading needs NumPy and pyarrow alone; the tools are loaded by the commands that need them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.build import build
from penstock.synth import Scenes, write
from penstock.tools import TOOLS, import_tool

HEAVY = [*TOOLS, "torch", "jax", "PIL", "tensorflow"]

BLOCK = """
import importlib.abc, json, sys

class Refuse(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in BLOCKED:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Refuse())
"""

LOAD = """
import penstock
with penstock.Loader(sys.argv[1], batch_size=4, seed=0, memory="256MiB", cache="rolling") as loader:
    count = sum(len(batch["id"]) for epoch in range(2) for batch in loader)
    bottleneck = loader.stats()["bottleneck"]
print(json.dumps([count, bottleneck, sorted({name.partition(".")[0] for name in sys.modules})]))
"""


def python(code: str, *arguments: str, blocked: list[str]) -> subprocess.CompletedProcess[str]:
    program = f"BLOCKED = {blocked!r}\n{BLOCK}{code}"
    return subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lean") / "photos"
    write(folder, images=8, scenes=Scenes(width=32, height=24, classes=2))
    return folder


@pytest.mark.parametrize("blocked", [HEAVY, []], ids=["absent", "installed"])
@pytest.mark.parametrize("is_built", [False, True], ids=["folder", "dataset"])
def test_the_loader_needs_none_of_the_tools(photos: Path, tmp_path: Path, is_built: bool, blocked: list[str]) -> None:
    place = photos
    if is_built:
        place = tmp_path / "photos.pen"
        build(photos, place, mix="png=1", durable=False)
    done = python(LOAD, str(place), blocked=blocked)
    assert done.returncode == 0, done.stderr
    count, bottleneck, loaded = json.loads(done.stdout)
    assert count == 16
    assert bottleneck in ("storage", "decode", "compute")
    assert not set(HEAVY) & set(loaded)


@pytest.mark.parametrize("tool", ["typer", "rich"])
def test_the_command_line_says_how_to_install_what_it_lacks(tool: str) -> None:
    done = python("sys.argv[0] = 'penstock'\nfrom penstock.cli import main\nmain()", "info", blocked=[tool])
    assert done.returncode == 1
    assert f"error: {tool} is not installed" in done.stderr
    assert f"pip install {tool}" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(("tool", "module"), [("scipy", "scipy.optimize"), ("jinja2", "jinja2")])
def test_a_function_says_how_to_install_what_it_lacks(tool: str, module: str) -> None:
    done = python(f"from penstock.tools import import_tool\nimport_tool({module!r})", blocked=[tool])
    assert f"PenstockError: {tool} is not installed" in done.stderr
    assert f"fix:   pip install {tool}" in done.stderr


def test_a_module_that_is_no_tool_is_missing_as_usual() -> None:
    with pytest.raises(ModuleNotFoundError, match="no_such_module_here"):
        import_tool("no_such_module_here")
