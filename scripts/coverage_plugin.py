"""Let pytest use the extension that counts lines: `-p scripts.coverage_plugin`, as `make coverage` does.

Only pytest and its workers load this; processes that tests start import the installed extension.
"""

from __future__ import annotations

import ctypes
import importlib.util
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType

import pytest

from scripts.coverage import extension


class CountingExtension:
    """Finds `penstock._native` in build/coverage."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Answer for the extension alone."""
        return importlib.util.spec_from_file_location(name, extension()) if name == "penstock._native" else None


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests() -> None:
    """Run before the first import of penstock, in conftest.py."""
    sys.meta_path.insert(0, CountingExtension)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish() -> None:
    """Write the counts of this process now: workers are not always given the time to end by themselves."""
    if "penstock._native" in sys.modules:
        ctypes.CDLL(str(extension())).penstock_write_counts()
