"""What an experiment is: settings that can be set, cells to measure, and findings drawn from their lines.

A recipe measures nothing and writes nothing. Its cells are a function of its settings, of the data and of what has been
measured so far: so a killed run goes on where it was, and a later cell may depend on an earlier one's figures.
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
    """In a process of its own even without limits, for what shares no memory with the run."""

    @property
    def key(self) -> str:
        """The same for the same measurement, in every run."""
        told = [self.job, dict(self.settings), self.seed, str(self.limits)]
        return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:16]

    def __str__(self) -> str:
        shown = ", ".join(f"{name} {value}" for name, value in self.settings.items() if value not in ("", None))
        return f"{shown}, seed {self.seed}"


@dataclass(frozen=True, slots=True)
class DataFacts:
    """What recipes need to know of the data."""

    num_samples: int
    source_bytes: int
    """Encoded, images alone."""
    codec: str
    """That most images are stored in."""
    num_classes: int
    """Of labels; 0 without."""
    num_mask_classes: int
    """Of masks; 0 without."""


@dataclass(frozen=True, slots=True)
class Findings:
    """What a run says: one sentence first, that is the answer; then what it rests on."""

    answer: str
    sections: tuple[Section, ...] = ()
    advice: tuple[str, ...] = ()
    values: Mapping[str, Json] = field(default_factory=dict)
    """The figures behind the answer, for programs and tests."""


@dataclass(frozen=True, kw_only=True)
class Recipe(ABC):
    """An experiment. Its fields are its settings; `--set name=value` changes one."""

    name: ClassVar[str]
    question: ClassVar[str]
    published: ClassVar[str]
    """The figure or table that it repeats, and what that says."""

    seeds: int = 3
    """Repeats, each with a seed of its own; differences are taken within a seed."""
    threads: int = 0
    """Of a loader; 0: all usable cores."""
    batch_size: int = 32

    def check(self) -> None:
        """Refuse settings of which no cell can be made, before anything is. ArgumentError."""
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
        """What is to be measured, as far as `done` lets one know."""

    @abstractmethod
    def findings(self, lines: Sequence[Line]) -> Findings:
        """What the lines say."""


def wrong_setting(recipe: Recipe, name: str, fix: str) -> ArgumentError:
    """The error of a setting that has a value it cannot have."""
    value = getattr(recipe, name)
    shown = ",".join(map(str, value)) if isinstance(value, tuple) else value
    return ArgumentError(f"{name} is {str(shown)!r}", where=f"recipe {recipe.name}", fix=fix, code=100)
