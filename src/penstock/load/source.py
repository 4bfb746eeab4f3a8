"""What a path is: a built dataset, or a plain image folder."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from penstock.errors import ArgumentError
from penstock.load.dataset import open_dataset
from penstock.load.folder import open_folder
from penstock.load.samples import Samples
from penstock.records.manifest import FILE_NAME
from penstock.types import OnProgress, no_progress


def open_samples(
    path: str | os.PathLike[str], fields: Sequence[str] | None = None, on_progress: OnProgress = no_progress
) -> Samples:
    """The samples at a path. A folder that holds a manifest, or ends in `.pen`, is a dataset."""
    place = Path(path)
    if (place / FILE_NAME).is_file() or place.suffix == ".pen":
        return open_dataset(place, fields)
    if fields is not None and set(fields) - {"image", "label"}:
        unknown = sorted(set(fields) - {"image", "label"})
        raise ArgumentError(
            f"a plain folder has no field {unknown[0]!r}", where="fields", fix="build a dataset with it", code=100
        )
    return open_folder(place, on_progress)
