"""Chains of transforms that benchmarks and profiles refer to by name."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.errors import ArgumentError
from penstock.transforms.geometry import CenterCrop, RandomHorizontalFlip, RandomResizedCrop, Resize
from penstock.transforms.transform import Transform

NAMED: Mapping[str, tuple[Transform, ...]] = {
    "none": (),
    "train224": (RandomResizedCrop(224), RandomHorizontalFlip()),
    "val224": (Resize(256), CenterCrop(224)),
}


def named(name: str) -> list[Transform]:
    """Return the chain with this name.

    >>> named("val224")[1]
    CenterCrop(size=(224, 224))
    """
    if name not in NAMED:
        fix = f"choose among {', '.join(NAMED)}"
        raise ArgumentError(f"there is no transform '{name}'", where="transform", fix=fix, code=100)
    return list(NAMED[name])
