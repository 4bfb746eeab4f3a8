"""Penstock's own loader, on a dataset or on a plain folder."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from penstock.index import Ids
from penstock.lab.loaders.contract import LoaderSpec
from penstock.load import Loader, LoaderPlan, plan_loader
from penstock.load.batch_sink import EncodedSink
from penstock.load.engine_table import EngineTable
from penstock.load.open_samples import open_samples
from penstock.transforms import CenterCrop, RandomCrop, RandomHorizontalFlip, RandomResizedCrop, Resize, Transform

HELD_OUT = 5
"""Every fifth sample is for validation if there is no split; ids are sorted by class, so each gives its share."""


class OurLoader:
    """Adapter for `penstock.Loader`."""

    def __init__(self, spec: LoaderSpec) -> None:
        samples = open_samples(spec.path)
        ids = part_of(samples, spec.part, spec.share)
        self._target = spec.target
        self.num_images = len(samples) if ids is None else len(ids)
        plan = _plan(spec, samples, ids)
        if spec.cache_bytes and plan.policy.keeps_samples:
            plan = plan.with_cache_bytes(spec.cache_bytes)
        self._loader = _open(spec, plan)

    def epoch(self) -> Iterator[tuple[Any, Any, int]]:
        """Yield the batches of the next epoch."""
        for batch in self._loader:
            yield batch["image"], batch[self._target] if self._target else None, len(batch["id"])

    @property
    def loader(self) -> Loader:
        """Loader itself, for a tuner."""
        return self._loader

    def facts(self) -> dict[str, float]:
        """Return numbers from `Loader.stats()`."""
        stats = self._loader.stats()
        names = ("bytes_read", "hit_ratio", "working_bytes", "cache_limit_bytes", "peak_memory_bytes", "num_reads")
        return {name: float(stats[name]) for name in names}

    def close(self) -> None:
        """Stop the loader's threads."""
        self._loader.close()


def open_loader(spec: LoaderSpec) -> OurLoader:
    """Open the loader for a specification."""
    return OurLoader(spec)


def _plan(spec: LoaderSpec, samples: EngineTable, ids: Ids | None) -> LoaderPlan:
    return plan_loader(
        spec.path,
        batch_size=spec.batch_size,
        seed=spec.seed,
        threads=spec.threads,
        transform=None if spec.is_encoded else transforms_of(spec),
        layout="NHWC" if spec.is_encoded else "NCHW",
        cache=spec.cache,
        memory=0,
        subset=ids,
        shuffle=spec.part != "val",
        fidelity=spec.fidelity,
        # What the dataset records; else none, for a loader left to itself looks at a slow disk within what is measured.
        window=samples.window or False,
        overlap_epochs=False,  # loaders take turns: none works in the time of another
    )


def _open(spec: LoaderSpec, plan: LoaderPlan) -> Loader:
    if spec.is_tuned:
        from penstock.torch import Loader as TensorLoader  # which only a tuner needs

        return TensorLoader(plan)
    return Loader(plan, sink=EncodedSink() if spec.is_encoded else None)


def transforms_of(spec: LoaderSpec) -> list[Transform] | None:
    """Return the transforms of a specification; crops of training also flip."""
    if spec.size == 0:
        return None
    kinds: dict[str, list[Transform]] = {
        "resized": [RandomResizedCrop(spec.size), RandomHorizontalFlip()],
        "plain": [RandomCrop(spec.size), RandomHorizontalFlip()],
        "center": [CenterCrop(spec.size)],
        "scaled": [Resize(spec.size * 8 // 7), CenterCrop(spec.size)],
        "stretch": [Resize((spec.size, spec.size))],
    }
    return kinds[spec.crop]


def part_of(samples: EngineTable, part: str, share: float = 1.0) -> Ids | None:
    """Return the ids of training or validation: the data's splits, else every fifth sample is held out.

    With a share, only the first samples of each class are used, in the order of keys.
    """
    if not part:
        return None
    if part in samples.split_names and {"train", "val"} <= set(samples.split_names):
        ids = samples.select(part, None)
        assert ids is not None
    else:
        every = np.arange(samples.num_samples)
        is_held_out = every % HELD_OUT == HELD_OUT - 1
        ids = every[is_held_out if part == "val" else ~is_held_out]
    if share >= 1:
        return ids
    labels = samples.scalars.get("label")
    groups = np.zeros(len(ids), np.int64) if labels is None else np.asarray(labels)[ids].astype(np.int64)
    kept = [
        chosen[: max(1, round(len(chosen) * share))]
        for group in np.unique(groups)
        if len(chosen := ids[groups == group])
    ]
    return np.sort(np.concatenate(kept))
