"""Form of samples in the cache, measured or as requested, and the memory that it takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from penstock import _native
from penstock.codecs import parse_format
from penstock.errors import ArgumentError
from penstock.index import Ids
from penstock.load.disk_probe import measure_disk
from penstock.load.engine_table import EngineTable
from penstock.load.format_trial import FORM_NUMBERS, Bench, Probe, Trial
from penstock.load.loader_options import LoaderOptions, check_choice
from penstock.order import RankSchedule
from penstock.order.cache_formats import ENCODED, CacheRoom, FormatCost, FormatSamples, choose_cache_formats, forecast
from penstock.order.caches import policy_of

DECODED = "decoded"
PIXELS, WEIR = "pixels", "weir:fast"
CHOICES = (ENCODED, DECODED, PIXELS, WEIR)
UNPACKED = ("raw", "bmp", "pnm")  # pixels already
MARGIN = 1.05  # over the least compressible sample that was measured
ASSUMED_WEIR = 0.5  # of the pixels' bytes, in plans that nobody has measured for yet
WEIR_SCRATCH = 2  # times the pixels of a sample: what its encoder writes, and how that grows
Sizes = npt.NDArray[np.int64]


@dataclass(frozen=True)
class CacheLayout:
    """Form of each format and each sample in the cache. The default, `CacheLayout()`, caches samples as stored."""

    wanted: str = ENCODED
    chosen: Mapping[str, str] = field(default_factory=dict)
    """Chosen form of each format."""
    forms: npt.NDArray[np.uint8] | None = None
    """Form of each sample, as the native table has it; None if all are encoded."""
    sizes: Sizes | None = None
    """Bytes that each sample may take in memory; None if all are encoded."""
    measured: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def at_most(cls, cached: str, samples: EngineTable) -> CacheLayout:
        """Return the layout, among those possible before measuring, that takes most memory to make."""
        if cached not in (DECODED, WEIR):
            return cls(cached)
        return cls(cached, forms=np.full(samples.num_samples, FORM_NUMBERS[WEIR], np.uint8))

    @classmethod
    def estimated(cls, wanted: str, samples: EngineTable) -> CacheLayout:
        """Estimate the layout without measuring: pixels take what the index says, Weir a typical part of that.

        What "decoded" would choose is taken to be pixels.
        """
        assert samples.pixel_sizes is not None, "checked before"
        form = WEIR if wanted == WEIR else PIXELS
        numbers, rooms = np.zeros(samples.num_samples, np.uint8), samples.sizes.copy()
        chosen = {}
        for number, name in enumerate(samples.format_names):
            stays = form not in _candidates(name, wanted, may_encode=True)
            chosen[name] = ENCODED if stays else form
            if not stays:
                ids = np.flatnonzero(samples.formats == number)
                numbers[ids] = FORM_NUMBERS[form]
                rooms[ids] = scaled_sizes(samples.pixel_sizes[ids], ASSUMED_WEIR if form == WEIR else 1.0)
        return cls(wanted, chosen, numbers, rooms)

    def apply(self, table: _native.SampleTable) -> None:
        """Set the form of each sample in a native table, for pipelines that are made later."""
        if self.forms is None or self.sizes is None:
            table.set_kept(np.zeros(0, np.uint8), np.zeros(0, np.uint64))
        else:
            table.set_kept(self.forms, self.sizes.astype(np.uint64))

    def sizes_of(self, samples: EngineTable, encoded: Sizes) -> Sizes:
        """Return the bytes of each sample in memory: planned or, before measuring, at most."""
        if self.sizes is not None:
            return self.sizes
        return encoded if self.forms is None or samples.pixel_sizes is None else samples.pixel_sizes

    def scratch_bytes(self, samples: EngineTable) -> int:
        """Return the memory that a thread needs to convert a sample for the cache, in addition to decoding."""
        if self.forms is None or samples.pixel_sizes is None or not (self.forms == FORM_NUMBERS[WEIR]).any():
            return 0
        return WEIR_SCRATCH * int(samples.pixel_sizes.max())

    def as_stats(self, native: Mapping[str, Any]) -> dict[str, Any]:
        """Convert the layout for `Loader.stats()`."""
        return {
            "wanted": self.wanted,
            "formats": dict(self.chosen),
            "num_recoded": native["num_recoded"],
            "num_decodes_saved": native["num_decodes_saved"],
            "num_unfit": native["num_unfit"],
            **({"measured": dict(self.measured)} if self.measured else {}),
        }


def check_cache_format(wanted: str, samples: EngineTable, options: LoaderOptions, cache: str) -> None:
    """Refuse an unknown format, and one that conflicts with other options."""
    check_choice("cache_format", wanted, CHOICES)
    if wanted == ENCODED:
        return
    policy = policy_of(cache)
    for is_wrong, what, fix in (
        (policy.owns_order, f"the order of the {cache} cache depends on what memory holds", 'use cache="rolling"'),
        (not policy.keeps_samples, f'cache="{cache}" keeps no samples', 'use cache="rolling" or "pinned"'),
        (
            options.reading.decode == "approximate",
            "approximate decoding takes less than the whole image",
            'use decode="exact", or leave cache_format out',
        ),
        (options.output.is_undecoded, "images are decoded on the device", "leave cache_format out"),
        (
            samples.blocks is not None,
            "images in blocks (pjpeg, sluice:layers=2) stay as the scans or layers that their fidelity needs",
            "leave cache_format out, or build the dataset in another format",
        ),
        (
            samples.pixel_sizes is None,
            "it needs a built dataset, because the sizes of a plain folder's images are unknown",
            "build a dataset of it: `penstock build FOLDER DATASET` keeps the files as they are",
        ),
    ):
        if is_wrong:
            raise ArgumentError(
                f"cache_format={wanted!r} cannot be used: {what}", where="cache_format", fix=fix, code=100
            )


def plan_cache_layout(
    cached: str, samples: EngineTable, rank_schedule: RankSchedule, room: CacheRoom, bench: Bench, *, may_encode: bool
) -> CacheLayout:
    """Choose the form of each format, and the room of each sample; the format is checked, and not "encoded".

    `may_encode` tells whether there is enough memory for encoding.
    """
    selection = rank_schedule.order.selection
    numbers = samples.formats[selection]
    formats = {samples.format_names[number]: selection[numbers == number] for number in np.unique(numbers).tolist()}
    candidates = {name: _candidates(name, cached, may_encode=may_encode) for name in formats}
    probe = Probe(samples, formats, bench)
    tried = {form: probe.try_form(form) for form in _tried(cached, candidates)}
    sizes = {
        form: {name: _rooms(samples, trials[name], form) if name in trials else samples.sizes for name in formats}
        for form, trials in tried.items()
    }
    if cached == DECODED:
        sources = _sources(samples, formats, candidates, tried, sizes, rank_schedule.world_size)
        chosen = choose_cache_formats(sources, room)
        measured = _measured(sources, chosen, room)
    else:
        possible = {name: [form for form in forms if name in tried.get(form, {})] for name, forms in candidates.items()}
        chosen = {name: forms[-1] if forms else ENCODED for name, forms in possible.items()}
        measured = {}
    return _planned(cached, samples, formats, chosen, sizes, measured)


def _candidates(format: str, cached: str, *, may_encode: bool) -> list[str]:
    """Return the possible forms of a format; samples that are pixels or Weir already are not converted."""
    wanted = [cached] if cached != DECODED else [PIXELS, WEIR] if may_encode else [PIXELS]
    codec = parse_format(format).codec
    if cached == DECODED and codec in UNPACKED:
        wanted = []
    return [ENCODED, *(form for form in wanted if form != format)]


def _tried(cached: str, candidates: Mapping[str, list[str]]) -> list[str]:
    forms = list(dict.fromkeys(form for some in candidates.values() for form in some))
    return forms if cached == DECODED else [form for form in forms if form != ENCODED or len(forms) == 1]


def _rooms(samples: EngineTable, trial: Trial, form: str) -> Sizes:
    """Return the room of each sample, extrapolated from those that were tried.

    Pixels take what the index says (masks: what was found). The size of Weir is predicted from the pixels or from the
    encoded bytes, whichever predicted the tried samples better.
    """
    assert samples.pixel_sizes is not None
    if form == ENCODED:
        return samples.sizes
    is_there = trial.held_bytes > 0
    if not is_there.any():  # there is no memory for a single one
        return samples.pixel_sizes
    held, ids = trial.held_bytes[is_there], trial.ids[is_there]
    by_pixels = held / samples.pixel_sizes[ids]
    if form == PIXELS:
        return scaled_sizes(samples.pixel_sizes, by_pixels.max())
    by_bytes = held / samples.sizes[ids]
    tells_more = by_bytes.max() / by_bytes.mean() < by_pixels.max() / by_pixels.mean()
    told, ratio = (samples.sizes, by_bytes.max()) if tells_more else (samples.pixel_sizes, by_pixels.max())
    return scaled_sizes(told, ratio * MARGIN)


def scaled_sizes(sizes: Sizes, factor: float) -> Sizes:
    """Return the sizes times a factor, rounded up."""
    return np.asarray(np.ceil(sizes * factor), np.int64)


def _sources(
    samples: EngineTable,
    formats: Mapping[str, Ids],
    candidates: Mapping[str, list[str]],
    tried: Mapping[str, Mapping[str, Trial]],
    sizes: Mapping[str, Mapping[str, Sizes]],
    world_size: int,
) -> dict[str, FormatSamples]:
    """Return the samples of one rank; every rank has the same number of each format."""
    disk = measure_disk(samples)
    sources = {}
    for name, ids in formats.items():
        forms = {
            form: FormatCost(
                float(sizes[form][name][ids].mean()), tried[form][name].hit_seconds, tried[form][name].enter_seconds
            )
            for form in candidates[name]
            if name in tried[form]
        }
        record_bytes = float(samples.sizes[ids].mean())
        read_seconds = 0.0 if disk is None else 1 / disk.records_per_second(record_bytes)
        if ENCODED in forms:
            sources[name] = FormatSamples(len(ids) / world_size, read_seconds, forms)
    return sources


def _measured(sources: Mapping[str, FormatSamples], chosen: Mapping[str, str], room: CacheRoom) -> dict[str, Any]:
    """Return the basis of the choice: costs by format and form, and the forecast of each choice."""
    plain = forecast(sources, dict.fromkeys(sources, ENCODED), room)
    found = forecast(sources, chosen, room)
    return {
        "formats": {
            name: {
                "read_seconds": source.read_seconds,
                "forms": {
                    form: {"bytes": cost.bytes, "hit_seconds": cost.hit_seconds, "enter_seconds": cost.enter_seconds}
                    for form, cost in source.forms.items()
                },
            }
            for name, source in sources.items()
        },
        "expected_share": found.share,
        "expected_seconds": found.seconds,
        "expected_share_encoded": plain.share,
        "expected_seconds_encoded": plain.seconds,
    }


def _planned(
    cached: str,
    samples: EngineTable,
    formats: Mapping[str, Ids],
    chosen: dict[str, str],
    sizes: Mapping[str, Mapping[str, Sizes]],
    measured: Mapping[str, Any],
) -> CacheLayout:
    chosen = {name: chosen.get(name, ENCODED) for name in formats}
    forms, rooms = np.zeros(samples.num_samples, np.uint8), samples.sizes.copy()
    for name, ids in formats.items():
        if chosen[name] != ENCODED:
            forms[ids] = FORM_NUMBERS[chosen[name]]
            rooms[ids] = sizes[chosen[name]][name][ids]
    if not forms.any():
        return CacheLayout(cached, chosen, measured=measured)
    return CacheLayout(cached, chosen, forms, rooms, measured)
