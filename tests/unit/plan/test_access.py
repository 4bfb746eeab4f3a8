"""A plan says how its disk should be read: record by record where that is as fast, in runs where it seeks."""

from __future__ import annotations

import json
from dataclasses import replace

from penstock.plan import Goals, Plan, make_plan, write_plan
from penstock.plan.make import predict
from penstock.profile import Measurement, Profile, read_profile, write_profile
from tests.unit.plan.conftest import MEGABYTE, make_profile

FORMATS = {"png": (0.1, 0.1), "raw": (0.3, 0.01)}  # 100 and 300 kB


def profile_of(seek_seconds: float, decode: float = 1.0, memory_bytes: int = 8 << 30) -> Profile:
    """A disk of 150 MB/s; `decode` times slower decoding."""
    formats = {name: (size, seconds * decode) for name, (size, seconds) in FORMATS.items()}
    profile = make_profile(formats, source="png", disk=150 * MEGABYTE)
    disk = replace(
        profile.disk,
        reads_per_second=Measurement.exactly(1 / max(seek_seconds, 1e-6)),
        seek_seconds=Measurement.exactly(seek_seconds),
    )
    return replace(profile, disk=disk, memory_bytes=memory_bytes)


def plan_of(profile: Profile, **goals: float) -> Plan:
    return make_plan(read_profile(write_profile(profile)), Goals(memory_bytes=0, **goals))  # type: ignore[arg-type]


def test_a_disk_that_seeks_is_read_in_runs() -> None:
    plan = plan_of(profile_of(8e-3))
    assert plan.window is not None
    assert plan.chosen.rates.end_to_end > 5 * plan.rows.folder.rates.end_to_end
    assert "This disk seeks" in " ".join(plan.explanation)
    document = json.loads(write_plan(plan))
    assert document["access"] == "runs"
    assert document["window"] == {"run": plan.window.run, "runs": plan.window.runs}


def test_a_plan_made_earlier_is_predicted_with_its_window() -> None:
    profile, goals = profile_of(8e-3), Goals(memory_bytes=0)
    plan = make_plan(profile, goals)
    assert predict(plan.rule, profile, goals, window=plan.window) == plan.chosen.rates
    assert predict(plan.rule, profile, goals, window=None).load < plan.chosen.rates.load / 5


def test_a_window_buys_nothing_on_a_disk_that_does_not_seek() -> None:
    goals = Goals(memory_bytes=0)
    window = make_plan(profile_of(8e-3), goals).window
    unseeking = profile_of(0.0)
    unseeking = replace(unseeking, disk=replace(unseeking.disk, reads_per_second=Measurement.exactly(0.0)))
    plan = make_plan(unseeking, goals)
    assert predict(plan.rule, unseeking, goals, window=window) == plan.chosen.rates


def test_a_disk_that_does_not_seek_is_read_record_by_record() -> None:
    for seek_seconds in (0.0, 20e-6):
        plan = plan_of(profile_of(seek_seconds))
        assert plan.window is None
        document = json.loads(write_plan(plan))
        assert document["access"] == "random"
        assert "window" not in document


def test_nobody_shuffles_less_for_a_disk_that_nobody_waits_for() -> None:
    assert plan_of(profile_of(8e-3, decode=1000.0)).window is None
    assert plan_of(profile_of(8e-3), compute_rate=50.0).window is None


def test_a_profile_that_did_not_look_gives_no_window() -> None:
    profile = profile_of(8e-3)
    unseen = replace(profile, disk=replace(profile.disk, seek_seconds=None))
    assert read_profile(write_profile(unseen)).disk.seek_seconds is None
    assert plan_of(unseen).window is None


def test_runs_are_shorter_where_memory_is_short() -> None:
    large, small = (plan_of(profile_of(8e-3, memory_bytes=memory)).window for memory in (8 << 30, 1 << 30))
    assert large is not None
    assert small is not None
    assert small.run < large.run
