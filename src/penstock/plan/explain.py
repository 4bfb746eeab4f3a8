"""Explanation of a plan in sentences for readers who have never measured a loader."""

from __future__ import annotations

import math
from collections.abc import Mapping

from penstock.codecs import Promise, find, parse_format
from penstock.plan.cache_run import CacheForecast
from penstock.plan.document import Row, Rows, WhatIf
from penstock.plan.mix_problem import Problem
from penstock.units import bytes_text

WORTH_CONVERTING = 1.10
"""Below ten per cent a build is not worth its time and space."""

NO_SHARE = 1e-6
"""A share that rounding leaves over."""

_WAITS = {
    "storage": "storage: the disk or network cannot deliver the bytes fast enough",
    "decode": "decoding: the cores cannot decode as fast as storage delivers",
    "compute": "the model itself: data arrives faster than it is used",
}


def explain(problem: Problem, rows: Rows, what_if: tuple[WhatIf, ...], smallest_cache_bytes: int) -> list[str]:
    """Explain what training waits for today, what the plan changes, what it costs, and what would help next."""
    folder, chosen = rows.folder, rows.chosen
    said = [f"Today training waits for {_WAITS[folder.rates.bottleneck]} ({_rate(folder.rates.end_to_end)})."]
    gain = chosen.rates.end_to_end / folder.rates.end_to_end
    if folder.rates.bottleneck == "compute":
        said.append("You are compute-bound: converting buys nothing. Spend on the accelerator, or on nothing.")
        return said
    if gain < WORTH_CONVERTING:
        said.append(f"The best mix would give {gain:.2f} times today's rate: too little to be worth converting.")
    else:
        reached = f"{_rate(chosen.rates.end_to_end)}, {gain:.2f} times today's rate"
        said.append(f"With {_mix(chosen.mix)} it reaches {reached}.")
        said += _why(rows)
        said += _costs(problem, chosen)
    said += _next_limit(chosen, what_if, smallest_cache_bytes)
    return said


def say_cache(forecast: CacheForecast, num_samples: int) -> list[str]:
    """Say what the cache finds and what an epoch reads, if there is a cache."""
    if forecast.cache == "none":
        return []
    found = f"finds {forecast.hit_ratio:.0%} of the {num_samples:,} samples in memory"
    return [f"An epoch {found} and reads {bytes_text(forecast.bytes_per_epoch)} (cache={forecast.cache!r})."]


def _why(rows: Rows) -> list[str]:
    folder, packed, single, chosen = rows.folder, rows.packed, rows.single, rows.chosen
    said = []
    packing = packed.rates.end_to_end / folder.rates.end_to_end
    if packing > 1.05:
        said.append(f"Packing the same bytes into shards alone gives {packing:.2f} times: fewer files to open.")
    over_single = chosen.rates.end_to_end / single.rates.end_to_end
    if len(chosen.mix) > 1 and over_single > 1.01:
        said.append(
            f"The mix beats the best single format ({next(iter(single.mix))}) by {over_single:.2f} times, because "
            "small files spare the disk, quick ones spare the processor, and together both finish at the same time."
        )
    elif len(chosen.mix) == 1:
        said.append("A single format is best here: no pair of formats with opposite strengths would be quicker.")
    return said


def _costs(problem: Problem, chosen: Row) -> list[str]:
    source = problem.formats[problem.source]
    others = {name: share for name, share in chosen.mix.items() if name != source}
    rewritten = {name: share for name, share in others.items() if _keeps_coefficients(source, name)}
    lossy = {name: share for name, share in others.items() if name not in rewritten and not _is_exact(name)}
    decoded = sum(others.values()) - sum(rewritten.values()) - sum(lossy.values())
    said = [f"It takes {bytes_text(chosen.total_bytes)} on disk and about {_duration(chosen.build_seconds)} to build."]
    restorable = {name: share for name, share in rewritten.items() if parse_format(name).codec == "sluice"}
    recoded = {name: share for name, share in rewritten.items() if name not in restorable}
    if recoded:
        said.append(f"{_shares(recoded)} keeps the coefficients of the JPEGs: no pixel changes.")
    if restorable:
        said.append(
            f"{_shares(restorable)} keeps the pixels of your JPEGs, and `export` restores the original files "
            "byte for byte."
        )
    if source.startswith(("jpeg", "webp")) and decoded > NO_SHARE:
        said.append(
            f"{decoded:.0%} of the images would give up their {source} bytes for their pixels, which stay exact; "
            "`--keep-source` stores both, and `export` gives pixels back."
        )
    if lossy:
        said.append(f"{_shares(lossy)} loses detail; `--keep-source` stores the original bytes too.")
    return said


def _keeps_coefficients(source: str, name: str) -> bool:
    """Return whether a JPEG keeps its coefficients in this format, because it is rewritten without a new encode."""
    format = parse_format(name)
    if parse_format(source).codec not in ("jpeg", "pjpeg"):
        return False
    return format.codec in ("pjpeg", "sluice") or (
        format.codec == "jpeg" and format.get("q") is None and format.get("subsampling") is None
    )


def _is_exact(name: str) -> bool:
    format = parse_format(name)
    return find(format.codec).promise(format) is Promise.EXACT


def _shares(mix: Mapping[str, float]) -> str:
    return ", ".join(f"{share:.0%} {name}" for name, share in mix.items())


def _next_limit(chosen: Row, what_if: tuple[WhatIf, ...], smallest_cache_bytes: int) -> list[str]:
    said = [f"Then it would wait for {_WAITS[chosen.rates.bottleneck]}."]
    best = max(what_if, key=lambda item: item.gain, default=None)
    if best is not None and best.gain >= 0.01:
        added = best.resource.replace("one more", "one").replace(" more ", " of ")
        said.append(f"Adding {added} would help most: {best.note or f'{best.gain:+.0%}'}.")
    if chosen.rates.bottleneck == "storage" and smallest_cache_bytes > 0:
        enough = bytes_text(smallest_cache_bytes)
        said.append(f"With a cache of {enough} or more, storage would no longer be the bottleneck.")
    return said


def _mix(mix: Mapping[str, float]) -> str:
    parts = [f"{share:.0%} {name}" for name, share in sorted(mix.items(), key=lambda item: -item[1])]
    return " and ".join([", ".join(parts[:-1]), parts[-1]]) if len(parts) > 1 else f"everything in {next(iter(mix))}"


def _rate(images_per_second: float) -> str:
    return f"{images_per_second:,.0f} images/s" if math.isfinite(images_per_second) else "no limit"


def _duration(seconds: float) -> str:
    if seconds < 90:
        return "a second" if seconds < 1.5 else f"{seconds:.0f} seconds"
    return f"{seconds / 60:.0f} minutes" if seconds < 5400 else f"{seconds / 3600:.1f} hours"
