"""The three kinds of golden file: must decode, must be written byte for byte, must be refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import penstock
from penstock.types import Pixels


@dataclass(frozen=True)
class Golden:
    """A file that must decode to these pixels for ever; ours must also be written byte for byte."""

    path: str
    pixels: Callable[[], Pixels]
    format: str = ""
    """Empty where another writer made the file."""
    write: Callable[[Pixels], bytes] | None = None
    """The other writer: what it makes must decode, but need not be made again."""

    def encode(self) -> bytes:
        """The bytes of the file."""
        return self.write(self.pixels()) if self.write else penstock.encode(self.pixels(), self.format)


@dataclass(frozen=True)
class Refused:
    """A file that must be refused for ever, with this code and these words."""

    path: str
    make: Callable[[], bytes]
    code: int
    words: str
