"""What a source tells, as plain values for tests."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from penstock.build.source import ABSENT, ASK, WHOLE, Samples, Source


def bytes_of(source: Source, samples: Samples, field: str = "image") -> list[bytes | None]:
    """The bytes of an image field, of all samples."""
    places = samples.places[field]
    asked = dict(enumerate(source.read(field, np.flatnonzero(places.file == ASK)))) if ASK in places.file else {}
    found: list[bytes | None] = []
    for file, offset, length in zip(places.file, places.offset, places.length, strict=True):
        if file == ASK:
            found.append(asked.pop(min(asked)))
        elif file == ABSENT:
            found.append(None)
        else:
            whole = Path(samples.files[file].decode()).read_bytes()[offset:]
            found.append(whole if length == WHOLE else whole[:length])
    return found
