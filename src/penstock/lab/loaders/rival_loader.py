"""Open a rival on the samples that Penstock's own loader would load."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from penstock.lab.jobs.contract import LeftOut
from penstock.lab.loaders.contract import LoaderSpec
from penstock.lab.loaders.ours import part_of
from penstock.lab.rivals.rival import Rival, RivalSpec
from penstock.load.open_samples import open_samples
from penstock.storage import is_file


class RivalLoader:
    """A rival under the lab's contract for loaders."""

    def __init__(self, rival: Rival) -> None:
        self._rival = rival
        self.num_images = rival.num_images

    def epoch(self) -> Iterator[tuple[Any, Any, int]]:
        """Yield the batches of the next epoch."""
        return self._rival.epoch()

    def facts(self) -> dict[str, float]:
        """Return nothing: rivals do not count."""
        return {}

    def close(self) -> None:
        """Do nothing: threads and workers of rivals end with the process."""


def open_rival_loader(module: str, spec: LoaderSpec) -> RivalLoader:
    """Open a module of `penstock.lab.rivals`; `LeftOut` if the rival cannot do what the spec asks for."""
    rival = import_module(f"penstock.lab.rivals.{module}")
    if spec.target == "mask" or spec.is_encoded or spec.crop not in rival.CROPS:
        crops = " or ".join(rival.CROPS)
        raise LeftOut(f"this loader is measured on labelled images with crop {crops} alone")
    opened: Rival = rival.open_rival(rival_spec(spec, rival.VARIANTS[0]))
    return RivalLoader(opened)


def rival_spec(spec: LoaderSpec, variant: str = "") -> RivalSpec:
    """Return a lab spec as a rival is told it."""
    return RivalSpec(
        files=labelled_files(spec),
        batch_size=spec.batch_size,
        threads=spec.threads,
        size=spec.size,
        crop=spec.crop,
        seed=spec.seed,
        variant=variant,
        reads_disk=spec.cache == "none",
        made_file=str(beton_of(spec)),
    )


def beton_of(spec: LoaderSpec) -> Path:
    """Return the path of FFCV's file for the samples of a spec."""
    part = hashlib.sha256(f"{spec.part} {spec.share}".encode()).hexdigest()[:8]
    return Path(spec.path).with_suffix(f".{part}.beton")


def labelled_files(spec: LoaderSpec) -> list[tuple[str, int]]:
    """Return (path, class) of each sample of our loader for this spec, in the order of ids; without classes, 0."""
    samples = open_samples(spec.path)
    chosen = part_of(samples, spec.part, spec.share)
    ids = np.arange(len(samples)) if chosen is None else chosen
    labels = samples.scalars.get("label", np.zeros(len(samples), np.int64))
    keys = samples.index.column("key").to_pylist() if samples.index is not None else []
    files = [(str(Path(spec.folder) / keys[sample]), int(labels[sample])) for sample in ids.tolist()]
    missing = next((path for path, _ in files if not is_file(Path(path))), None)
    if missing is not None:
        raise LeftOut(f"this loader reads image files, and the data does not lie in files by its keys: {missing}")
    return files
