"""Contract of an experiment: settings, cells to measure, and findings from their lines.

A recipe measures nothing and writes nothing. Its cells are a function of its settings, the data and the lines so far.
So a killed run continues where it stopped, and a later cell may depend on the results of an earlier one.
"""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import ClassVar

from penstock.documents import Json
from penstock.errors import ArgumentError
from penstock.lab.lines import Line
from penstock.limits import NO_LIMITS, Limits
from penstock.report import Section

COUNTS = ("seeds", "epochs", "timed_epochs", "budget_epochs", "max_epochs", "repeats", "batch_size")
"""Settings that count something of which there must be one."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One measurement: a job with its settings, under limits, with one seed."""

    job: str
    """A name of `penstock.lab.jobs`."""
    settings: Mapping[str, Json]
    seed: int = 0
    limits: Limits = NO_LIMITS
    is_alone: bool = False
    """Run in a separate process even without limits, so that no memory is shared with the run."""

    @property
    def key(self) -> str:
        """Key that is the same for the same measurement in every run."""
        told = [self.job, dict(self.settings), self.seed, str(self.limits)]
        return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:16]

    def __str__(self) -> str:
        shown = ", ".join(f"{name} {value}" for name, value in self.settings.items() if value not in ("", None))
        return f"{shown}, seed {self.seed}"


@dataclass(frozen=True, slots=True)
class DataFacts:
    """Facts about the data that recipes need."""

    num_samples: int
    source_bytes: int
    """Encoded, images alone."""
    codec: str
    """Codec of most images."""
    num_classes: int
    """Number of classes of labels; 0 without labels."""
    num_mask_classes: int
    """Number of classes of masks; 0 without masks."""


@dataclass(frozen=True, slots=True)
class Findings:
    """Findings of a run: the answer in one sentence, then its evidence."""

    answer: str
    sections: tuple[Section, ...] = ()
    advice: tuple[str, ...] = ()
    values: Mapping[str, Json] = field(default_factory=dict)
    """The figures behind the answer, for programs and tests."""


@dataclass(frozen=True, kw_only=True)
class Recipe(ABC):
    """Experiment whose fields are its settings; `--set name=value` changes one."""

    name: ClassVar[str]
    question: ClassVar[str]
    published: ClassVar[str]
    """The figure or table that it repeats, and what that says."""

    seeds: int = 3
    """Repeats, each with a seed of its own; differences are taken within a seed."""
    threads: int = 0
    """Threads of a loader; 0: all usable cores."""
    batch_size: int = 32

    def check(self) -> None:
        """Refuse invalid settings with ArgumentError, before anything is measured."""
        for name in COUNTS:
            value = getattr(self, name, 1)
            if value < 1:
                raise wrong_setting(self, name, "give a whole number of at least 1")
        for field_ in fields(self):
            value = getattr(self, field_.name)
            if isinstance(value, (int, float)) and value < 0:
                raise wrong_setting(self, field_.name, "give 0 or more")

    @abstractmethod
    def cells(self, data: DataFacts, done: Sequence[Line]) -> list[Cell]:
        """Return the cells to measure, as far as `done` determines them."""

    @abstractmethod
    def findings(self, lines: Sequence[Line]) -> Findings:
        """Draw findings from the lines."""


def wrong_setting(recipe: Recipe, name: str, fix: str) -> ArgumentError:
    """Make the error for a setting with an invalid value."""
    value = getattr(recipe, name)
    shown = ",".join(map(str, value)) if isinstance(value, tuple) else value
    return ArgumentError(f"{name} is {str(shown)!r}", where=f"recipe {recipe.name}", fix=fix, code=100)
