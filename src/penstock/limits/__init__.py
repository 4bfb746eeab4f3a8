"""Run measurements as if on a smaller machine: with less memory, a slower disk, fewer cores.

Control groups (version 1 or 2) enforce the limits where they are permitted. Otherwise a core limit falls back on CPU
affinity and a disk limit on Penstock's own readers. Every result says what enforced its limits (`Enforcement`).
"""

from penstock.limits.limit_values import NO_LIMITS, Limits, parse_limits
from penstock.limits.limited_run import Completed, Enforcement, run
from penstock.limits.worker_call import WorkerReply, call_worker

__all__ = [
    "NO_LIMITS",
    "Completed",
    "Enforcement",
    "Limits",
    "WorkerReply",
    "call_worker",
    "parse_limits",
    "run",
]
