"""Image files and the labels of their folders, as loaders of others want them: the samples that ours would load."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np

from penstock.lab.jobs.contract import LeftOut
from penstock.lab.loaders.contract import LoaderSpec
from penstock.lab.loaders.ours import part_of
from penstock.load.source import open_samples


def beton_of(spec: LoaderSpec) -> Path:
    """Where FFCV's file stands that has the samples of a spec."""
    part = hashlib.sha256(f"{spec.part} {spec.share}".encode()).hexdigest()[:8]
    return Path(spec.path).with_suffix(f".{part}.beton")


def labelled_files(spec: LoaderSpec) -> list[tuple[str, int]]:
    """(path, class) of each sample that our loader gives for this spec, in the order of ids; without classes, 0."""
    samples = open_samples(spec.path)
    chosen = part_of(samples, spec.part, spec.share)
    ids = np.arange(len(samples)) if chosen is None else chosen
    labels = samples.scalars.get("label", np.zeros(len(samples), np.int64))
    keys = samples.index.column("key").to_pylist() if samples.index is not None else []
    files = [(str(Path(spec.folder) / keys[sample]), int(labels[sample])) for sample in ids.tolist()]
    missing = next((path for path, _ in files if not Path(path).is_file()), None)
    if missing is not None:
        raise LeftOut(f"this loader reads image files, and the data does not lie in files by its keys: {missing}")
    return files
