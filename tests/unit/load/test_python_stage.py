"""Functions in Python: seeded, ahead of the consumer, counted, and in processes that end with the loader."""

from __future__ import annotations

import gc
import logging
import os
import random
import select
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import penstock
from penstock import Loader
from penstock.errors import ArgumentError, PenstockError
from penstock.transforms import CenterCrop, RandomHorizontalFlip, seeded
from penstock.transforms.chain import AnyTransform
from tests.unit.load.functions import FailsFor, Touch, die, negative, noisy, two_views

CHAIN: list[AnyTransform] = [CenterCrop(12), noisy]


def images_of(batches: list[dict[str, Any]]) -> dict[int, npt.NDArray[Any]]:
    return {int(sample): image for batch in batches for sample, image in zip(batch["id"], batch["image"], strict=True)}


def assert_equal(one: dict[int, npt.NDArray[Any]], other: dict[int, npt.NDArray[Any]]) -> None:
    assert one.keys() == other.keys()
    for sample, image in one.items():
        np.testing.assert_array_equal(image, other[sample])


@pytest.fixture(scope="module")
def expected(folder: Path) -> dict[int, npt.NDArray[Any]]:
    """What functions give in this process."""
    with Loader(folder, batch_size=8, seed=4, transform=CHAIN, python_workers=0) as loader:
        return images_of(list(loader))


@pytest.mark.parametrize("workers", [0, 1, 2])
def test_draws_are_a_function_of_seed_epoch_and_id(
    folder: Path, expected: dict[int, npt.NDArray[Any]], workers: int
) -> None:
    random.seed(1)
    with Loader(folder, batch_size=7, seed=4, transform=CHAIN, python_workers=workers) as loader:
        first, second = list(loader), list(loader)

    assert_equal(images_of(first), expected)
    again = images_of(second)
    assert any((again[sample] != image).any() for sample, image in expected.items())


def test_a_resumed_run_draws_the_same(folder: Path, expected: dict[int, npt.NDArray[Any]]) -> None:
    with Loader(folder, batch_size=8, seed=4, transform=CHAIN, python_workers=1) as loader:
        batches = iter(loader)
        before = [next(batches), next(batches)]
        state = loader.state_dict()
        batches.close()  # type: ignore[attr-defined]  # a generator
    with Loader(folder, batch_size=8, seed=4, transform=CHAIN, python_workers=2) as loader:
        loader.load_state_dict(state)
        after = list(loader)

    assert state["delivered"] == 16
    assert sum(len(batch["id"]) for batch in before + after) == 50
    assert_equal(images_of(before + after), expected)


def test_seeded_reproduces_one_sample(folder: Path, expected: dict[int, npt.NDArray[Any]]) -> None:
    with Loader(folder, batch_size=50, transform=[CenterCrop(12)]) as loader:
        (batch,) = loader
    for sample, image in zip(batch["id"].tolist(), batch["image"], strict=True):
        with seeded(seed=4, epoch=0, id=sample):
            np.testing.assert_array_equal(noisy(image), expected[sample])


@pytest.mark.parametrize("workers", [0, 1])
def test_the_programs_own_random_numbers_are_left_alone(folder: Path, workers: int) -> None:
    random.seed(5)
    np.random.seed(5)
    wanted = [(random.random(), float(np.random.random())) for _ in range(7)]
    random.seed(5)
    np.random.seed(5)
    with Loader(folder, batch_size=8, transform=CHAIN, python_workers=workers) as loader:
        found = [(random.random(), float(np.random.random())) for _ in loader]

    assert found == wanted


def test_batches_are_made_while_the_consumer_has_another(folder: Path, tmp_path: Path) -> None:
    with Loader(folder, batch_size=5, transform=[CenterCrop(8), Touch(str(tmp_path))], python_workers=1) as loader:
        batches = iter(loader)
        next(batches)
        stage = loader.python_stage
        assert stage is not None
        assert stage.workers is not None
        # Nobody asks for a batch: the worker goes on by itself, until two more are made.
        workers = stage.workers
        while sum(task.is_done for task in workers.tasks.values()) < 2:
            workers.receive(100)
        assert len(list(tmp_path.iterdir())) == 15
        assert loader.state_dict()["delivered"] == 5
        before = stage.counters.wait_seconds
        assert workers.wait(next(iter(workers.tasks.values()))) is not None
        assert stage.counters.wait_seconds == before


def test_stats_name_the_stage_and_the_log_its_cost(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "penstock"), Loader(folder, batch_size=10, transform=CHAIN) as loader:
        list(loader)
        list(loader)
        stats = loader.stats()

    stage = stats["stages"]["python"]
    assert stage["images"] == 100
    assert stage["workers"] >= 1
    assert stage["busy_seconds"] > 0
    assert stage["milliseconds_per_image"] == pytest.approx(10 * stage["busy_seconds"])
    said = [record.message for record in caplog.records if "not native" in record.message]
    assert len(said) == 1
    assert "noisy" in said[0]
    assert "ms an image" in said[0]
    assert "worker process" in said[0]


def test_who_waits_for_python_is_told_so(folder: Path) -> None:
    import time

    def slow(image: npt.NDArray[Any]) -> npt.NDArray[Any]:
        time.sleep(0.002)
        return image

    with Loader(folder, batch_size=10, transform=[CenterCrop(8), slow]) as loader:
        list(loader)
        stats = loader.stats()

    assert stats["bottleneck"] == "python"
    assert stats["stages"]["python"]["workers"] == 0  # it cannot be sent, being inside of another function
    assert stats["stages"]["compute"]["wait_seconds"] >= stats["stages"]["python"]["wait_seconds"]


@pytest.mark.long
def test_torch_is_seeded_even_if_a_function_imports_it(folder: Path) -> None:
    code = (
        "import sys; from penstock import Loader; from tests.unit.load.functions import late_torch\n"
        "with Loader(sys.argv[1], batch_size=4, seed=1, subset=slice(4), shuffle=False, "
        "transform=[late_torch], python_workers=0) as loader:\n"
        "    one, two = next(iter(loader)), (loader.set_epoch(0), next(iter(loader)))[1]\n"
        "sys.exit(int((one['image'] != two['image']).any()))"
    )
    assert subprocess.run([sys.executable, "-c", code, folder], timeout=120).returncode == 0


def test_a_native_chain_has_no_such_stage(folder: Path) -> None:
    with Loader(folder, batch_size=10, transform=[CenterCrop(8)], python_workers=2) as loader:
        list(loader)
        assert "python" not in loader.stats()["stages"]


def test_what_cannot_be_sent_is_refused_by_name_when_the_loader_is_made(folder: Path) -> None:
    def inner(image: object) -> object:
        return image

    with pytest.raises(ArgumentError, match="inner cannot be sent to a worker process"):
        Loader(folder, transform=[inner], python_workers=1)


@pytest.mark.parametrize("workers", [0, 2])
def test_an_error_has_the_functions_name_and_the_sample(folder: Path, workers: int) -> None:
    chain: list[AnyTransform] = [CenterCrop(12), FailsFor(tuple(range(766)))]
    loader = Loader(folder, batch_size=8, transform=chain, python_workers=workers)
    with loader, pytest.raises(PenstockError, match="FailsFor failed: ValueError: not this one") as caught:
        next(iter(loader))

    assert caught.value.where.startswith("sample ")
    assert isinstance(caught.value.__cause__, ValueError)


def corners(folder: Path) -> dict[int, int]:
    with Loader(folder, batch_size=50, transform=[CenterCrop(12)]) as loader:
        (batch,) = loader
    return {int(sample): int(image[0, 0].sum()) for sample, image in zip(batch["id"], batch["image"], strict=True)}


@pytest.mark.parametrize("workers", [0, 1])
def test_batches_before_the_error_still_come(folder: Path, workers: int) -> None:
    values = corners(folder)
    with Loader(folder, batch_size=10, seed=3) as loader:
        order = [int(sample) for batch in loader for sample in batch["id"]]
    bad = next(sample for sample in order[30:] if sum(value == values[sample] for value in values.values()) == 1)
    chain: list[AnyTransform] = [CenterCrop(12), FailsFor((values[bad],))]
    with Loader(folder, batch_size=10, seed=3, transform=chain, python_workers=workers) as loader:
        batches = iter(loader)
        for _ in range(order.index(bad) // 10):
            next(batches)
        with pytest.raises(PenstockError, match=f"sample {bad}"):
            next(batches)


@pytest.mark.parametrize("workers", [0, pytest.param(1, marks=pytest.mark.long)])
@pytest.mark.parametrize("policy", ["skip", "replace"])
def test_policies_hold_for_functions(folder: Path, workers: int, policy: str) -> None:
    values = corners(folder)
    bad_value = values[0]
    bad = {sample for sample, value in values.items() if value == bad_value}
    chain: list[AnyTransform] = [CenterCrop(12), FailsFor((bad_value,))]
    with Loader(folder, batch_size=10, transform=chain, python_workers=workers, on_error=policy) as loader:
        batches = list(loader)
        stats = loader.stats()

    ids = [int(sample) for batch in batches for sample in batch["id"]]
    assert not bad & set(ids)
    assert stats["num_failed_samples"] == len(bad)
    for batch in batches:
        assert len(batch["id"]) == len(batch["image"]) == len(batch["label"])
        for sample, image in zip(batch["id"], batch["image"], strict=True):
            assert int(image[0, 0].sum()) == values[int(sample)]
    if policy == "skip":
        assert len(ids) == 50 - len(bad)
    else:
        assert len(ids) == 50
        assert sum(int((~batch["valid"]).sum()) for batch in batches) == len(bad)


def test_views_are_batched_one_by_one(folder: Path) -> None:
    for workers in (0, 1):
        with Loader(folder, batch_size=10, transform=[CenterCrop(8), two_views], python_workers=workers) as loader:
            for batch in loader:
                large, small = batch["image"]
                assert (large.shape, large.dtype) == ((10, 4, 4, 3), np.float32)
                assert (small.shape, small.dtype) == ((10, 6, 6, 3), np.uint8)


def test_images_of_many_sizes_stay_a_list(tmp_path: Path) -> None:
    for number in range(7):
        pixels = np.full((8 + number, 9, 3), number, np.uint8)
        (tmp_path / f"{number}.png").write_bytes(penstock.encode(pixels, "png"))
    with Loader(tmp_path, batch_size=3, transform=[negative], python_workers=2) as loader:
        for batch in loader:
            for sample, image in zip(batch["id"].tolist(), batch["image"], strict=True):
                assert image.shape == (8 + sample, 9, 3)
                assert (image == 255 - sample).all()


def test_a_worker_that_dies_is_an_error_with_its_status(folder: Path) -> None:
    loader = Loader(folder, batch_size=8, transform=[CenterCrop(12), die], python_workers=2)
    with loader, pytest.raises(PenstockError, match="died with exit status 7"):
        next(iter(loader))


def test_a_worker_that_is_killed_is_an_error_with_its_signal(folder: Path) -> None:
    with Loader(folder, batch_size=4, transform=CHAIN, python_workers=1) as loader:
        batches = iter(loader)
        next(batches)
        assert loader.python_stage is not None
        (pid,) = loader.python_stage.pids
        os.kill(pid, signal.SIGKILL)
        with pytest.raises(PenstockError, match="SIGKILL"):
            list(batches)
        assert ended(pid)


def ended(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def running(loader: Loader) -> tuple[Iterator[Any], list[int]]:
    batches = iter(loader)
    next(batches)
    assert loader.python_stage is not None
    pids = loader.python_stage.pids
    assert len(pids) == loader.python_stage.num_workers
    assert not any(map(ended, pids))
    return batches, pids


def test_close_while_iterating_ends_the_workers_and_the_epoch(folder: Path) -> None:
    loader = Loader(folder, batch_size=4, transform=CHAIN, python_workers=2)
    batches, pids = running(loader)
    loader.close()

    assert all(map(ended, pids))
    with pytest.raises(PenstockError, match="the loader is closed"):
        next(batches)


def test_a_loader_that_is_dropped_takes_its_workers_along(folder: Path) -> None:
    loader = Loader(folder, batch_size=4, transform=CHAIN, python_workers=1)
    batches, pids = running(loader)
    del batches, loader
    gc.collect()

    assert all(map(ended, pids))


@pytest.mark.long
def test_an_epoch_that_is_left_leaves_nothing_behind(folder: Path, expected: dict[int, npt.NDArray[Any]]) -> None:
    with Loader(folder, batch_size=4, seed=4, transform=CHAIN, python_workers=2) as loader:
        for _ in loader:
            break
        loader.set_epoch(0)
        assert_equal(images_of(list(loader)), expected)


@pytest.mark.long
def test_handed_out_batches_outlive_the_loader(folder: Path, expected: dict[int, npt.NDArray[Any]]) -> None:
    with Loader(folder, batch_size=8, seed=4, transform=CHAIN, python_workers=2) as loader:
        batches = list(loader)
    gc.collect()

    assert_equal(images_of(batches), expected)
    batches[1]["image"][...] = 0  # theirs to change


SCRIPT = """
    import sys
    from penstock import Loader

    class Own:
        def __call__(self, image):
            return image // 2

    {guard}
        loader = Loader(sys.argv[1], batch_size=10, transform=[Own()], python_workers={workers})
        print(sum(int(batch["image"].max() < 128) for batch in loader), flush=True)
        {wait}
"""


def script(tmp_path: Path, guard: str, workers: str, wait: str = "pass") -> Path:
    path = tmp_path / "train.py"
    path.write_text(textwrap.dedent(SCRIPT).format(guard=guard, workers=workers, wait=wait))
    return path


@pytest.mark.long
@pytest.mark.parametrize("workers", ["1", "None"])
def test_functions_of_a_script_with_a_guard_go_to_workers(folder: Path, tmp_path: Path, workers: str) -> None:
    path = script(tmp_path, 'if __name__ == "__main__":', workers)
    done = subprocess.run([sys.executable, path, folder], capture_output=True, text=True, timeout=120)
    assert done.stdout == "5\n", done.stderr


@pytest.mark.long
def test_a_script_without_a_guard_is_told_to_have_one(folder: Path, tmp_path: Path) -> None:
    path = script(tmp_path, "if True:", "1")
    done = subprocess.run([sys.executable, path, folder], capture_output=True, text=True, timeout=120)
    assert done.returncode != 0
    assert "__main__" in done.stderr


@pytest.mark.long
def test_ctrl_c_ends_program_and_workers_in_silence(folder: Path, tmp_path: Path) -> None:
    wait = "print(*loader.python_stage.pids, flush=True); import signal; signal.pause()"
    path = script(tmp_path, 'if __name__ == "__main__":', "2", wait)
    command = [sys.executable, str(path), str(folder)]
    program = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        assert program.stdout is not None
        assert program.stdout.readline() == "5\n"
        pids = [int(text) for text in program.stdout.readline().split()]
        watched = [os.pidfd_open(pid) for pid in pids]
        os.killpg(program.pid, signal.SIGINT)
        _, errors = program.communicate(timeout=60)
    finally:
        program.kill()
    assert errors.count("Traceback") == 1  # the program's own KeyboardInterrupt
    for descriptor in watched:
        assert select.select([descriptor], [], [], 30)[0]
        os.close(descriptor)


def test_geometry_of_the_native_part_stays_native(folder: Path) -> None:
    with Loader(folder, batch_size=10, transform=[CenterCrop(8), RandomHorizontalFlip(1.0), negative]) as loader:
        (found,) = [images_of(list(loader))]
    with Loader(folder, batch_size=10, transform=[CenterCrop(8), RandomHorizontalFlip(1.0)]) as loader:
        plain = images_of(list(loader))
    assert_equal(found, {sample: 255 - image for sample, image in plain.items()})
