"""What a source tells, as plain values for tests."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from penstock.index import ABSENT, ASK, WHOLE, Listing
from penstock.sources.source import Source


def bytes_of(source: Source, listing: Listing, field: str = "image") -> list[bytes | None]:
    """The bytes of an image field, of all samples."""
    places = listing.images[field]
    asked = dict(enumerate(source.read(field, np.flatnonzero(places.file == ASK)))) if ASK in places.file else {}
    wholes = [Path(path.decode()).read_bytes() for path in listing.files]
    found: list[bytes | None] = []
    for file, offset, length in zip(places.file, places.offset, places.length, strict=True):
        if file == ASK:
            found.append(asked.pop(min(asked)))
        elif file == ABSENT:
            found.append(None)
        else:
            found.append(wholes[file][offset:] if length == WHOLE else wholes[file][offset : offset + length])
    return found
