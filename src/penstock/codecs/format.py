"""A format: a codec with its parameters. Its text is read by `formats.py`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Format:
    """A codec with its parameters; equal formats have equal text."""

    codec: str
    parameters: tuple[tuple[str, str], ...] = ()
    """Key and canonical value of everything that was written or has a default, in the codec's order."""
    text: str = ""
    """The canonical spelling."""

    def get(self, key: str) -> str | None:
        """Canonical text of a parameter, or None."""
        return dict(self.parameters).get(key)

    def __str__(self) -> str:
        return self.text
