"""The pins: exact, one per Python, and complete, so that two machines test the same thing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, requires

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from scripts.setup import APART
from scripts.system import LIBRARIES
from tests.import_graph import ROOT

FOLDER = ROOT / "requirements"
GROUPS = sorted(path.stem for path in FOLDER.glob("*.txt") if path.stem != "pins")
PYTHONS = ("3.10", "3.11", "3.12", "3.13", "3.14")


def lines_of(name: str) -> list[str]:
    text = (FOLDER / f"{name}.txt").read_text(encoding="utf-8")
    return [line for line in text.splitlines() if line and not line.startswith(("#", "-c "))]


PINS = [Requirement(line) for line in lines_of("pins")]


def wanted_by(requirement: Requirement) -> Iterator[Requirement]:
    """What an installed package needs here; nothing is known of one that is not installed."""
    try:
        needed = [Requirement(text) for text in requires(requirement.name) or []]
    except PackageNotFoundError:
        return
    extras = {"", *requirement.extras}
    for item in needed:
        if item.marker is None or any(item.marker.evaluate({"extra": extra}) for extra in extras):
            yield item


@pytest.mark.parametrize("python", PYTHONS)
def test_a_package_has_one_exact_version_per_python(python: str) -> None:
    pins = [pin for pin in PINS if pin.marker is None or pin.marker.evaluate({"python_version": python})]
    names = [canonicalize_name(pin.name) for pin in pins]

    assert sorted(set(names)) == sorted(names)
    assert all(re.fullmatch(r"==[\w.+]+", str(pin.specifier)) for pin in pins)


def test_pins_are_sorted() -> None:
    names = [canonicalize_name(pin.name) for pin in PINS]

    assert names == sorted(names)


@pytest.mark.parametrize("group", GROUPS)
def test_groups_take_their_versions_from_the_pins(group: str) -> None:
    assert "-c pins.txt" in (FOLDER / f"{group}.txt").read_text(encoding="utf-8").splitlines()
    assert all(str(Requirement(line).specifier) == "" for line in lines_of(group))


@pytest.mark.parametrize("group", [group for group in GROUPS if group not in APART])
def test_what_a_group_pulls_in_is_pinned(group: str) -> None:
    pinned = {canonicalize_name(pin.name) for pin in PINS}
    reached: set[str] = set()
    waiting = [Requirement(line) for line in lines_of(group)]
    while waiting:
        requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        if name not in reached:
            reached.add(name)
            waiting += wanted_by(requirement)
    # A torch built for CUDA brings the libraries of its own version; nothing here depends on them.
    loose = {name for name in reached - pinned if not name.startswith(("nvidia-", "cuda-"))}
    assert loose == set()


@pytest.mark.parametrize("group", APART)
def test_what_is_installed_alone_is_pinned(group: str) -> None:
    pinned = {canonicalize_name(pin.name) for pin in PINS}

    assert {canonicalize_name(line) for line in lines_of(group)} <= pinned


def test_the_package_gets_what_it_needs() -> None:
    needed = {canonicalize_name(item.name) for item in wanted_by(Requirement("penstock"))}

    assert needed == {canonicalize_name(line) for line in lines_of("runtime")}


def test_set_up_knows_every_library_that_cmake_asks_for() -> None:
    text = (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
    asked = re.findall(r"pkg_check_modules\(\w+ REQUIRED IMPORTED_TARGET (\w+)", text)

    assert set(asked) == set(LIBRARIES)
