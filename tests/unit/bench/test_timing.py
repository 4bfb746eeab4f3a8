"""The harness of the committed benchmarks keeps its promises."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench import timing
from bench.corpus import evenly
from bench.timing import Session, Timing, interleave, ratio


class Clock:
    """A clock that moves only when told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_contenders_alternate_and_the_order_rotates() -> None:
    calls: list[str] = []

    interleave({"a": lambda: calls.append("a"), "b": lambda: calls.append("b")}, rounds=2, warm_ups=1)

    assert calls == ["a", "b", "a", "b", "b", "a"]


def test_each_round_is_timed_by_the_clock() -> None:
    clock = Clock()
    steps = iter((9.0, 3.0, 1.0, 2.0))

    def work() -> None:
        clock.now += next(steps)

    found = interleave({"work": work}, rounds=3, clock=clock)["work"]

    assert found.seconds == (3.0, 1.0, 2.0)
    assert (found.best, found.median, found.worst) == (1.0, 2.0, 3.0)


def test_a_ratio_says_how_many_times_faster_with_its_spread() -> None:
    found = ratio(Timing("fast", (1.0, 2.0, 1.0)), Timing("slow", (3.0, 4.0, 2.0)))

    assert (found.of_best, found.median, found.lowest, found.highest) == (2.0, 2.0, 2.0, 3.0)


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(timing, "LOCK", tmp_path / "lock")
    monkeypatch.setattr(timing, "RESULTS", tmp_path / "results")
    return tmp_path


def test_nothing_is_timed_before_it_was_verified(places: Path) -> None:
    def verify() -> None:
        raise AssertionError("wrong pixels")

    with Session("name", "Question?", "corpus", 1) as session, pytest.raises(AssertionError, match="wrong pixels"):
        session.compare({"work": lambda: pytest.fail("was timed")}, verify=verify)


def test_a_recorded_line_says_everything_it_depends_on(places: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Session("name", "Question?", "corpus", 5, rounds=7, record=True, packages=["numpy"]) as session:
        found = session.compare({"ours": lambda: sum(range(9999)), "theirs": lambda: sum(range(9999))}, verify=int)
        session.report(found, baseline="theirs", amount_bytes=10**6, format="raw")

    lines = [json.loads(line) for line in (places / "results" / "name.jsonl").read_text().splitlines()]
    assert [line["contender"] for line in lines] == ["ours", "theirs"]
    assert lines[0].keys() >= {
        "best_seconds",
        "ratio_of_best",
        "commit",
        "cpu",
        "simd",
        "date",
        "foreign_cores",
        "format",
    }
    assert lines[0]["libraries"].keys() >= {"numpy", "libjpeg-turbo"}
    assert "Question?  corpus, 5 images, 1 thread" in capsys.readouterr().out


def test_nothing_is_recorded_unless_asked_for(places: Path) -> None:
    with Session("name", "Question?", "corpus", 5, rounds=7) as session:
        session.report(session.compare({"work": lambda: sum(range(9999))}, verify=int), baseline="work")

    assert not (places / "results").exists()


def test_a_sample_is_spread_evenly() -> None:
    paths = [Path(str(index)) for index in range(10)]

    assert evenly(paths, 0) == paths
    assert evenly(paths, 20) == paths
    assert [path.name for path in evenly(paths, 5)] == ["0", "2", "4", "6", "8"]
