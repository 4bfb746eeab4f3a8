"""Kills, errors and power cuts at every call of a build, a resumed build and an export that changes the disk.

Each is followed by the same command once more, which must give the bytes of an undisturbed run, and a dataset that
`verify` finds whole; the source stays as it is. The harnesses are tried on defects that are planted for them.
"""

from __future__ import annotations

import errno
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.dataset_files import files_of, make_photos
from tests.disk_harness import Disturbance, Outcome, Workbench
from tests.power_cut import Call, Disk, State, lay_out, read_log, state_of, states_after_cuts

MIX = "weir:fast=0.5,png=0.5"
OLD_MIX = "raw=1"
SHARD_BYTES = 4096
"""Two shards of each format."""


@dataclass
class Bench:
    """A small source, datasets that were built undisturbed, and the process that builds others."""

    process: Workbench
    folder: Path
    photos: Path
    straight: State
    old: State
    begun: State
    backs: dict[str, State] = field(default_factory=dict)

    def arguments(self, task: str, place: Path) -> dict[str, object]:
        """Of the job that a task is."""
        if task in ("folder", "webdataset"):
            return {"dataset": self.folder / "straight.pen", "out": place / "out", "layout": task}
        force = task == "force"
        return {"source": self.photos, "out": place / "out", "mix": MIX, "shard_bytes": SHARD_BYTES, "force": force}

    def before(self, task: str) -> State:
        """What the place holds before a task."""
        if task == "resume":
            return self.begun
        return _inside(self.old) if task == "force" else {}

    def wanted(self, task: str) -> State:
        """What OUT must hold in the end."""
        return self.backs.get(task, self.straight)

    def start(self, task: str, place: Path, **further: object) -> Outcome:
        """Run a task in a place."""
        job = "export" if task in self.backs else "build"
        return self.process.run(job, **further, **self.arguments(task, place))  # type: ignore[arg-type]

    def problem_after(self, task: str, place: Path) -> str:
        """What is wrong after the task was run once more; "" if nothing is."""
        if task in self.backs:
            again = self.start(task, place)
            if again.error is not None and again.error["code"] != 430:  # 430: it is there already
                return f"again: {again.error}"
        else:
            again = self.process.run("rebuild", **self.arguments(task, place))  # type: ignore[arg-type]
            if not again.is_done or again.result:
                return f"again: {again}"
        if sorted(path.name for path in place.iterdir()) != ["out"]:
            return f"left: {sorted(path.name for path in place.iterdir())}"
        return "" if state_of(place / "out") == self.wanted(task) else f"other bytes: {sorted(state_of(place / 'out'))}"


def _inside(state: State) -> State:
    return {"out": None, **{f"out/{path}": content for path, content in state.items()}}


TASKS = ("build", "resume", "force", "folder", "webdataset")


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    folder = tmp_path_factory.mktemp("faults")
    photos = make_photos(folder / "photos", images=10, width=24, height=16)
    process = Workbench()
    made = Bench(process, folder, photos, {}, {}, {})
    for name, mix in (("straight", MIX), ("old", OLD_MIX)):
        done = process.run(
            "build", source=photos, out=folder / f"{name}.pen", mix=mix, shard_bytes=SHARD_BYTES, threads=1
        )
        assert done.is_done, done
        setattr(made, name, state_of(folder / f"{name}.pen"))
    for layout in ("folder", "webdataset"):
        assert process.run("export", dataset=folder / "straight.pen", out=folder / layout, layout=layout).is_done
        made.backs[layout] = state_of(folder / layout)
    (folder / "begun").mkdir()
    killed = made.start("build", folder / "begun", watched=folder / "begun", disturbance=Disturbance(at=30))
    assert killed.was_killed
    made.begun = state_of(folder / "begun")
    before = files_of(photos)
    yield made
    process.close()
    assert files_of(photos) == before, "a source is only read"
    assert state_of(folder / "straight.pen") == made.straight, "a dataset that is exported is only read"


@pytest.fixture
def place(bench: Bench, tmp_path: Path) -> Callable[[str], Path]:
    """Makes a place as it is before a task."""

    def make(task: str) -> Path:
        shutil.rmtree(tmp_path / "place", ignore_errors=True)
        lay_out(bench.before(task), tmp_path / "place")
        return tmp_path / "place"

    return make


def log_of(bench: Bench, task: str, where: Path, **further: object) -> list[Call]:
    """The calls of an undisturbed run."""
    done = bench.start(task, where, watched=where, log=where.parent / "log", **further)
    assert done.is_done, done
    return read_log(where.parent / "log")


@pytest.mark.parametrize("task", ["build", *(pytest.param(task, marks=pytest.mark.long) for task in TASKS[1:])])
def test_the_log_misses_no_call_that_changes_the_disk(bench: Bench, place: Callable[[str], Path], task: str) -> None:
    where = place(task)
    disk = Disk(where, bench.before(task))

    for call in log_of(bench, task, where):
        disk.follow(call)

    assert disk.now() == state_of(where)
    assert state_of(where / "out") == bench.wanted(task)


def kill_problems(bench: Bench, place: Callable[[str], Path], task: str, plant: str = "") -> tuple[list[str], int]:
    """What goes wrong after kills, and how many kills there were."""
    problems: list[str] = []
    number, torn = 1, False
    while True:
        where = place(task)
        chosen = Disturbance(number, torn=torn)
        killed = bench.start(task, where, watched=where, disturbance=chosen, plant=plant)
        if not killed.was_killed:
            assert killed.is_done, killed
            return problems, number - 1
        problem = bench.problem_after(task, where)
        if problem:
            problems.append(f"{task}, killed at call {number}{' after half of a write' * torn}: {problem}")
            if plant:
                return problems, number
        number, torn = (number + 1, False) if torn else (number, True)


@pytest.mark.long
@pytest.mark.parametrize("task", TASKS)
def test_after_a_kill_at_any_call_the_same_command_gives_the_same_bytes(
    bench: Bench, place: Callable[[str], Path], task: str
) -> None:
    problems, num_kills = kill_problems(bench, place, task)

    assert problems == []
    assert num_kills >= 20, "few calls were seen"


@pytest.mark.long
@pytest.mark.parametrize("plant", ["in place", "beside"])
def test_kills_find_a_planted_defect(bench: Bench, place: Callable[[str], Path], plant: str) -> None:
    problems, _ = kill_problems(bench, place, "build", plant)

    assert problems


@pytest.mark.parametrize("name", ["index.parquet", "manifest.json"])
def test_a_build_killed_while_it_publishes_goes_on(bench: Bench, place: Callable[[str], Path], name: str) -> None:
    counted = [call for call in log_of(bench, "build", place("build")) if call.kind not in ("open", "close")]
    number = 1 + next(at for at, call in enumerate(counted) if call.kind == "rename" and call.second.endswith(name))
    where = place("build")
    killed = bench.start("build", where, watched=where, disturbance=Disturbance(number))

    assert killed.was_killed
    assert bench.problem_after("build", where) == ""


def error_problems(bench: Bench, place: Callable[[str], Path], task: str, number: int, code: int) -> list[str] | None:
    """What goes wrong after call `number` fails; None if there is no such call."""
    where = place(task)
    done = bench.start(task, where, watched=where, disturbance=Disturbance(number, error=code, torn=True))
    if done.num_calls < number:
        return None
    at = f"{task}, {errno.errorcode[code]} at call {number}"
    problems = []
    if done.error is not None:
        told = done.error
        is_ours = "PenstockError" in told.get("family", ())
        if not is_ours or told["errno"] != code or not told["where"] or not told["fix"]:
            problems.append(f"{at}: {told}")
    again = bench.problem_after(task, where)
    return [*problems, f"{at}: {again}"] if again else problems


@pytest.mark.long
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
@pytest.mark.parametrize("task", TASKS)
def test_an_error_of_the_disk_at_any_call_is_told_and_loses_nothing(
    bench: Bench, place: Callable[[str], Path], task: str, code: int
) -> None:
    problems, number = [], 1
    while (found := error_problems(bench, place, task, number, code)) is not None:
        problems += found
        number += 1

    assert problems == []
    assert number > 20, "few calls were seen"


@pytest.mark.parametrize("number", [5, 60])
def test_a_full_disk_is_told_with_the_place_and_the_fix(
    bench: Bench, place: Callable[[str], Path], number: int
) -> None:
    assert error_problems(bench, place, "build", number, errno.ENOSPC) == []


def cut_problems(bench: Bench, task: str, calls: list[Call], root: Path, scratch: Path) -> tuple[list[str], int]:
    """What goes wrong after power cuts, and how many states were tried."""
    problems: list[str] = []
    tried = 0
    whole = "out" if task in bench.backs else "out/manifest.json"
    for number, state in states_after_cuts(root, bench.before(task), calls):
        tried += 1
        at = f"{task}, power cut after call {number} of {len(calls)}"
        kept = {path: content for path, content in state.items() if not path.startswith("out/.build")}
        is_old = task == "force" and kept == _inside(bench.old)
        if whole in state and not is_old and kept != _inside(bench.wanted(task)):
            problems.append(f"{at}: half of it looks whole: {sorted(state)}")
            continue
        if number == len(calls) and (whole not in state or is_old):
            problems.append(f"{at}: it was done, and is lost")
            continue
        if whole in state and number == len(calls):
            continue
        shutil.rmtree(scratch, ignore_errors=True)
        lay_out(state, scratch)
        problem = bench.problem_after(task, scratch)
        if problem:
            problems.append(f"{at}: {problem}; there was {sorted(state)}")
    return problems, tried


@pytest.mark.long
@pytest.mark.parametrize("task", TASKS)
def test_after_a_power_cut_there_is_all_of_it_or_something_to_go_on_with(
    bench: Bench, place: Callable[[str], Path], tmp_path: Path, task: str
) -> None:
    where = place(task)
    calls = log_of(bench, task, where)

    problems, tried = cut_problems(bench, task, calls, where, tmp_path / "scratch")

    assert problems == []
    assert tried > len(calls)


def without_syncs(calls: list[Call], is_dropped: Callable[[str], bool]) -> list[Call]:
    """The log of a program that does not sync what it should."""
    names: dict[int, str] = {}
    kept = []
    for call in calls:
        if call.kind in ("create", "open", "truncate_open"):
            names[call.descriptor] = call.first
        if call.kind in ("fsync", "syncfs") and is_dropped(names[call.descriptor]):
            continue
        kept.append(call)
    return kept


DEFECTS: dict[str, tuple[str, Callable[[str], bool]]] = {
    "names of shards": ("build", lambda path: path.endswith("/shards")),
    "content of shards": ("build", lambda path: path.endswith("0.part") and "/.penstock-" not in path),
    "index and manifest": ("build", lambda path: "/.penstock-" in path),
    "names in OUT": ("build", lambda path: path.endswith("/out")),
    "the name of OUT": ("build", lambda path: path.endswith("/place")),
    "the old manifest": ("force", lambda path: path.endswith("/out")),
    "an export's files": ("folder", lambda path: path.endswith(".penstock-part")),
    "an export's name": ("folder", lambda path: path.endswith("/place")),
}


@pytest.mark.parametrize(
    "defect", [name if "shards" in name else pytest.param(name, marks=pytest.mark.long) for name in DEFECTS]
)
def test_power_cuts_find_a_sync_that_is_missing(
    bench: Bench, place: Callable[[str], Path], tmp_path: Path, defect: str
) -> None:
    task, is_dropped = DEFECTS[defect]
    where = place(task)
    calls = log_of(bench, task, where)
    fewer = without_syncs(calls, is_dropped)
    assert len(fewer) < len(calls), "the program does not make this call"

    whole = "out" if task in bench.backs else "out/manifest.json"
    wrong = 0
    for number, state in states_after_cuts(where, bench.before(task), fewer):
        kept = {path: content for path, content in state.items() if not path.startswith("out/.build")}
        is_old = task == "force" and kept == _inside(bench.old)
        looks_whole = whole in state and not is_old
        wrong += looks_whole and kept != _inside(bench.wanted(task))
        wrong += number == len(fewer) and not looks_whole

    assert wrong
