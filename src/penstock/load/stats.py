"""Where the time and the bytes of a loader went, in one dict."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.load.budget import Budget
from penstock.load.delivery import Progress
from penstock.load.failures import FailureLog
from penstock.rates import bottleneck_by_stages


def stats_of(
    native: Mapping[str, Any],
    progress: Progress,
    log: FailureLog,
    budget: Budget,
    python: Mapping[str, float] | None = None,
) -> dict[str, Any]:
    """The counters of all parts under the names of the guide."""
    seconds = progress.run_seconds
    stages: dict[str, Mapping[str, float]] = {
        "storage": {"busy_seconds": native["read_busy_seconds"], "wait_seconds": native["read_wait_seconds"]},
        "decode": {"busy_seconds": native["decode_busy_seconds"], "wait_seconds": native["decode_wait_seconds"]},
        "compute": {"wait_seconds": progress.wait_seconds, "busy_seconds": max(0.0, seconds - progress.wait_seconds)},
    }
    if python is not None:
        stages["python"] = python
    return {
        "num_batches": progress.num_batches,
        "num_samples": progress.num_samples,
        "images_per_second": progress.num_samples / seconds if seconds else 0.0,
        "bytes_read": native["bytes_read"],
        "num_reads": native["num_reads"],
        "bytes_saved": progress.bytes_saved,
        "hit_ratio": native["num_hits"] / max(1, native["num_decoded"]),
        "hits_per_batch": hits_of(progress.hits),
        "cache_bytes": native["cache_bytes"],
        "cache_limit_bytes": budget.cache_bytes,
        "refill_bytes": progress.refill_bytes,
        "num_unkept": native["num_unkept"],
        "io": {
            "engine": native["io_engine"],
            "direct": native["io_direct"],
            "uring_refusal": native["uring_refusal"],
            "num_retries": native["num_retries"],
        },
        "stages": stages,
        "bottleneck": bottleneck_by_stages(stages, seconds),
        "memory_bytes": native["memory_bytes"],
        "peak_memory_bytes": native["peak_memory_bytes"],
        "working_bytes": budget.working_bytes,
        "num_errors": log.num_errors,
        "num_failed_samples": len(log.samples),
        "errors": [{"id": failure.id, "error": str(failure.error)} for failure in log.kept],
    }


def hits_of(hits: list[int]) -> dict[str, float]:
    """How many samples of a batch were in memory: the least, on average, the most."""
    if not hits:
        return {"minimum": 0.0, "mean": 0.0, "maximum": 0.0}
    return {"minimum": float(min(hits)), "mean": sum(hits) / len(hits), "maximum": float(max(hits))}
