"""Contract of a job: its input and its result."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from penstock.documents import Json
from penstock.types import OnProgress

Measures: TypeAlias = "dict[str, Any]"
"""Plain numbers, and `epochs`: a list of objects of numbers."""


class LeftOut(Exception):  # noqa: N818  # no error: a cell that this machine cannot measure
    """Reason why a cell cannot be measured here: something is not installed, not permitted or not possible."""


@dataclass(frozen=True, slots=True)
class Order:
    """Cell as its job sees it, with paths for variants. It is JSON, so that another process can take it."""

    job: str
    settings: Mapping[str, Json]
    paths: Mapping[str, str]
    """The folder of the data as `data`, and each variant that the settings name."""
    seed: int

    def text(self, name: str, default: str = "") -> str:
        """Return a setting that is a text."""
        return str(self.settings.get(name, default))

    def integer(self, name: str, default: int = 0) -> int:
        """Return a setting that is a whole number."""
        return int(self.number(name, default))

    def number(self, name: str, default: float = 0.0) -> float:
        """Return a setting that is a number."""
        value = self.settings.get(name, default)
        assert isinstance(value, (int, float)), name
        return float(value)


Job = Callable[[Order, OnProgress], Measures]
