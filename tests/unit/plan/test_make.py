"""Plans: the rule deals images out as the optimum wants, and the words fit the numbers."""

from __future__ import annotations

import json
import time
from dataclasses import replace

import numpy as np
import pytest

from penstock.documents import Document
from penstock.errors import ArgumentError
from penstock.plan import Goals, make_plan, read_cost_rule, write_plan
from penstock.plan.liquid_search import closed_form, search, search_pair
from penstock.plan.make import predict
from penstock.plan.mix_problem import make_problem
from penstock.plan.mix_rates import rates_of, two_formats
from penstock.plan.solve import solve
from penstock.profile import Measurement
from penstock.rates import Rates
from tests.unit.plan.conftest import MEGABYTE, make_profile

PNG_AND_RAW = {"png": (1.0, 20.0), "raw": (3.0, 0.5)}
FOUR = {"png": (1.0, 20.0), "raw": (3.0, 0.5), "weir:fast": (0.95, 0.8), "weir:dense": (0.85, 1.6)}


@pytest.mark.parametrize("spread", [0.0, 0.4])
def test_the_rule_gives_the_shares_of_the_optimum(spread: float) -> None:
    profile = make_profile(PNG_AND_RAW, source="png", disk=150 * MEGABYTE, spread=spread)
    plan = make_plan(profile, Goals())
    optimum = solve(make_problem(profile, Goals()))
    assert plan.chosen.rates.end_to_end == pytest.approx(1 / optimum.seconds_per_image, rel=0.01)
    for name, share in zip(PNG_AND_RAW, optimum.assignment.mean(axis=0), strict=True):
        assert plan.mix[name] == pytest.approx(share, abs=0.01)


def test_every_plan_shows_four_rows_from_the_folder_to_the_mix() -> None:
    plan = make_plan(make_profile(PNG_AND_RAW, source="png", disk=150 * MEGABYTE), Goals())
    names = [row.name for row in plan.rows]
    rates = [row.rates.end_to_end for row in plan.rows]
    assert names == ["folder as it is", "packed, same bytes", "best single format", "chosen mix"]
    assert rates == sorted(rates)


def test_a_compute_bound_user_is_told_that_converting_buys_nothing() -> None:
    plan = make_plan(make_profile(FOUR, source="png", disk=1e9, compute=5.0), Goals())
    assert plan.mix == {"png": 1.0}
    assert any("converting buys nothing" in sentence for sentence in plan.explanation)


def test_giving_up_source_bytes_is_said() -> None:
    formats = {"jpeg": (0.2, 10.0), "weir:fast": (1.2, 0.8)}
    plan = make_plan(make_profile(formats, source="jpeg", disk=1e9), Goals())
    assert any("give up their jpeg bytes" in sentence for sentence in plan.explanation)


@pytest.mark.parametrize("format", ["jpeg:restart", "pjpeg", "jpeg:progressive"])
def test_a_rewritten_jpeg_does_not_give_up_its_bytes_for_pixels(format: str) -> None:
    formats = {"jpeg": (0.2, 10.0), format: (0.2, 5.0)}
    plan = make_plan(make_profile(formats, source="jpeg", disk=1e9), Goals())
    assert plan.mix == {format: 1.0}
    assert not any("give up" in sentence for sentence in plan.explanation)
    assert f"100% {format} keeps the coefficients of the JPEGs: no pixel changes." in plan.explanation


def test_sluice_is_chosen_and_its_promise_is_said() -> None:
    formats = {"jpeg": (0.2, 10.0), "sluice": (0.18, 4.0), "raw": (1.2, 5.0)}
    plan = make_plan(make_profile(formats, source="jpeg", disk=1e9), Goals())
    assert plan.mix == {"sluice": 1.0}
    assert not any("give up" in sentence or "loses detail" in sentence for sentence in plan.explanation)
    assert any("restores the original files byte for byte" in sentence for sentence in plan.explanation)


def test_pixels_that_lose_detail_are_not_called_exact() -> None:
    formats = {"jpeg": (0.2, 10.0), "jpeg:q=50": (0.1, 5.0)}
    profile = make_profile(formats, source="jpeg", disk=1e9, lossy={"jpeg:q=50": 0.99})
    said = make_plan(profile, Goals(min_ms_ssim=0.9)).explanation
    assert not any("stay exact" in sentence for sentence in said)
    assert any(sentence.startswith("100% jpeg:q=50 loses detail") for sentence in said)


@pytest.mark.parametrize(("disk", "spread", "num_formats"), [(200, 0.2, 2), (400, 0.4, 3)])
def test_a_third_format_must_gain_a_hundredth(disk: int, spread: float, num_formats: int) -> None:
    formats = {"jpeg": (0.3, 20.0), "weir:dense": (1.5, 10.0), "raw": (3.0, 0.5)}
    profile = make_profile(formats, source="jpeg", disk=disk * MEGABYTE, spread=spread)
    optimum, plan = solve(make_problem(profile, Goals())), make_plan(profile, Goals())
    assert (optimum.assignment.mean(axis=0) > 0.02).sum() == 3
    assert len(plan.mix) == num_formats
    assert plan.chosen.rates.end_to_end >= 0.99 / optimum.seconds_per_image


@pytest.mark.parametrize("decode_milliseconds", [1.0, 20.0])  # with 20, a cache of nine tenths would do as well
def test_memory_that_holds_everything_is_not_told_as_a_percentage(decode_milliseconds: float) -> None:
    formats = {"png": (1.0, decode_milliseconds)}
    plan = make_plan(make_profile(formats, source="png", disk=10 * MEGABYTE, num_samples=500), Goals())
    assert "Adding 1 GB of memory would help most: the dataset would then fit in the cache." in plan.explanation
    assert not any("%" in sentence and "Adding" in sentence for sentence in plan.explanation)


def test_no_resource_buys_more_than_reading_for_nothing() -> None:
    profile = make_profile(FOUR, source="png", disk=10 * MEGABYTE, num_samples=500)
    plan = make_plan(profile, Goals())
    free = make_plan(profile, Goals(disk_bytes_per_second=1e15))
    for item in plan.what_if:
        assert item.images_per_second <= free.chosen.rates.end_to_end * 1.01


def test_more_of_the_scarce_resource_buys_more() -> None:
    disk_bound = make_plan(make_profile({"png": (1.0, 1.0)}, source="png", disk=10 * MEGABYTE), Goals())
    cpu_bound = make_plan(make_profile({"png": (1.0, 20.0)}, source="png", disk=1e10), Goals())
    gains = [{item.resource: item.gain for item in plan.what_if} for plan in (disk_bound, cpu_bound)]
    assert gains[0]["one more core"] == pytest.approx(0, abs=1e-6)
    assert gains[0]["100 MB/s more disk"] > 5
    assert gains[1]["one more core"] == pytest.approx(0.5, rel=1e-3)
    assert gains[1]["100 MB/s more disk"] == pytest.approx(0, abs=1e-6)


def test_the_smallest_sufficient_cache_makes_the_disk_keep_up() -> None:
    profile = make_profile({"png": (1.0, 20.0)}, source="png", disk=50 * MEGABYTE)
    smallest = make_plan(profile, Goals()).smallest_cache_bytes
    assert smallest == pytest.approx(0.5 * 10_000 * MEGABYTE, rel=1e-2)  # 50 of 100 images/s must come from memory
    at_it = make_plan(profile, Goals(memory_bytes=smallest)).rows.packed.rates
    assert at_it.load == pytest.approx(at_it.decode, rel=1e-3)


def test_a_plan_s_rule_survives_its_document() -> None:
    plan = make_plan(make_profile(FOUR, source="png", disk=1500 * MEGABYTE, spread=0.4), Goals())
    members = json.loads(write_plan(plan))
    rule = read_cost_rule(Document(members["rules"][0]["cheapest"], "plan.rules[0]"))
    assert rule == plan.rule


def test_a_million_images_are_assigned_in_seconds() -> None:
    plan = make_plan(make_profile(PNG_AND_RAW, source="png", disk=150 * MEGABYTE, spread=0.4), Goals())
    rng = np.random.default_rng(1)
    pixels = rng.uniform(0.6, 1.4, 10**6) * MEGABYTE
    begin = time.process_time()
    chosen = plan.rule.choose(np.arange(10**6), pixels, pixels * rng.uniform(0.6, 1.4, 10**6))
    assert time.process_time() - begin < 10  # a promise of the command, thirty times what it takes
    share = (chosen == list(plan.rule.formats).index("raw")).mean()
    assert share == pytest.approx(plan.mix["raw"], abs=0.15)


@pytest.mark.parametrize("disk", [30, 100, 150, 300, 900, 5000])
def test_liquids_search_finds_the_best_tenth_in_few_probes(disk: float) -> None:
    problem = make_problem(make_profile(PNG_AND_RAW, source="png", disk=disk * MEGABYTE), Goals())
    found = search_pair(problem, 0, 1)
    best = max(rates_of(problem, two_formats(problem, 0, 1, step / 10)).prep for step in range(11))
    assert found.rates.prep == pytest.approx(best)
    assert found.num_probes <= 6


@pytest.mark.parametrize("disk", [30, 150, 300, 5000])
@pytest.mark.parametrize("memory", [0, 4 * 10**9])
def test_the_closed_form_is_the_optimum_of_two_formats(disk: float, memory: int) -> None:
    problem = make_problem(make_profile(PNG_AND_RAW, source="png", disk=disk * MEGABYTE), Goals(memory_bytes=memory))
    at_closed_form = rates_of(problem, two_formats(problem, 0, 1, closed_form(problem, 0, 1))).end_to_end
    assert at_closed_form == pytest.approx(1 / solve(problem).seconds_per_image, rel=2e-3)


def test_the_search_asks_only_for_what_it_needs() -> None:
    problem = make_problem(make_profile(PNG_AND_RAW, source="png", disk=150 * MEGABYTE), Goals())
    asked: list[float] = []

    def measure(share: float) -> Rates:
        asked.append(share)
        return rates_of(problem, two_formats(problem, 0, 1, share))

    search(measure)
    assert len(asked) == len(set(asked)) <= 6


def test_an_unknown_method_and_a_pair_without_raw_are_refused() -> None:
    profile = make_profile({"png": (1.0, 20.0)}, source="png", disk=1e9)
    with pytest.raises(ArgumentError, match="'lp' or 'liquid'"):
        make_plan(profile, Goals(), method="guess")
    with pytest.raises(ArgumentError, match="measure raw too"):
        make_plan(profile, Goals(), method="liquid")


def test_a_plan_made_earlier_is_predicted_for_the_machine_as_it_is_now() -> None:
    profile = make_profile({"png": (1.0, 20.0), "raw": (3.0, 0.5)}, source="png", disk=300e6)
    goals = Goals(memory_bytes=0)
    plan = make_plan(profile, goals)
    assert predict(plan.rule, profile, goals, window=plan.window) == plan.chosen.rates
    slower = predict(plan.rule, replace(profile, busy_cores=Measurement.exactly(1.0)), goals, window=plan.window)
    assert slower.decode == pytest.approx(plan.chosen.rates.decode / 2)
    assert slower.load == plan.chosen.rates.load
