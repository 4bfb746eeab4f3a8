"""The optimum of cases that can be solved by hand."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.errors import ArgumentError
from penstock.plan.mix_problem import Goals, make_problem
from penstock.plan.mix_rates import rates_of, single_format, two_formats
from penstock.plan.solve import solve
from tests.unit.plan.conftest import MEGABYTE, make_profile

PNG_AND_RAW = {"png": (1.0, 20.0), "raw": (3.0, 0.5)}
FOUR = {"png": (1.0, 20.0), "raw": (3.0, 0.5), "weir:fast": (0.95, 0.8), "weir:dense": (0.85, 1.6)}


def best_by_grid(formats: dict[str, tuple[float, float]], disk: float, goals: Goals) -> float:
    problem = make_problem(make_profile(formats, source="png", disk=disk), goals)
    shares = np.linspace(0, 1, 1001)
    pairs = [(a, b) for a in range(len(formats)) for b in range(a)]
    return max(rates_of(problem, two_formats(problem, *pair, share)).end_to_end for pair in pairs for share in shares)


def test_a_slow_disk_takes_the_smallest_format() -> None:
    problem = make_problem(make_profile(FOUR, source="png", disk=10 * MEGABYTE), Goals())
    solution = solve(problem)
    assert solution.assignment.mean(axis=0)[problem.formats.index("weir:dense")] == pytest.approx(1)
    assert solution.prices.per_cpu_second == 0


def test_a_fast_disk_takes_the_quickest_format() -> None:
    problem = make_problem(make_profile(FOUR, source="png", disk=1e11), Goals())
    assert solve(problem).assignment.mean(axis=0)[problem.formats.index("raw")] == pytest.approx(1)


def test_between_them_disk_and_processor_finish_together() -> None:
    problem = make_problem(make_profile(PNG_AND_RAW, source="png", disk=150 * MEGABYTE), Goals())
    solution = solve(problem)
    rates = rates_of(problem, solution.assignment)
    assert rates.load == pytest.approx(rates.decode, rel=1e-6)
    # x raw: (1 + 2x) MB at 150 MB/s = (20 - 19.5 x) ms on 2 cores
    share = (0.010 - 1 / 150) / (2 / 150 + 0.00975)
    assert solution.assignment.mean(axis=0)[1] == pytest.approx(share, rel=1e-4)


@pytest.mark.parametrize("disk", [20, 60, 150, 400, 1500, 4000])
@pytest.mark.parametrize("memory", [0, 3 * 10**9])
def test_nothing_on_a_grid_of_pairs_is_better(disk: float, memory: int) -> None:
    goals = Goals(memory_bytes=memory)
    problem = make_problem(make_profile(FOUR, source="png", disk=disk * MEGABYTE), goals)
    found = rates_of(problem, solve(problem).assignment).end_to_end
    assert found >= best_by_grid(FOUR, disk * MEGABYTE, goals) * (1 - 1e-3)


def test_a_compute_bound_dataset_stays_as_it_is() -> None:
    problem = make_problem(make_profile(FOUR, source="png", disk=1e9, compute=5.0), Goals())
    solution = solve(problem)
    assert solution.assignment.mean(axis=0)[problem.source] == pytest.approx(1)
    assert 1 / solution.seconds_per_image == pytest.approx(5)


def test_memory_for_everything_leaves_only_the_processor() -> None:
    problem = make_problem(make_profile(PNG_AND_RAW, source="png", disk=MEGABYTE), Goals(memory_bytes=10**12))
    assert solve(problem).assignment.mean(axis=0)[1] == pytest.approx(1)
    assert rates_of(problem, single_format(problem, 1)).load == float("inf")


def test_a_storage_limit_is_kept() -> None:
    limit = 15 * 10**9  # 10,000 images: between all png (10 GB) and all raw (30 GB)
    problem = make_problem(make_profile(PNG_AND_RAW, source="png", disk=1e11), Goals(storage_bytes=limit))
    assignment = solve(problem).assignment
    assert float((assignment * problem.bytes).sum(axis=1).mean()) * 10_000 == pytest.approx(limit, rel=1e-6)


def test_an_impossible_storage_limit_is_refused_with_the_least_there_is() -> None:
    problem = make_problem(make_profile(PNG_AND_RAW, source="png", disk=1e9), Goals(storage_bytes=10**9))
    with pytest.raises(ArgumentError, match=r"needs 9\.3 GiB .* limit is 953\.7 MiB"):
        solve(problem)


def test_lossy_formats_are_chosen_only_when_allowed() -> None:
    formats = PNG_AND_RAW | {"jpeg:q=85": (0.2, 6.0), "jpeg:q=10": (0.05, 4.0)}
    lossy = {"jpeg:q=85": 0.98, "jpeg:q=10": 0.8}
    profile = make_profile(formats, source="png", disk=20 * MEGABYTE, lossy=lossy)
    assert make_problem(profile, Goals()).formats == ("png", "raw")
    assert make_problem(profile, Goals(min_ms_ssim=0.95)).formats == ("png", "raw", "jpeg:q=85")


def test_the_paper_s_machines_come_out_as_published() -> None:
    """Liquid: few slow cores with four NVMe disks take mostly raw, 64 cores with two take mostly PNG."""
    slow_cores = make_profile(PNG_AND_RAW, source="png", disk=12e9, cores=8)
    many_cores = make_profile({"png": (1.0, 8.0), "raw": (3.0, 0.5)}, source="png", disk=6e9, cores=64)
    share = [solve(make_problem(profile, Goals())).assignment.mean(axis=0)[1] for profile in (slow_cores, many_cores)]
    assert share[0] > 0.5 > share[1]


def test_every_image_of_the_optimum_is_cheapest_at_its_prices() -> None:
    problem = make_problem(make_profile(FOUR, source="png", disk=1500 * MEGABYTE, spread=0.5), Goals())
    solution = solve(problem)
    scores = solution.prices.scores(problem.bytes, problem.cpu_seconds, problem.source)
    chosen = np.take_along_axis(scores, solution.assignment.argmax(axis=1)[:, None], axis=1)[:, 0]
    np.testing.assert_allclose(chosen, scores.min(axis=1), rtol=1e-6)
