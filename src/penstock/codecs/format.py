"""Value type of a format: a codec with its parameters. `formats.py` parses its text."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Format:
    """Codec with its parameters. Equal formats have equal text."""

    codec: str
    parameters: tuple[tuple[str, str], ...] = ()
    """Key and canonical value of each parameter that was given or has a default, in the codec's order."""
    text: str = ""
    """Canonical spelling of the format."""

    def get(self, key: str) -> str | None:
        """Return the canonical text of a parameter, or None."""
        return dict(self.parameters).get(key)

    def __str__(self) -> str:
        return self.text
