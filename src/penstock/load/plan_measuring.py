"""Measurements that a plan left open, before a loader starts: the window for a disk, the forms of cached samples."""

from __future__ import annotations

from dataclasses import replace

from penstock.errors import ArgumentError
from penstock.load.cache_layout import DECODED, CacheLayout, plan_cache_layout
from penstock.load.format_trial import Bench
from penstock.load.loader_plan import LoaderPlan, divided, make_plan
from penstock.load.windows import measure_window
from penstock.order.cache_formats import CacheRoom


def measured(plan: LoaderPlan) -> LoaderPlan:
    """Return the plan with everything measured; a complete plan is returned unchanged.

    Reads some of the dataset's records, and decodes a few samples of each format.
    """
    if "window" in plan.unmeasured:
        window = measure_window(plan.samples)
        plan = replace(plan, unmeasured=tuple(name for name in plan.unmeasured if name != "window"))
        if window is not None:
            plan = make_plan(plan.samples, plan.options, window=window)
    return _with_measured_formats(plan) if "cache_format" in plan.unmeasured else plan


def _with_measured_formats(plan: LoaderPlan) -> LoaderPlan:
    wanted = plan.options.caching.cache_format
    draft, may_encode = _draft(plan, wanted)
    free_bytes = plan.resources.memory_bytes - draft.memory.working_bytes
    num_passing = plan.num_passing(draft.memory.depth)
    limit = plan.options.caching.cache_limit_bytes
    room_bytes = free_bytes if limit is None else min(free_bytes, limit + draft.memory.depth * _passing_bytes(draft))
    room = CacheRoom(plan.resources.threads, room_bytes, num_passing, stays=plan.policy.is_permanent)
    bench = Bench(plan.chain.program(), plan.options, plan.resources.cache, draft.memory, free_bytes)
    layout = plan_cache_layout(wanted, plan.samples, plan.rank_schedule, room, bench, may_encode=may_encode)
    return divided(replace(plan, unmeasured=()), layout)


def _draft(plan: LoaderPlan, wanted: str) -> tuple[LoaderPlan, bool]:
    """Divide memory for the form that takes most to make; without enough memory, samples stay pixels."""
    try:
        return divided(plan, CacheLayout.at_most(wanted, plan.samples)), True
    except ArgumentError:
        if wanted != DECODED:
            raise
        return divided(plan, CacheLayout(wanted)), False


def _passing_bytes(plan: LoaderPlan) -> int:
    return 0 if plan.request.cache is None else plan.request.cache.passing_bytes
