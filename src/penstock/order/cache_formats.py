"""Choice of the form of cached samples: encoded, pixels, or pixels encoded again. Pure arithmetic.

A form that takes more memory gives fewer hits and more reads; a form that decodes faster may be worth that. `load`
measures the costs, and this module weighs them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from penstock.rates import share_in_memory, slowest_seconds

ENCODED = "encoded"
WORTH_IT = 1.05  # so many times faster must another form be: a measurement is off by a few per cent
ROUNDS = 4


@dataclass(frozen=True, slots=True)
class FormatCost:
    """Mean cost of a sample in one form."""

    bytes: float
    """Bytes in memory."""
    hit_seconds: float
    """Seconds of a core for a hit."""
    enter_seconds: float
    """Seconds of a core to read and keep a sample: a whole decode, even if only a part is needed."""


@dataclass(frozen=True, slots=True)
class FormatSamples:
    """Samples of one format."""

    num_samples: float
    read_seconds: float
    """Seconds of the disk per sample."""
    forms: Mapping[str, FormatCost]
    """"encoded" is one of them: what it costs to find a sample so is what it costs to read and not to keep it."""


@dataclass(frozen=True, slots=True)
class CacheRoom:
    """Available memory and threads."""

    threads: int
    free_bytes: int
    """Memory for cached samples, and for those that enter before others leave."""
    num_passing: int = 0
    """Number of samples that may enter before others leave."""
    stays: bool = False
    """True if cached samples stay (`pinned`); False if others replace them (`rolling`)."""


@dataclass(frozen=True, slots=True)
class Forecast:
    """Expected cost per sample of a choice, once memory is full."""

    share: float
    """Share of the samples that memory serves."""
    core_seconds: float
    disk_seconds: float
    threads: int

    @property
    def seconds(self) -> float:
        """Seconds per sample of the slower of cores and disk, which work in parallel."""
        return slowest_seconds(self.core_seconds / self.threads, self.disk_seconds)


def forecast(sources: Mapping[str, FormatSamples], chosen: Mapping[str, str], room: CacheRoom) -> Forecast:
    """Predict the cost if the samples of each source are cached in the chosen form.

    Every source gets the same share of its samples into memory. If samples replace each other, of the share x that is
    kept for the next epoch, 1 - x was not in memory before and has to be decoded whole, in every epoch.

    >>> costs = {"encoded": FormatCost(1e5, 0.010, 0.010), "pixels": FormatCost(3e5, 0.002, 0.012)}
    >>> png = FormatSamples(1000, 0.0, costs)
    >>> for_good = CacheRoom(threads=1, free_bytes=150_000_000, stays=True)
    >>> round(forecast({"png": png}, {"png": "pixels"}, for_good).core_seconds, 6)
    0.006
    """
    count = sum(source.num_samples for source in sources.values())
    total_bytes = sum(source.num_samples * source.forms[chosen[name]].bytes for name, source in sources.items())
    passing_bytes = room.num_passing * total_bytes / max(count, 1)
    left = room.free_bytes - (passing_bytes if room.free_bytes < total_bytes else 0)
    share = share_in_memory(left, max(total_bytes, 1.0))
    entering = 0.0 if room.stays else share * (1 - share)
    core, disk = 0.0, 0.0
    for name, source in sources.items():
        plain, form = source.forms[ENCODED], source.forms[chosen[name]]
        part = source.num_samples / max(count, 1)
        core += part * (share * form.hit_seconds + (1 - share) * plain.hit_seconds)
        core += part * entering * max(form.enter_seconds - plain.hit_seconds, 0.0)
        disk += part * (1 - share) * source.read_seconds
    return Forecast(share, core, disk, room.threads)


def choose_cache_formats(sources: Mapping[str, FormatSamples], room: CacheRoom) -> dict[str, str]:
    """Choose the fastest form for each source; encoded, unless another is clearly faster.

    >>> costs = {"encoded": FormatCost(1e5, 0.010, 0.010), "pixels": FormatCost(3e5, 0.002, 0.012)}
    >>> png = FormatSamples(1000, 0.0, costs)
    >>> choose_cache_formats({"png": png}, CacheRoom(threads=1, free_bytes=10**9))
    {'png': 'pixels'}
    >>> slow = FormatSamples(1000, 0.1, png.forms)  # a disk that gives 10 samples a second: hits are all that counts
    >>> choose_cache_formats({"png": slow}, CacheRoom(threads=1, free_bytes=50_000_000))
    {'png': 'encoded'}
    """
    encoded = dict.fromkeys(sources, ENCODED)
    starts = [encoded]
    for form in dict.fromkeys(form for source in sources.values() for form in source.forms):
        starts.append({name: form if form in source.forms else ENCODED for name, source in sources.items()})
    best = min((_settled(sources, start, room) for start in starts), key=lambda chosen: _rank(sources, chosen, room))
    worth = forecast(sources, encoded, room).seconds >= WORTH_IT * forecast(sources, best, room).seconds
    return best if worth else encoded


def _settled(sources: Mapping[str, FormatSamples], start: Mapping[str, str], room: CacheRoom) -> dict[str, str]:
    """Improve one source at a time, given the others, until no choice changes."""
    chosen = dict(start)
    for _ in range(ROUNDS):
        before = dict(chosen)
        for name, source in sources.items():
            tried = [{**chosen, name: form} for form in source.forms]
            chosen = min([chosen, *tried], key=lambda some: _rank(sources, some, room))
        if chosen == before:
            break
    return chosen


def _rank(sources: Mapping[str, FormatSamples], chosen: Mapping[str, str], room: CacheRoom) -> tuple[float, float]:
    found = forecast(sources, chosen, room)
    return found.seconds, found.core_seconds
