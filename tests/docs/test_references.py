"""What the pages point to exists: links, files and folders, make's targets, the layers."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.import_graph import ROOT, modules

PAGES = [
    *ROOT.glob("*.md"),
    *sorted(path for folder in ("docs", "spec", "bench") for path in (ROOT / folder).rglob("*.md")),
]
NAMES = [str(page.relative_to(ROOT)) for page in PAGES]
FOLDERS = ("src", "native", "tests", "scripts", "requirements", "bench", "spec", "docs", "fuzz", "examples")


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_links_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)\s#]+)[^)]*\)", page.read_text(encoding="utf-8"))
    broken = [link for link in links if "://" not in link and not (page.parent / link).exists()]
    assert broken == []


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_named_files_exist(page: Path) -> None:
    named = re.findall(rf"`((?:{'|'.join(FOLDERS)})/[\w./*-]*)`", page.read_text(encoding="utf-8"))
    assert [name for name in named if not any(ROOT.glob(name.rstrip("/")))] == []


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_named_targets_of_make_exist(page: Path) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, flags=re.MULTILINE))
    named = set(re.findall(r"(?:^|`)make ([a-z-]+)", page.read_text(encoding="utf-8"), flags=re.MULTILINE))
    assert named <= targets


def test_architecture_names_every_folder_of_the_package() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    folders = {name.split(".")[1] for name in modules() if name.count(".") >= 1} - {"__main__"}
    assert {folder for folder in folders if not re.search(rf"\b{folder}\b", text)} == set()
