"""Writes the golden files that are missing: `python -m tests.golden.make`. Run by hand, committed on its own.

A golden file is never rewritten: to change one, delete it first and say in the commit why its bytes may change.
"""

from __future__ import annotations

import json
from functools import partial
from hashlib import sha256
from pathlib import Path

from penstock.types import Pixels
from tests import published_l3
from tests.golden import images, jpeg_restorations, sluice_dataset, sluice_files, weir_decoded, weir_refused
from tests.golden.kinds import Golden

FOLDER = Path(__file__).parent
DIGESTS = FOLDER / "digests.json"

L3 = [
    Golden("l3/grey-1x1.l3", partial(images.photo, 1, 1, 1), "l3"),
    Golden("l3/grey-flat.l3", partial(images.flat, 33, 70, 1), "l3:patch=32"),
    Golden("l3/grey-alpha.l3", partial(images.photo, 20, 31, 2), "l3:patch=8"),
    Golden("l3/rgb-photo.l3", partial(images.photo, 100, 150, 3), "l3"),
    Golden("l3/rgb-noise.l3", partial(images.noise, 40, 140, 3), "l3:patch=128"),
    Golden("l3/rgba-photo.l3", partial(images.photo, 65, 63, 4), "l3"),
    Golden("l3/published.l3", partial(published_l3.image, 64, 128), write=published_l3.write),
]
GOLDENS = [*L3, *sluice_files.GOLDENS, *weir_decoded.GOLDENS]
REFUSED = [*sluice_files.REFUSED, *weir_refused.REFUSED]


def digest(pixels: Pixels) -> str:
    """A hash of dtype, shape and values."""
    return sha256(f"{pixels.dtype.str}{pixels.shape}".encode() + pixels.tobytes()).hexdigest()


def main() -> None:
    """Write what is missing: the file, and the digest of its pixels."""
    digests = json.loads(DIGESTS.read_text()) if DIGESTS.exists() else {}
    for golden in GOLDENS:
        path = FOLDER / golden.path
        if not path.exists():
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(golden.encode())
            digests[golden.path] = digest(golden.pixels())
    for refused in REFUSED:
        path = FOLDER / refused.path
        if not path.exists():
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(refused.make())
    DIGESTS.write_text(json.dumps(digests, indent=2) + "\n")
    jpeg_restorations.write_missing(FOLDER)
    sluice_dataset.write_missing(FOLDER)


if __name__ == "__main__":
    main()
