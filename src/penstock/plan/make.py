"""Planning from a profile and goals: solves, compares with the alternatives, and explains."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from penstock.errors import ArgumentError
from penstock.order import Window
from penstock.plan.access import choose_access, in_runs, say_access
from penstock.plan.cache_run import cached_rates, run_cache
from penstock.plan.document import Plan, Row, Rows, WhatIf
from penstock.plan.explain import explain, say_cache
from penstock.plan.fidelity_advice import advise
from penstock.plan.liquid_search import closed_form, search_pair
from penstock.plan.mix_problem import Goals, Problem, make_problem
from penstock.plan.mix_rates import rates_of, single_format, two_formats
from penstock.plan.rule import CostRule, FormatEstimate, calibrate
from penstock.plan.solve import CostWeights, solve
from penstock.profile import Profile
from penstock.rates import Rates, share_in_memory, slowest_seconds
from penstock.types import Floats

WORTH_A_MIX = 0.01
"""Gain that another format must have, as a share of the rate."""

ENDLESS = 1e15
"""Bytes per second of a disk that costs no time."""

WIDTH = 1e-3
"""Width of the random term that spreads ties, in times per image."""


def make_plan(profile: Profile, goals: Goals, *, method: str = "lp", seed: int = 0) -> Plan:
    """Choose the mix that loads fastest within the goals; `method` is `lp` or `liquid`."""
    random = problem = make_problem(profile, goals)
    rule = _chosen_rule(profile, problem, method, seed)
    one_by_one = _expected(rule, profile, problem)
    window = choose_access(problem, one_by_one, profile.memory_bytes)
    if window is not None:
        problem = in_runs(problem, window)
        rule = _chosen_rule(profile, problem, method, seed)
    assignment = _expected(rule, profile, problem)
    rows = _rows(profile, problem, assignment, random.seconds_per_read)
    what_if = _what_if(profile, goals, problem, rates_of(problem, assignment).end_to_end)
    forecast = run_cache(problem, assignment)
    smallest = _smallest_cache(problem, assignment, rows.chosen.rates)
    fidelity = advise(profile, problem, goals, rows.packed.rates, rows.chosen.rates)
    return Plan(
        rule=rule,
        mix=rows.chosen.mix,
        method=method,
        rows=rows,
        what_if=what_if,
        smallest_cache_bytes=smallest,
        cached_share=rows.chosen.rates.cached_share,
        forecast=forecast,
        cache="none" if problem.memory_bytes == 0 else "rolling",
        threads=max(1, round(goals.cores if goals.cores is not None else profile.cores)),
        window=window,
        explanation=(
            *explain(problem, rows, what_if, smallest),
            *say_cache(forecast, problem.num_samples),
            *say_access(window, cached_rates(random, one_by_one), rows.chosen.rates),
            *([fidelity.reason] if fidelity is not None else []),
        ),
        liquid=_liquid_beside(problem),
        fidelity=fidelity,
    )


def predict(rule: CostRule, profile: Profile, goals: Goals, *, window: Window | None) -> Rates:
    """Predict the rates of a plan that was made earlier, or elsewhere, on a machine with this profile.

    `window` is that of the plan, or of the dataset built from it. Its effect on a disk with slow random reads is
    included.
    """
    problem = make_problem(profile, goals)
    if window is not None:
        problem = in_runs(problem, window)
    return cached_rates(problem, _expected(rule, profile, problem))


def _chosen_rule(profile: Profile, problem: Problem, method: str, seed: int) -> CostRule:
    if method == "lp":
        solution = solve(problem)
        rule = _rule(profile, problem, solution.prices, solution.assignment.mean(axis=0), seed)
        return _simplest(rule, profile, problem)
    if method == "liquid":
        return _rule(profile, problem, CostWeights(0.0, 0.0, 0.0), _liquid_shares(problem), seed)
    raise ArgumentError(f"method is {method!r}", where="--method", fix="write 'lp' or 'liquid'")


def _rule(profile: Profile, problem: Problem, prices: CostWeights, shares: Floats, seed: int) -> CostRule:
    formats = {name: FormatEstimate(*profile.estimates(name)) for name in problem.formats}
    source = problem.formats[problem.source]
    rule = CostRule(prices, source, formats, WIDTH, seed)
    wanted = {name: float(share) for name, share in zip(problem.formats, shares, strict=True)}
    return calibrate(rule, wanted, *_features(profile))


def _simplest(rule: CostRule, profile: Profile, problem: Problem) -> CostRule:
    """Choose the fewest formats whose rate is within WORTH_A_MIX of the best: unchanged, one for all, or a mix."""
    reached = rates_of(problem, _expected(rule, profile, problem)).end_to_end
    singles = [
        (rates_of(problem, cells).end_to_end, column)
        for column in range(len(problem.formats))
        if _total_bytes(problem, cells := single_format(problem, column)) <= problem.storage_bytes
    ]
    best = max((rate for rate, _ in singles), default=0.0)
    wanted = max(reached, best) * (1 - WORTH_A_MIX)
    for rate, column in sorted(singles, key=lambda item: (item[1] != problem.source, -item[0])):
        if rate >= wanted:
            name = problem.formats[column]
            return replace(rule, formats={name: FormatEstimate(*profile.estimates(name))})
    used = [column for column, share in enumerate(_expected(rule, profile, problem).mean(axis=0)) if share > 0]
    for count in range(2, len(used)):
        fewer = [_restricted(rule, profile, problem, columns) for columns in combinations(used, count)]
        rated = [
            (rates_of(problem, _expected(one, profile, problem)).end_to_end, one) for one in fewer if one is not None
        ]
        rate, simplest = max(rated, key=lambda item: item[0], default=(0.0, rule))
        if rate >= wanted:
            return simplest
    return rule


def _restricted(rule: CostRule, profile: Profile, problem: Problem, columns: Sequence[int]) -> CostRule | None:
    """Return the best rule with only these formats; None if they do not fit the storage."""
    try:
        solution = solve(problem, columns)
    except ArgumentError:
        return None
    names = [problem.formats[column] for column in columns]
    made = replace(
        rule, prices=solution.prices, formats={name: FormatEstimate(*profile.estimates(name)) for name in names}
    )
    shares = solution.assignment.mean(axis=0)
    wanted = {name: float(shares[column]) for name, column in zip(names, columns, strict=True)}
    return calibrate(made, wanted, *_features(profile))


def _expected(rule: CostRule, profile: Profile, problem: Problem) -> Floats:
    """Compute the mean effect of the rule on images like the sampled ones, over many draws."""
    pixels, source_bytes = _features(profile)
    repeats = max(1, 4096 // len(pixels))
    chosen = rule.choose(
        np.arange(len(pixels) * repeats), np.repeat(pixels, repeats), np.repeat(source_bytes, repeats)
    ).reshape(len(pixels), repeats)
    assignment = np.zeros_like(problem.bytes)
    for number, name in enumerate(rule.formats):
        assignment[:, problem.formats.index(name)] = (chosen == number).mean(axis=1)
    return assignment


def _features(profile: Profile) -> tuple[Floats, Floats]:
    return (
        np.array([image.pixels for image in profile.images], float),
        np.array([image.source_bytes for image in profile.images], float),
    )


def _rows(profile: Profile, problem: Problem, assignment: Floats, seconds_per_file: float) -> Rows:
    """Make the rows. `seconds_per_file` is the time per file beyond its bytes; a window does not apply to files."""
    source = single_format(problem, problem.source)
    singles = [single_format(problem, column) for column in range(len(problem.formats))]
    affordable = [cells for cells in singles if _total_bytes(problem, cells) <= problem.storage_bytes] or [source]
    best = max(affordable, key=lambda cells: rates_of(problem, cells).end_to_end)
    files = replace(problem, seconds_per_read=seconds_per_file + profile.disk.file_seconds.median)
    folder_rates = cached_rates(files, source)
    folder = Row("folder as it is", _mix(problem, source), folder_rates, profile.dataset.source_bytes, 0.0)
    return Rows(
        folder=folder,
        packed=_row(profile, problem, "packed, same bytes", source),
        single=_row(profile, problem, "best single format", best),
        chosen=_row(profile, problem, "chosen mix", assignment),
    )


def _row(profile: Profile, problem: Problem, name: str, assignment: Floats) -> Row:
    encode = np.stack([profile.formats[name].encode_seconds for name in problem.formats], axis=1)
    encode[:, problem.source] = 0.0  # its bytes are copied
    cpu_seconds = float((assignment * encode).sum()) / len(encode) * problem.num_samples
    total = _total_bytes(problem, assignment)
    moved = profile.dataset.source_bytes + total
    build_seconds = slowest_seconds(problem.capacity.decode_seconds(cpu_seconds), moved / problem.disk_bytes_per_second)
    return Row(name, _mix(problem, assignment), cached_rates(problem, assignment), round(total), build_seconds)


def _total_bytes(problem: Problem, assignment: Floats) -> float:
    return float((assignment * problem.bytes).sum()) / len(assignment) * problem.num_samples


def _mix(problem: Problem, assignment: Floats) -> dict[str, float]:
    shares = assignment.mean(axis=0)
    return {name: round(float(share), 6) for name, share in zip(problem.formats, shares, strict=True) if share > 1e-6}


def _what_if(profile: Profile, goals: Goals, problem: Problem, present: float) -> tuple[WhatIf, ...]:
    cores = goals.cores if goals.cores is not None else float(profile.cores)
    changes = {
        "one more core": replace(problem, cores=profile.speedup(cores + 1) * profile.utilisation),
        "1 GB more memory": replace(problem, memory_bytes=problem.memory_bytes + 10**9),
        "100 MB/s more disk": replace(problem, disk_bytes_per_second=problem.disk_bytes_per_second + 1e8),
    }
    most = 1 / solve(replace(problem, disk_bytes_per_second=ENDLESS)).seconds_per_image
    found = []
    for resource, changed in changes.items():
        solution = solve(changed)
        rate = 1 / solution.seconds_per_image
        if changed.cores == problem.cores:
            rate = min(rate, most)  # whatever is added, reading cannot be faster than free
        # By all memory: the program caches no more than it needs, also where everything would fit.
        size = float((solution.assignment * problem.bytes).sum(axis=1).mean())
        held = share_in_memory(changed.memory_bytes_per_sample, size)
        fits = changed.memory_bytes > problem.memory_bytes and held > 1 - WORTH_A_MIX
        note = "the dataset would then fit in the cache" if fits else ""
        found.append(WhatIf(resource, rate, max(0.0, rate / present - 1), note))
    return tuple(found)


def _smallest_cache(problem: Problem, assignment: Floats, rates: Rates) -> int:
    """Return the memory at which loading keeps up with the next slowest stage; 0 if no more is needed."""
    wanted = min(rates.decode, rates.compute)
    if not math.isfinite(wanted) or rates.load >= wanted:
        return 0
    cached_share = problem.capacity.cached_share_for(rates.bytes_per_image, wanted)
    enough = math.ceil(cached_share * rates.bytes_per_image * problem.num_samples)
    held = 1 - run_cache(replace(problem, memory_bytes=enough), assignment).read_share
    return math.ceil(enough * cached_share / held) if held > 0 else enough  # the cache holds less than its memory


def _pair(problem: Problem) -> tuple[int, int] | None:
    """Return Liquid's pair: the source's format, and raw pixels."""
    if "raw" not in problem.formats or problem.formats[problem.source] == "raw":
        return None
    return problem.source, problem.formats.index("raw")


def _liquid_shares(problem: Problem) -> Floats:
    pair = _pair(problem)
    if pair is None:
        raise ArgumentError("Liquid mixes the source's format with raw", where="--method liquid", fix="measure raw too")
    shares: Floats = two_formats(problem, *pair, search_pair(problem, *pair).share)[0]
    return shares


def _liquid_beside(problem: Problem) -> Mapping[str, float | int | str] | None:
    pair = _pair(problem)
    if pair is None:
        return None
    found = search_pair(problem, *pair)
    exact = closed_form(problem, *pair)
    return {
        "formats": "+".join(problem.formats[column] for column in pair),
        "share_of_raw": found.share,
        "images_per_second": found.rates.end_to_end,
        "num_probes": found.num_probes,
        "closed_form_share_of_raw": exact,
        "closed_form_images_per_second": rates_of(problem, two_formats(problem, *pair, exact)).end_to_end,
    }
