"""Types of the loaders' keywords, so that editors complete them and type checkers know them."""

from __future__ import annotations

from collections.abc import Sequence
from inspect import Parameter, Signature
from typing import TypedDict

from penstock.index import Subset
from penstock.load.fidelity_schedule import FidelityLike
from penstock.load.loader_options import WindowLike, keyword_defaults
from penstock.transforms.apply import Transforms
from penstock.types import OnProgress


class CommonKeywords(TypedDict, total=False):
    """Keywords that all loaders take and no adapter changes. `penstock.Loader` documents each of them."""

    batch_size: int
    seed: int
    memory: int | str | None
    transform: Transforms
    split: str | None
    subset: Subset | None
    shuffle: bool
    drop_last: bool
    threads: int
    cache: str | None
    cache_format: str
    cache_limit_bytes: int | None
    window: WindowLike
    fidelity: FidelityLike
    overlap_epochs: bool | None
    decode: str
    channels: str
    verify: str
    max_pixels: int
    readers: int | None
    on_error: str
    max_errors: int
    fields: Sequence[str] | None
    as_tuple: Sequence[str] | None
    on_progress: OnProgress
    python_workers: int | None


class LoaderKeywords(CommonKeywords, total=False):
    """Keywords of `penstock.Loader` and `penstock.plan_loader`."""

    layout: str
    rank: int
    world_size: int


def signature_with_keywords(first: str, *own: Parameter) -> Signature:
    """Return the signature of a function that takes `first`, its own parameters, and the loader's keywords."""
    taken = {parameter.name for parameter in own}
    hints = LoaderKeywords.__annotations__
    keywords = [
        Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=hints[name])
        for name, default in keyword_defaults().items()
        if name not in taken
    ]
    return Signature([Parameter(first, Parameter.POSITIONAL_OR_KEYWORD), *own, *keywords])
