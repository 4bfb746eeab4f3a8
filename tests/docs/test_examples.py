"""The examples of README and guide run as they stand.

Blocks marked `python` run in order, in one namespace per page. In blocks marked `console`, lines after `$` are run by
the shell, and what follows them, if anything, is what they print; `…` stands for anything. Blocks marked `sh` are for
people: they change the machine.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path

import pytest

from scripts.docs import pages, rewritten
from tests.import_graph import ROOT

PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs" / "guide").glob("*.md")),
    *sorted((ROOT / "docs" / "extending").glob("*.md")),
]
NAMES = [str(page.relative_to(ROOT)) for page in PAGES]
LANGUAGES = {"", "python", "console", "sh", "toml", "mermaid"}


@dataclass(frozen=True)
class Block:
    language: str
    text: str
    line: int


def blocks_of(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    found = re.finditer(r"^( *)```(\w*)\n(.*?)^ *```$", text, flags=re.DOTALL | re.MULTILINE)
    return [Block(match[2], textwrap.dedent(match[3]), text.count("\n", 0, match.start()) + 2) for match in found]


def matches(expected: str, printed: str) -> bool:
    """Whether a command printed what the page shows.

    >>> matches("decoded … images", "decoded 12 images"), matches("a", "b")
    (True, False)
    """
    pattern = ".*".join(map(re.escape, re.split(r"\s*…\s*", expected.strip())))
    return re.fullmatch(pattern, printed.strip(), flags=re.DOTALL) is not None


def run_python(page: Path, block: Block, namespace: dict[str, object]) -> None:
    padded = "\n" * (block.line - 1) + block.text  # so that a traceback shows the page's line
    exec(compile(padded, str(page), "exec", dont_inherit=True), namespace)  # as a script of its own would


def run_console(block: Block, folder: Path) -> None:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    for command, expected in re.findall(r"^\$ (.*(?:\\\n.*)*)\n((?:(?!\$ ).*\n?)*)", block.text, flags=re.MULTILINE):
        done = subprocess.run(
            ["bash", "-c", command], cwd=folder, env={**os.environ, "PATH": path}, capture_output=True, text=True
        )
        assert done.returncode == 0, f"line {block.line}: {command}\n{done.stderr}"
        if expected.strip():
            assert matches(expected, done.stdout), f"line {block.line}: {command} printed\n{done.stdout}"


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_examples_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {"__name__": "example"}
    for block in blocks_of(page):
        assert block.language in LANGUAGES, f"{page.name}, line {block.line}: '{block.language}' is not known here"
        if block.language == "python":
            run_python(page, block, namespace)
        elif block.language == "console":
            run_console(block, tmp_path)


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)
def test_what_is_made_from_code_is_up_to_date(page: Path) -> None:
    assert page.read_text(encoding="utf-8") == rewritten(page), "run `make docs` (python -m scripts.docs)"
