"""What `import penstock` gives, and what it costs."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from types import FunctionType, ModuleType

import pytest

import penstock
from tests.import_graph import PACKAGE, modules

STUB = Path(penstock.__file__).with_name("_native.pyi")

# Heavy or foreign packages that belong to a later moment than the import, or to tests alone.
LATER = (
    "PIL",
    "cv2",
    "imagecodecs",
    "jax",
    "pyarrow",
    "pydantic",
    "rich",
    "scipy",
    "tifffile",
    "torch",
    "triton",
    "typer",
)


def packages() -> list[str]:
    """The packages that say what is public in them."""
    return [name for name, path in modules().items() if path.name == "__init__.py" and "__all__" in path.read_text()]


def in_new_process(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.strip()


def _kind(public: str) -> int:
    """Constants, then types, then functions, as ruff sorts them."""
    return 0 if public.isupper() else 1 if public[0].isupper() else 2


@pytest.mark.parametrize("name", packages())
def test_public_names_are_sorted_and_exist(name: str) -> None:
    package = import_module(name)

    assert package.__all__ == sorted(set(package.__all__), key=lambda public: (_kind(public), public))
    assert [public for public in package.__all__ if not hasattr(package, public)] == []


def test_every_public_name_is_listed() -> None:
    found = {
        name
        for name in dir(penstock)
        if not name.startswith("_") and not isinstance(vars(penstock).get(name), ModuleType)
    }

    assert found == {name for name in penstock.__all__ if not name.startswith("_")}


def test_names_that_wait_are_found_and_others_are_not() -> None:
    assert (
        in_new_process("import penstock; print(penstock.Loader.__name__, 'Loader' in dir(penstock))") == "Loader True"
    )
    assert not hasattr(penstock, "Lodaer")


def test_every_public_name_is_documented() -> None:
    things = [getattr(penstock, name) for name in penstock.__all__]

    assert [thing for thing in things if isinstance(thing, (type, FunctionType)) and not thing.__doc__] == []


def test_the_version_is_the_same_everywhere() -> None:
    assert penstock.__version__ == version(PACKAGE)


def test_import_pulls_nothing_that_can_wait() -> None:
    loaded = in_new_process(f"import sys, penstock; print(*sorted(set(sys.modules) & set({LATER!r})))")

    assert loaded == ""


def test_import_starts_no_thread() -> None:
    tasks = "len(list(pathlib.Path('/proc/self/task').iterdir()))"
    # NumPy's BLAS may start its own: it is imported before the count.
    grown = in_new_process(f"import pathlib, numpy\nbefore = {tasks}\nimport penstock\nprint({tasks} - before)")

    assert grown == "0"


def test_the_stub_is_what_the_extension_says(tmp_path: Path) -> None:
    fresh = tmp_path / "_native.pyi"
    command = [sys.executable, "-m", "nanobind.stubgen", "-q", "-m", "penstock._native", "-o", str(fresh)]
    subprocess.run(command, check=True)

    assert STUB.read_text() == fresh.read_text(), "run `make stubs`"
