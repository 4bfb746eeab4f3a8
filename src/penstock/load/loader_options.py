"""Options of a loader as small frozen values, checked once, where the user enters.

The flat keywords of `Loader` fill them (`options_of`): every field has the name of its keyword.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from inspect import currentframe
from typing import Any

from penstock import _native
from penstock.codecs.contract import DEFAULT_MAX_PIXELS
from penstock.errors import ArgumentError
from penstock.index import Subset
from penstock.load.fidelity_schedule import FidelityLike
from penstock.order import Window
from penstock.order.caches import CACHES, OWN_CACHES
from penstock.storage import Store, disk_limit
from penstock.transforms.apply import Transforms
from penstock.types import OnProgress, no_progress

CHANNELS = {"RGB": _native.Channels.RGB, "L": _native.Channels.L, "unchanged": _native.Channels.UNCHANGED}
VERIFY = {"first": _native.Verify.FIRST, "always": _native.Verify.ALWAYS, "never": _native.Verify.NEVER}
LAYOUTS = {"NHWC": _native.Layout.NHWC, "NCHW": _native.Layout.NCHW}
DECODES = ("exact", "approximate")
POLICIES = ("raise", "skip", "replace")

WindowLike = Window | int | str | bool | None

# Keywords of torch's DataLoader that have nothing to do here, and what does it instead.
NEEDLESS = {
    "num_workers": "the loader has threads, not processes: `threads` sets how many",
    "pin_memory": "penstock.torch.Loader pins memory by itself when there is a device",
    "pin_memory_device": "penstock.torch.Loader takes `device`",
    "prefetch_factor": "the loader reads ahead as far as `memory` allows",
    "persistent_workers": "threads live as long as the loader",
    "multiprocessing_context": "no process is started",
    "timeout": "an error ends the wait; nothing is waited for that cannot come",
    "in_order": "batches always come in order",
}
# Those that would change what comes out, and what to write instead.
REPLACED = {
    "collate_fn": "batches come collated: transform them in the loop, or use `as_tuple`",
    "sampler": "use `subset` to choose samples and `seed`, `shuffle`, `rank`, `world_size` to order them",
    "batch_sampler": "use `batch_size`, `drop_last`, `seed` and `subset`",
    "worker_init_fn": "no worker process is started: randomness is a function of (seed, epoch, id)",
    "generator": "use `seed`: randomness is a function of (seed, epoch, id)",
}
# Keywords of version 0.1, and their names now.
RENAMED = {"cached": "cache_format"}


@dataclass(frozen=True, slots=True)
class Ordering:
    """Options of samples, their order, and the batches of ranks."""

    batch_size: int = 1
    seed: int = 0
    split: str | None = None
    subset: Subset | None = None
    shuffle: bool = True
    drop_last: bool = False
    window: WindowLike = None
    rank: int = 0
    world_size: int = 1

    def __post_init__(self) -> None:
        check_count("batch_size", self.batch_size, 1)


@dataclass(frozen=True, slots=True)
class CacheOptions:
    """Options of memory and cache."""

    memory: int | str | None = None
    cache: str | None = None
    cache_format: str = "encoded"
    cache_limit_bytes: int | None = None
    """Limit of the cache in bytes, even if there is room for more; None means no limit."""

    def __post_init__(self) -> None:
        if self.cache is not None:
            check_choice("cache", self.cache, CACHES)
        if self.cache_limit_bytes is not None:
            check_count("cache_limit_bytes", self.cache_limit_bytes, 0)


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """Options of reading, verifying and decoding."""

    threads: int = 0
    readers: int | None = None
    """Threads that wait for reads; None: what the store asks for, 4 for files of a local disk."""
    verify: str = "first"
    decode: str = "exact"
    max_pixels: int = DEFAULT_MAX_PIXELS
    fidelity: FidelityLike = None
    overlap_epochs: bool | None = None
    """Read the first batches of the next epoch during the last ones of an epoch; None: from the second epoch on."""
    on_progress: OnProgress = no_progress

    def __post_init__(self) -> None:
        check_count("threads", self.threads, 0)
        if self.readers is not None:
            check_count("readers", self.readers, 1)
        check_choice("verify", self.verify, VERIFY)
        check_choice("decode", self.decode, DECODES)
        check_count("max_pixels", self.max_pixels, 1)


@dataclass(frozen=True, slots=True)
class OutputOptions:
    """Options of the contents of batches."""

    transform: Transforms = None
    channels: str = "RGB"
    layout: str = "NHWC"
    fields: Sequence[str] | None = None
    as_tuple: Sequence[str] | None = None
    python_workers: int | None = None
    undecoded: _native.Undecoded = _native.Undecoded.NONE
    """Images that batches hold as they are stored; set by the sink, not by a keyword."""

    def __post_init__(self) -> None:
        check_choice("channels", self.channels, CHANNELS)
        check_choice("layout", self.layout, LAYOUTS)
        if self.python_workers is not None:
            check_count("python_workers", self.python_workers, 0)

    @property
    def is_undecoded(self) -> bool:
        """True if some images are delivered undecoded."""
        return self.undecoded is not _native.Undecoded.NONE


@dataclass(frozen=True, slots=True)
class ErrorOptions:
    """Options for samples that cannot be read or decoded."""

    on_error: str = "raise"
    max_errors: int = 100
    """Even `skip` and `replace` raise once more different samples than this have failed."""

    def __post_init__(self) -> None:
        check_choice("on_error", self.on_error, POLICIES)
        check_count("max_errors", self.max_errors, 0)


@dataclass(frozen=True, slots=True)
class LoaderOptions:
    """All options of a loader, by subject."""

    ordering: Ordering = field(default_factory=Ordering)
    caching: CacheOptions = field(default_factory=CacheOptions)
    reading: ReadOptions = field(default_factory=ReadOptions)
    output: OutputOptions = field(default_factory=OutputOptions)
    errors: ErrorOptions = field(default_factory=ErrorOptions)


GROUPS: Mapping[str, type[Any]] = {
    "ordering": Ordering,
    "caching": CacheOptions,
    "reading": ReadOptions,
    "output": OutputOptions,
    "errors": ErrorOptions,
}
NOT_KEYWORDS = ("undecoded",)


def keyword_defaults() -> dict[str, Any]:
    """Return every flat keyword with its default."""
    return {
        option.name: option.default
        for group in GROUPS.values()
        for option in fields(group)
        if option.name not in NOT_KEYWORDS
    }


def options_of(keywords: Mapping[str, Any]) -> LoaderOptions:
    """Make options from flat keywords, including those of torch's DataLoader and old names.

    >>> options_of({"batch_size": 8, "memory": "1GiB"}).caching.memory
    '1GiB'
    """
    known = keyword_defaults()
    own: dict[str, Any] = {}
    foreign: dict[str, Any] = {}
    for name, value in keywords.items():
        new = RENAMED.get(name, name)
        if new != name:
            warnings.warn(f"{name} is called {new} now", DeprecationWarning, stacklevel=_callers_level())
        if new != name and new in keywords:
            raise ArgumentError(f"{name} and {new} are the same keyword", where=name, fix=f"give {new} alone", code=100)
        (own if new in known else foreign)[new] = value
    take_foreign_keywords(foreign)
    parts = {
        group: kind(**{option.name: own[option.name] for option in fields(kind) if option.name in own})
        for group, kind in GROUPS.items()
    }
    return LoaderOptions(**parts)


def native_options(options: LoaderOptions, cache: str, store: Store | None = None) -> _native.PipelineOptions:
    """Convert the options for the native pipeline; `cache` is the chosen policy, `store` holds the bytes."""
    reading, output = options.reading, options.output
    native = _native.PipelineOptions()
    native.caching = _native.Caching.SYSTEM if CACHES[cache].buffered else _native.Caching.NONE
    native.verify = VERIFY[reading.verify]
    native.approximate = reading.decode == "approximate"
    native.channels = CHANNELS[output.channels]
    native.layout = LAYOUTS[output.layout]
    native.max_pixels = reading.max_pixels
    native.undecoded = output.undecoded
    native.read_limit = disk_limit()
    if reading.readers is not None:
        native.num_readers = reading.readers
    elif store is not None:
        native.num_readers = store.num_readers
    return native


def check_choice(name: str, value: object, choices: Mapping[str, object] | tuple[str, ...]) -> None:
    """Refuse a word that is not among the choices."""
    if value not in choices:
        raise ArgumentError(f"{name} is {value!r}", where=name, fix=f"choose among {', '.join(choices)}", code=100)


def check_count(name: str, value: object, least: int) -> None:
    """Refuse values that are not whole numbers of at least `least`."""
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise ArgumentError(
            f"{name} is {value!r}", where=name, fix=f"give a whole number of at least {least}", code=100
        )


def take_foreign_keywords(keywords: Mapping[str, object]) -> None:
    """Accept keywords of torch's DataLoader with a note, or refuse them with a replacement."""
    for name, value in keywords.items():
        if name in REPLACED and value is None:
            continue
        if name in REPLACED:
            raise ArgumentError(f"the loader takes no {name}", where=name, fix=REPLACED[name], code=100)
        if name not in NEEDLESS:
            raise TypeError(f"Loader() got an unexpected keyword argument {name!r}")
        if value:
            warnings.warn(f"{name} is not needed: {NEEDLESS[name]}", UserWarning, stacklevel=_callers_level())


def _callers_level() -> int:
    """Return the stack level, as `warnings.warn` counts it, of the code that called this package."""
    level, frame = 1, currentframe()
    frame = frame.f_back if frame is not None else None
    while frame is not None and str(frame.f_globals.get("__name__", "")).startswith("penstock."):
        level, frame = level + 1, frame.f_back
    return level


__all__ = [
    "CACHES",
    "CHANNELS",
    "DECODES",
    "LAYOUTS",
    "OWN_CACHES",
    "POLICIES",
    "VERIFY",
    "CacheOptions",
    "ErrorOptions",
    "LoaderOptions",
    "Ordering",
    "OutputOptions",
    "ReadOptions",
    "WindowLike",
    "check_choice",
    "check_count",
    "keyword_defaults",
    "native_options",
    "options_of",
]
