"""Tasks in worker processes: results, errors and progress come back as they were."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock import worker
from penstock.bench import LoaderBenchOptions, bench_loader, bench_under
from penstock.documents import Document
from penstock.errors import ArgumentError, PenstockError, SourceError, StorageError
from penstock.lab.lines import read_lines
from penstock.limits import NO_LIMITS, Limits, call_worker
from penstock.limits.worker_call import read_error, write_error
from penstock.synth import Scenes, write

OPTIONS = LoaderBenchOptions(transform="none", batch_size=4, cache="none", epochs=2)


@pytest.fixture(scope="module")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("worker") / "photos"
    write(folder, images=8, scenes=Scenes(width=32, height=24, classes=2))
    return folder


def test_a_bench_in_a_worker_finds_what_one_in_this_process_finds(photos: Path) -> None:
    here, there = (
        Document(bench_loader(photos, OPTIONS).as_dict(), "here"),
        bench_under(photos, OPTIONS, NO_LIMITS).found,
    )
    assert there.members.keys() == here.members.keys()
    for name in ("path", "options", "num_samples"):
        assert there.members[name] == here.members[name]
    last = [list(found.items("epochs"))[-1] for found in (here, there)]  # the first reads what was not waited for, too
    assert last[0].integer("bytes_read") == last[1].integer("bytes_read")


def test_progress_of_a_worker_is_reported(photos: Path) -> None:
    told: list[tuple[str, int, int]] = []
    bench_under(photos, OPTIONS, Limits(cores=1), on_progress=lambda *step: told.append(step))
    assert ("epoch 2 of 2", 2, 2) in told


def test_an_error_of_the_task_is_raised_as_it_was(tmp_path: Path) -> None:
    with pytest.raises(PenstockError) as here:
        bench_loader(tmp_path / "absent", OPTIONS)
    with pytest.raises(type(here.value)) as there:
        bench_under(tmp_path / "absent", OPTIONS, NO_LIMITS)
    assert str(there.value) == str(here.value)


@pytest.mark.parametrize("kind", [ArgumentError, PenstockError, SourceError, StorageError])
def test_errors_keep_class_and_parts(kind: type[PenstockError]) -> None:
    error = kind("it broke", where="here", fix="mend it", code=123)
    again = read_error(write_error(error))
    assert (type(again), str(again), again.code) == (kind, str(error), 123)


def test_an_unknown_task_is_refused_with_those_there_are() -> None:
    with pytest.raises(ArgumentError, match="use one of bench loader, lab job"):
        call_worker("bench everything", {}).result()


def test_a_worker_that_fails_otherwise_repeats_what_it_said() -> None:
    with pytest.raises(PenstockError, match=r"(?s)status 1:.*KeyError: 'path'"):
        call_worker("bench loader", {"options": {}}).result()


def test_every_task_can_be_called() -> None:
    assert set(worker.TASKS) == {"bench loader", "lab job"}


def test_lines_of_version_0_1_are_read_with_their_former_names() -> None:
    common = '"key": "k", "recipe": "r", "job": "load", "settings": {}, "seed": 0, "limits": "disk=1MB/s", '
    rest = '"measures": {}, "left_out": "", "circumstances": {}}'
    old, new = ("{" + common + f'"{name}": {{"disk": "cgroup v1"}}, ' + rest for name in ("means", "enforced_by"))
    (first,), (second,) = (read_lines(text.encode(), "here") for text in (old, new))
    assert first == second
    assert first.as_dict()["enforced_by"] == {"disk": "cgroup v1"}
