"""Runs with known causes get their names."""

from __future__ import annotations

import pytest

from penstock.doctor import Observed, diagnose_run


def run(*, wait: float, step: float, cpu: float = 0.1, disk_share: float | None = None, workers: int = 2) -> Observed:
    """Ten seconds on two cores; `cpu` and `disk_share` are shares of what there is."""
    return Observed(
        num_batches=100,
        wait_seconds=wait,
        step_seconds=step,
        first_wait_seconds=0.0,
        wall_seconds=10.0,
        cpu_seconds=cpu * 20.0,
        cores=2,
        disk_bytes=round((disk_share or 0.0) * 1e9),
        disk_bytes_per_second=1e8 if disk_share is not None else None,
        num_workers=workers,
        roots=("photos",),
    )


@pytest.mark.parametrize(
    ("observed", "bottleneck"),
    [
        (run(wait=0.1, step=9.9, cpu=0.99), "compute"),
        (run(wait=5, step=5, cpu=0.97), "decode"),
        (run(wait=5, step=5, cpu=0.3, disk_share=0.95), "storage"),
        (run(wait=5, step=5, cpu=0.3, disk_share=0.1), "latency"),
        (run(wait=5, step=5, cpu=0.3), "latency"),
    ],
)
def test_the_busiest_resource_is_named(observed: Observed, bottleneck: str) -> None:
    assert diagnose_run(observed).bottleneck == bottleneck


def test_the_most_to_gain_is_a_loop_that_never_waits() -> None:
    found = diagnose_run(run(wait=6, step=4, cpu=0.97))
    assert found.stall_share == pytest.approx(0.6)
    assert found.most_to_gain == pytest.approx(2.5)
    assert "penstock profile photos" in found.advice[-1]


def test_a_loader_without_workers_is_told_to_have_some() -> None:
    assert any("num_workers > 0" in line for line in diagnose_run(run(wait=5, step=5, workers=0)).advice)


def test_a_run_without_batches_says_so() -> None:
    nothing = Observed(0, 0.0, 0.0, 0.0, 1.0, 1.0, 2, 0)
    assert "No batch" in diagnose_run(nothing).advice[0]
