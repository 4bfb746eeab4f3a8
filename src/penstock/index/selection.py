"""Selections of samples: the ids of a split, of a subset, or of an earlier selection."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from penstock.errors import ArgumentError

Ids = npt.NDArray[np.int64]
Subset = slice | Sequence[int] | npt.NDArray[np.integer] | npt.NDArray[np.bool_]


def chosen_ids(num_samples: int, selected: Ids | None, of_split: Ids | None, subset: Subset | None) -> Ids:
    """Return the ids that are selected, in a split and in a subset, ascending; None leaves a condition out."""
    if selected is None:
        ids = np.arange(num_samples) if of_split is None else of_split
    else:
        ids = np.unique(selected)
        if len(ids) != len(selected):
            raise ArgumentError("a sample is listed twice", where="subset", fix="list each id once", code=100)
        ids = ids if of_split is None else np.intersect1d(ids, of_split, assume_unique=True)
    return ids if subset is None else _part(ids, subset, num_samples)


def _part(ids: Ids, subset: Subset, num_samples: int) -> Ids:
    """Return some of ascending ids, ascending: a slice counts within them; a mask and a list refer to all samples."""
    if isinstance(subset, slice):
        return np.sort(ids[subset])
    chosen = np.asarray(subset)
    if chosen.dtype == bool:
        if len(chosen) != num_samples:
            raise ArgumentError(
                f"the mask has {len(chosen)} entries for {num_samples} samples",
                where="subset",
                fix="give one entry for every sample of the index",
                code=100,
            )
        return np.asarray(ids[chosen[ids]])
    wanted = np.unique(chosen.astype(np.int64))
    missing = np.setdiff1d(wanted, ids)
    if len(missing) or len(wanted) != len(chosen):
        what = f"sample {missing[0]} is not here" if len(missing) else "a sample is listed twice"
        raise ArgumentError(what, where="subset", fix="list ids of the split, each once", code=100)
    return wanted
