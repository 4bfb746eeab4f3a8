"""Report of `auto`: what was measured, chosen, predicted and reached."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from penstock.auto.steps import AutoResult, Decision
from penstock.bench import EmulatedBench
from penstock.plan import Plan, Row
from penstock.plan.mix_problem import Problem, make_problem
from penstock.plan.mix_rates import rates_of, two_formats
from penstock.rates import CORNERS
from penstock.report import Figure, Page, Section, Table, render
from penstock.report.charts import Mark, Series, bars, lines, scatter, triangle
from penstock.units import bytes_text


def make_report(decision: Decision, result: AutoResult | None, problem: Problem | None = None) -> bytes:
    """Make the report of a run, or of a decision not to build."""
    plan, profile = decision.plan, decision.profile
    problem = problem or _problem(decision)
    headline = f"{result.speed_up:.2f} times the rate" if result is not None else "nothing was built"
    limits = str(decision.options.limits)
    machine = f"{profile.cpu}, {profile.cores} cores" + ("" if limits == "none" else f", as if with {limits}")
    sections = [Section("What it means", tuple(plan.explanation))]
    if result is not None:
        sections.append(_measured(decision, result, problem))
    sections += [_formats(decision), _mixes(plan, problem), _rows(plan)]
    title = f"Penstock: {Path(str(decision.source.path)).name}, {headline}"
    subtitle = f"{profile.dataset.num_samples:,} samples, {bytes_text(profile.dataset.source_bytes)}; {machine}"
    return render(Page(title, subtitle, sections))


def _problem(decision: Decision) -> Problem:
    return make_problem(decision.profile, decision.goals)


def _measured(decision: Decision, result: AutoResult, problem: Problem) -> Section:
    plan = decision.plan
    groups = [
        ("before", [("predicted", plan.rows.folder.rates.end_to_end), ("measured", result.before.images_per_second)]),
        ("after", [("predicted", plan.chosen.rates.end_to_end), ("measured", result.after.images_per_second)]),
    ]
    shapes = [
        ("before", _utilisation(result.before, problem, result)),
        ("after", _utilisation(result.after, problem, result)),
    ]
    before, after = result.before.images_per_second, result.after.images_per_second
    sentences = (
        f"Measured: {before:,.0f} images/s before, {after:,.0f} after.",
        f"Limits were enforced as follows: before {result.before.enforced_by}; after {result.after.enforced_by}.",
        *_about_cache(decision),
    )
    return Section(
        "Before and after",
        sentences,
        (
            Figure(bars(groups, "images per second"), "Predicted before it was measured, and measured."),
            Figure(
                triangle(shapes, ("rate", *CORNERS[1:])),
                "How busy the cores (decode) and the disk (storage) were; the rate is images per second, as a share of "
                "the better one.",
            ),
        ),
    )


def _about_cache(decision: Decision) -> list[str]:
    if decision.cache_bytes == 0:
        return []
    size = bytes_text(decision.cache_bytes)
    if decision.benches_cache:
        kept = f"Both sides kept {size} in the loader's cache ({decision.plan.cache})"
        return [f"{kept}; the epoch that filled it is not counted."]
    return [f"Filling a cache of {size} takes longer than a bench may: without it both were slower than predicted."]


def _utilisation(bench: EmulatedBench, problem: Problem, result: AutoResult) -> tuple[float, float, float]:
    last = list(bench.found.items("epochs"))[-1]
    seconds = last.number("seconds")
    cpu = last.number("cpu_seconds") / seconds / problem.cores
    disk = last.number("bytes_read") / seconds / problem.disk_bytes_per_second
    best = max(result.before.images_per_second, result.after.images_per_second)
    return bench.images_per_second / best, min(1.0, cpu), min(1.0, disk)


def _formats(decision: Decision) -> Section:
    profile = decision.profile
    marks = [
        Mark(name, float(costs.bytes.mean()), float(costs.decode_seconds.mean()) * 1e3)
        for name, costs in profile.formats.items()
    ]
    rows = tuple(
        (
            name,
            bytes_text(round(costs.bytes.mean())),
            f"{costs.decode_seconds.mean() * 1e3:.3f}",
            f"{costs.encode_seconds.mean() * 1e3:.2f}",
            f"{costs.ms_ssim.mean():.4f}",
        )
        for name, costs in profile.formats.items()
    )
    return Section(
        "What your images cost in each format",
        (f"Mean of {len(profile.images)} sampled images; decoding includes the transform {profile.transform!r}.",),
        (Figure(scatter(marks, "bytes per image", "decode ms on one core"), "Left: small. Down: quick to decode."),),
        Table(("format", "bytes", "decode ms", "encode ms", "MS-SSIM"), rows),
    )


def _mixes(plan: Plan, problem: Problem) -> Section:
    """Compute load and decode rates between the source's format and the chosen one that differs most from it."""
    source = problem.source
    others = {name: share for name, share in plan.mix.items() if name != problem.formats[source]}
    single = next(iter(plan.rows.single.mix))
    name = max(others, key=lambda key: others[key]) if others else single
    if name == problem.formats[source]:
        name = next((other for other in problem.formats if other != name), name)
    other = problem.formats.index(name)
    shares = np.linspace(0, 1, 41)
    rates = [rates_of(problem, two_formats(problem, source, other, float(share))) for share in shares]
    top = max(rate.end_to_end for rate in rates) * 3
    curves = {"load": [r.load for r in rates], "decode": [r.decode for r in rates]}
    if math.isfinite(problem.compute_rate):
        curves["compute"] = [problem.compute_rate] * len(shares)
    inside = {
        key: [(float(s), v) for s, v in zip(shares, curve, strict=True) if v <= top] for key, curve in curves.items()
    }
    series = [Series(key, tuple(points)) for key, points in inside.items() if points]
    beyond = [key for key, points in inside.items() if len(points) < len(shares)]
    caption = "Where loading and decoding cross, both finish together; the slower one counts."
    if beyond:
        caption += f" What is faster than {top:,.0f} a second is beyond the picture ({', '.join(beyond)})."
    marks = []
    if set(plan.mix) <= {name, problem.formats[source]}:
        marks.append(Mark("chosen", plan.mix.get(name, 0.0), plan.chosen.rates.end_to_end))
    drawing = lines(series, f"share of {name}, the rest {problem.formats[source]}", "images per second", marks)
    return Section(
        "The mix",
        (),
        (Figure(drawing, caption),),
    )


def _rows(plan: Plan) -> Section:
    rows = tuple(
        (
            row.name,
            " + ".join(f"{share:.0%} {name}" for name, share in row.mix.items()),
            *_rate_cells(row),
            row.rates.bottleneck,
            bytes_text(row.total_bytes),
        )
        for row in plan.rows
    )
    columns = ("", "formats", "load/s", "decode/s", "compute/s", "images/s", "waits for", "on disk")
    return Section("Four ways to keep the data", (), (), Table(columns, rows))


def _rate_cells(row: Row) -> tuple[str, ...]:
    rates = (row.rates.load, row.rates.decode, row.rates.compute, row.rates.end_to_end)
    return tuple(f"{rate:,.0f}" if math.isfinite(rate) else "–" for rate in rates)
