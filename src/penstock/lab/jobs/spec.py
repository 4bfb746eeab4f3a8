"""Conversion of a cell's settings to the specification of a loader."""

from __future__ import annotations

from pathlib import Path

from penstock.lab.jobs.contract import Order
from penstock.lab.loaders import LoaderSpec
from penstock.lab.loaders.rival_loader import beton_of
from penstock.load.fidelity_schedule import FidelityLike
from penstock.storage import drop_cached, exists


def spec_of(order: Order, *, part: str = "", variant: str = "") -> LoaderSpec:
    """Return the specification of a part of the data; `variant` replaces the one in the settings.

    Settings: `variant`, `batch_size`, `threads`, `size`, `crop`, `cache`, `cache_bytes`, `target`, `share`, `encoded`,
    `fidelity`.
    """
    chosen = variant or order.text("variant")
    return LoaderSpec(
        path=order.paths[chosen] if chosen else order.paths["data"],
        folder=order.paths["data"],
        batch_size=order.integer("batch_size", 32),
        threads=order.integer("threads"),
        seed=order.seed,
        size=order.integer("size"),
        crop=_validating(order.text("crop", "resized")) if part == "val" else order.text("crop", "resized"),
        cache=order.text("cache", "system"),
        cache_bytes=order.integer("cache_bytes"),
        target=order.text("target") if part else "",
        part=part,
        share=order.number("share", 1.0) if part == "train" else 1.0,
        is_encoded=bool(order.settings.get("encoded", False)),
        fidelity=_fidelity(order) if part != "val" else None,
        is_tuned=bool(order.settings.get("tuned", False)) and part == "train",
    )


def start_cold(order: Order, spec: LoaderSpec) -> None:
    """Drop the data of a loader from the page cache if the settings say `cold`.

    So an epoch of a loader that leaves caching to the kernel reads the disk, as with data larger than memory.
    """
    if not order.settings.get("cold"):
        return
    for path in (spec.folder, beton_of(spec)):
        if exists(Path(path)):
            drop_cached(path, is_on_disk=True)


def _fidelity(order: Order) -> FidelityLike:
    wish = order.settings.get("fidelity")
    if isinstance(wish, list):
        return [
            (int(str(step[0])), None if step[1] is None else int(str(step[1])))
            for step in wish
            if isinstance(step, list)
        ]
    return None if wish is None else int(str(wish))


def _validating(crop: str) -> str:
    """Return the crop of validation for a crop of training."""
    return {"resized": "scaled", "plain": "center", "stretch": "stretch"}[crop]
