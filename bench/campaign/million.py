"""How long does planning a million images take?"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from bench.campaign.data import Data
from bench.campaign.log import Log
from penstock.plan import Goals, make_plan

QUESTION = "How long does planning a million images take?"
COUNT = 10**6
MOST_SECONDS = 10.0


def run(data: Sequence[Data], log: Log) -> bool:
    """Solve, then give each of a million images its format."""
    is_met = True
    for mine in data:
        profile = mine.profile()
        profile = replace(profile, dataset=replace(profile.dataset, num_samples=COUNT))
        pixels, source_bytes = (np.resize(values, COUNT) for values in mine.features())
        begin = time.perf_counter()
        plan = make_plan(profile, Goals(memory_bytes=0, disk_bytes_per_second=500e6))
        solved = time.perf_counter() - begin
        plan.rule.choose(np.arange(COUNT), pixels, source_bytes)
        seconds = time.perf_counter() - begin
        print(f"{mine.corpus.name}: {seconds:.2f} s, of which {solved:.2f} s to solve and explain", flush=True)
        log.record(QUESTION, {"corpus": mine.corpus.name, "seconds": seconds, "solve_seconds": solved, "count": COUNT})
        is_met &= seconds <= MOST_SECONDS
    return is_met
