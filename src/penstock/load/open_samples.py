"""Samples that a loader is given: a path, or an opened index."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.index import SampleIndex
from penstock.load.engine_table import EngineTable
from penstock.load.prepare import prepare
from penstock.sources.opening import open_index
from penstock.storage import AnyPlace
from penstock.types import OnProgress, no_progress


def open_samples(
    source: AnyPlace | SampleIndex,
    fields: Sequence[str] | None = None,
    on_progress: OnProgress = no_progress,
) -> EngineTable:
    """Open the samples of a place or an index, with these fields (by default all that a loader can give)."""
    index = source if isinstance(source, SampleIndex) else open_index(source, on_progress=on_progress)
    return prepare(index, fields)
