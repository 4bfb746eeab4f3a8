"""Choice of how to read a dataset from the measured disk: record by record in any order, or in runs."""

from __future__ import annotations

from dataclasses import replace

from penstock.order import Window
from penstock.order.disk_rates import WORTH_IT, DiskRates, choose_window
from penstock.plan.mix_problem import Problem
from penstock.plan.mix_rates import rates_of
from penstock.rates import Rates
from penstock.types import Floats

OPEN_SHARE = 4  # of the machine's memory, runs may take one part in so many; a loader has half of what is free


def choose_access(problem: Problem, assignment: Floats, memory_bytes: int) -> Window | None:
    """Return the window that the disk needs for this mix; None if the full permutation is about as fast.

    A window shuffles less, so it must raise the rate of training in return.
    """
    if problem.seek_seconds <= 0:
        return None
    random = rates_of(problem, assignment)
    window = choose_window(
        DiskRates(problem.disk_bytes_per_second, 1 / problem.seek_seconds),
        random.bytes_per_image + problem.page_bytes,
        problem.num_samples,
        most_open_bytes=memory_bytes / OPEN_SHARE,
        num_formats=max(1, int((assignment.sum(axis=0) > 0).sum())),
    )
    if window is None:
        return None
    gain = rates_of(in_runs(problem, window), assignment).end_to_end / random.end_to_end
    return window if gain >= WORTH_IT else None


def in_runs(problem: Problem, window: Window) -> Problem:
    """Return the same problem, read in runs: one request serves all records of a run."""
    return replace(
        problem,
        seconds_per_read=problem.seconds_per_read / window.run,
        seek_seconds=problem.seek_seconds / window.run,
    )


def say_access(window: Window | None, random: Rates, chosen: Rates) -> list[str]:
    """Describe the choice in a sentence if it is unusual."""
    if window is None:
        return []
    rates = f"{chosen.end_to_end:,.0f} images/s instead of {random.end_to_end:,.0f}"
    return [
        f"This disk seeks: read in runs of {window.run} neighbouring records it gives {rates}, for a shuffle that is "
        "a little less random. A dataset built by this plan is read so wherever it is loaded; `window=False` undoes it."
    ]
