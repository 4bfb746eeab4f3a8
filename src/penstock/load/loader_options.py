"""What a loader may be told, checked once, where the user enters."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass

from penstock import _native
from penstock.codecs.contract import DEFAULT_MAX_PIXELS
from penstock.errors import ArgumentError
from penstock.storage import disk_limit

CHANNELS = {"RGB": _native.Channels.RGB, "L": _native.Channels.L, "unchanged": _native.Channels.UNCHANGED}
VERIFY = {"first": _native.Verify.FIRST, "always": _native.Verify.ALWAYS, "never": _native.Verify.NEVER}
LAYOUTS = {"NHWC": _native.Layout.NHWC, "NCHW": _native.Layout.NCHW}
CACHES = {
    "system": _native.Caching.SYSTEM,
    "none": _native.Caching.NONE,
    "rolling": _native.Caching.NONE,
    "pinned": _native.Caching.NONE,
    "liquid": _native.Caching.NONE,
}
OWN_CACHES = ("rolling", "pinned", "liquid")
"""Those that hold samples in the loader's own memory."""
DECODES = ("exact", "approximate")
POLICIES = ("raise", "skip", "replace")

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


@dataclass(frozen=True, slots=True)
class ErrorPolicy:
    """What becomes of a sample that cannot be read or decoded."""

    on_error: str = "raise"
    max_errors: int = 100
    """So many different samples may fail before even `skip` and `replace` raise."""

    def __post_init__(self) -> None:
        check_choice("on_error", self.on_error, POLICIES)
        check_count("max_errors", self.max_errors, 0)


@dataclass(frozen=True, slots=True)
class ReadPolicy:
    """How bytes are had and checked."""

    cache: str = "system"
    verify: str = "first"
    decode: str = "exact"
    channels: str = "RGB"
    layout: str = "NHWC"
    max_pixels: int = DEFAULT_MAX_PIXELS

    def __post_init__(self) -> None:
        check_choice("cache", self.cache, CACHES)
        check_choice("verify", self.verify, VERIFY)
        check_choice("decode", self.decode, DECODES)
        check_choice("channels", self.channels, CHANNELS)
        check_choice("layout", self.layout, LAYOUTS)
        check_count("max_pixels", self.max_pixels, 1)

    def native(self) -> _native.PipelineOptions:
        """As the pipeline takes it."""
        options = _native.PipelineOptions()
        options.caching = CACHES[self.cache]
        options.verify = VERIFY[self.verify]
        options.approximate = self.decode == "approximate"
        options.channels = CHANNELS[self.channels]
        options.layout = LAYOUTS[self.layout]
        options.max_pixels = self.max_pixels
        options.read_limit = disk_limit()
        return options


def check_choice(name: str, value: object, choices: Mapping[str, object] | tuple[str, ...]) -> None:
    """Refuse a word that is not among the choices."""
    if value not in choices:
        raise ArgumentError(f"{name} is {value!r}", where=name, fix=f"choose among {', '.join(choices)}", code=100)


def check_count(name: str, value: object, least: int) -> None:
    """Refuse what is no whole number from `least` on."""
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise ArgumentError(
            f"{name} is {value!r}", where=name, fix=f"give a whole number of at least {least}", code=100
        )


def take_foreign_keywords(keywords: Mapping[str, object]) -> None:
    """Accept with a note, or refuse with a replacement, what torch's DataLoader takes and this loader does not."""
    for name, value in keywords.items():
        if name in REPLACED and value is None:
            continue
        if name in REPLACED:
            raise ArgumentError(f"the loader takes no {name}", where=name, fix=REPLACED[name], code=100)
        if name not in NEEDLESS:
            raise TypeError(f"Loader() got an unexpected keyword argument {name!r}")
        if value:
            warnings.warn(f"{name} is not needed: {NEEDLESS[name]}", UserWarning, stacklevel=4)
