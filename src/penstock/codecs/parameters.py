"""Kinds of parameters of a format. Each converts text to its canonical spelling, or says what is allowed."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

from penstock.errors import ArgumentError


class Parameter(Protocol):
    """Interface of one parameter of a format."""

    @property
    def bare(self) -> tuple[str, ...]:
        """Words that may be written without `key=`, such as `weir:dense` or `jpeg:restart`."""

    @property
    def default(self) -> str | None:
        """Canonical text of the default; None if leaving it out has its own meaning."""

    @property
    def meaning(self) -> str:
        """Description in one line, for `--help` and the docs."""

    def canonical(self, key: str, text: str) -> str:
        """Check the text of a value and return its canonical spelling."""


@dataclass(frozen=True, slots=True)
class Integer:
    """Integer within limits, such as `q=85`, or a word that replaces the number, such as `webp:lossless`."""

    minimum: int
    maximum: int
    default: str | None
    meaning: str
    bare: tuple[str, ...] = ()

    def canonical(self, key: str, text: str) -> str:
        """Check the text of a value and return its canonical spelling."""
        if text in self.bare:
            return text
        # Length first: int() of thousands of digits raises another error.
        is_number = text.isascii() and text.isdigit() and len(text) <= 18
        if not is_number or not self.minimum <= int(text) <= self.maximum:
            raise ArgumentError(
                f"{key}={text} is not a whole number from {self.minimum} to {self.maximum}",
                where="format",
                fix=" or ".join([f"for example {key}={self.default or self.maximum}", *self.bare]),
                code=130,
            )
        return str(int(text))


@dataclass(frozen=True, slots=True)
class Choice:
    """One of a few words: `subsampling=420`, or without the key: `weir:dense`."""

    choices: tuple[str, ...]
    default: str | None
    meaning: str
    bare: tuple[str, ...] = ()

    def canonical(self, key: str, text: str) -> str:
        """Check the text of a value and return its canonical spelling."""
        if text not in self.choices:
            raise ArgumentError(
                f"{key}={text} does not exist",
                where="format",
                fix=f"choose one of {', '.join(self.choices)}",
                code=130,
            )
        return text


@dataclass(frozen=True, slots=True)
class Counts:
    """Ascending whole numbers joined by +, such as `groups=1+2+5+10`, or a word for a fixed list."""

    maximum: int
    default: str
    meaning: str
    word: str
    bare: tuple[str, ...] = ()

    def canonical(self, key: str, text: str) -> str:
        """Check the text of a value and return its canonical spelling."""
        if text == self.word:
            return text
        parts = text.split("+")
        counts = [int(part) for part in parts if part.isascii() and part.isdigit() and len(part) <= 4]
        ascending = all(one < other for one, other in pairwise(counts))
        if len(counts) != len(parts) or not ascending or not 1 <= counts[0] <= counts[-1] <= self.maximum:
            raise ArgumentError(
                f"{key}={text} is not an ascending list of numbers from 1 to {self.maximum}",
                where="format",
                fix=f"for example {key}={self.default}, or {key}={self.word}",
                code=130,
            )
        return "+".join(map(str, counts))


@dataclass(frozen=True, slots=True)
class Flag:
    """Flag that is off unless its word is present: `jpeg:restart`."""

    word: str
    meaning: str

    @property
    def bare(self) -> tuple[str, ...]:
        """Word of the flag, which is written without a key."""
        return (self.word,)

    @property
    def default(self) -> str | None:
        """Always None: flags are off by default."""
        return None

    def canonical(self, key: str, text: str) -> str:
        """Check the text of a value and return its canonical spelling."""
        if text not in (self.word, "true"):
            raise ArgumentError(
                f"{key}={text}: '{self.word}' is a flag and takes no value",
                where="format",
                fix=f"write just '{self.word}'",
                code=130,
            )
        return "true"
