"""`LoaderStats`: where the time and the bytes of a loader went, as a frozen value that reads like a mapping."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, NoReturn

from penstock.load.budget import Budget
from penstock.load.delivery import Progress
from penstock.load.failures import FailureLog
from penstock.load.plan_values import PlanValues
from penstock.rates import bottleneck_by_stages


class LoaderStats(dict[str, Any]):
    """Hold the counters of a loader. Every key is an attribute too; nothing can be changed.

    >>> stats = LoaderStats(num_batches=3, bottleneck="storage")
    >>> stats.bottleneck, stats["num_batches"], "bytes_read" in stats
    ('storage', 3, False)
    """

    num_batches: int
    num_samples: int
    images_per_second: float
    bytes_read: int
    num_reads: int
    discarded_bytes: int
    """Bytes of `bytes_read` that were read ahead for an epoch that did not come."""
    bytes_saved: int
    """Encoded bytes that the fidelity of the samples handed out did not need."""
    hit_ratio: float
    hits_per_batch: Mapping[str, float]
    """`minimum`, `mean` and `maximum` of the epoch under way or the last one."""
    cache_bytes: int
    cache_limit_bytes: int
    refill_bytes: int
    """Bytes read again only because the cache was restarted."""
    num_unkept: int
    io: Mapping[str, Any]
    stages: Mapping[str, Mapping[str, float]]
    """`busy_seconds` and `wait_seconds` of `storage`, `decode`, `compute` and, if there are any, `python`."""
    bottleneck: str
    memory_bytes: int
    peak_memory_bytes: int
    working_bytes: int
    num_errors: int
    num_failed_samples: int
    errors: list[dict[str, Any]]
    window: Mapping[str, Any] | None
    reading: Mapping[str, Any]
    fidelity: int | None
    cache_format: Mapping[str, Any]
    """Form of cached samples; also under its old name `cached`."""
    resources: Mapping[str, Any]

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  # annotated above
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"the loader's stats have no {name!r}") from None

    def __reduce__(self) -> tuple[type[LoaderStats], tuple[dict[str, Any]]]:
        return LoaderStats, (dict(self),)

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise TypeError("LoaderStats cannot be changed: make a dict of it, dict(stats)")

    __setitem__ = __delitem__ = __setattr__ = __delattr__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse


def stats_of(
    native: Mapping[str, Any],
    progress: Progress,
    log: FailureLog,
    memory: Budget,
    python: Mapping[str, float] | None = None,
) -> dict[str, Any]:
    """Return the counters of all parts under the names of the guide."""
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
        "cache_limit_bytes": memory.cache_bytes,
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
        "working_bytes": memory.working_bytes,
        "num_errors": log.num_errors,
        "num_failed_samples": len(log.samples),
        "errors": [{"id": failure.id, "error": str(failure.error)} for failure in log.kept],
    }


def plan_stats(plan: PlanValues, native: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the plan of a loader adds to its counters."""
    layout = plan.cache_layout.as_stats(native)
    return {"cache_format": layout, "cached": layout, "resources": asdict(plan.resources)}


def hits_of(hits: list[int]) -> dict[str, float]:
    """Return how many samples of a batch were in memory: the least, on average, the most."""
    if not hits:
        return {"minimum": 0.0, "mean": 0.0, "maximum": 0.0}
    return {"minimum": float(min(hits)), "mean": sum(hits) / len(hits), "maximum": float(max(hits))}
