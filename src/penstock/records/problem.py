"""Problem that a verification of a dataset found."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Problem:
    """Difference between the data and its manifest or index."""

    file: str
    what: str
    key: str | None = None
    """Key of the damaged sample, if it is one."""
    byte: int | None = None
    """Offset in the file, if known."""

    def __str__(self) -> str:
        where = self.file if self.byte is None else f"{self.file}, byte {self.byte}"
        return f"{where}: {self.what}" if self.key is None else f"{where}: sample '{self.key}': {self.what}"
