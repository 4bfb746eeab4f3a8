"""The arrow inside native/: a folder includes only what its CMake target names, and each privilege has one place."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.import_graph import ROOT, find_circle

NATIVE = ROOT / "native"
FILES = sorted(path.relative_to(NATIVE) for path in NATIVE.rglob("*") if path.suffix in (".h", ".cpp"))

# Words that only some folders may use, and which.
PRIVILEGES = {
    "Python, and nanobind": (r"<Python\.h>|<nanobind/|\bPy[A-Z]\w+\(", ("bindings",)),
    "threads": (r"std::j?thread\b(?!::hardware)|std::async\b|pthread_create", ("engine",)),
    "files": (r"\bfopen\(|::open\(|\bopenat\(|std::[io]?fstream", ("storage", "engine")),  # engine: the cgroup's quota
    "the terminal": (r"std::(cout|cerr|clog)\b|\b(?<!n)printf\(|\bputs\(", ()),
    "the process": (r"\b(std::)?(exit|_exit|quick_exit|abort|terminate)\(", ()),
}


def read(path: Path) -> str:
    """A file without its comments."""
    return re.sub(r"//[^\n]*|/\*.*?\*/", "", (NATIVE / path).read_text(encoding="utf-8"), flags=re.DOTALL)


def layers_of_cmake() -> dict[str, set[str]]:
    """Folders and those they say they use."""
    text = (NATIVE / "CMakeLists.txt").read_text(encoding="utf-8")
    found = {}
    for name, body in re.findall(r"^penstock_layer\((\w+)([^)]*)\)", text, flags=re.MULTILINE):
        used = re.search(r"\bUSES\s+([\w\s]+?)(?:\bLIBRARIES\b|$)", body)
        found[name] = set(used.group(1).split()) if used else set()
    return found


def visible_from(layer: str, layers: dict[str, set[str]]) -> set[str]:
    """The folder itself and everything it uses, directly or not."""
    return {layer}.union(*(visible_from(used, layers) for used in layers[layer]))


def test_every_folder_is_a_target() -> None:
    folders = {path.parts[0] for path in FILES}
    assert folders - {"bindings"} == set(layers_of_cmake())


def test_targets_use_one_another_without_circles() -> None:
    assert find_circle(layers_of_cmake()) == []


@pytest.mark.parametrize("path", FILES, ids=str)
def test_includes_follow_the_targets(path: Path) -> None:
    layers = layers_of_cmake()
    layer = path.parts[0]
    allowed = {*layers, "bindings"} if layer == "bindings" else visible_from(layer, layers)
    included = re.findall(r'#\s*include\s+"([^"]+)"', read(path))
    assert {name for name in included if name.split("/")[0] not in allowed} == set()


@pytest.mark.parametrize("path", FILES, ids=str)
def test_privileges_stay_in_their_folder(path: Path) -> None:
    text = read(path)
    for what, (pattern, folders) in PRIVILEGES.items():
        found = re.search(pattern, text)
        assert not found or path.parts[0] in folders, f"{path} uses {what}: '{found.group()}'"
