"""What a check of a dataset finds."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that is not as the manifest or the index says."""

    file: str
    what: str
    key: str | None = None
    """Of the sample, if it is one that is damaged."""
    byte: int | None = None
    """Where in the file, if that is known."""

    def __str__(self) -> str:
        where = self.file if self.byte is None else f"{self.file}, byte {self.byte}"
        return f"{where}: {self.what}" if self.key is None else f"{where}: sample '{self.key}': {self.what}"
