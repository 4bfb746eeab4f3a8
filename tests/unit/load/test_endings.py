"""However a loader ends (closed, out of memory, forked, with the interpreter), whoever waits for it is told."""

from __future__ import annotations

import threading
from pathlib import Path
from time import sleep

import numpy as np
import pytest

import penstock
from penstock import CodecError, Loader, PenstockError
from penstock.load.failures import OUT_OF_MEMORY, Failure, FailureLog
from penstock.load.options import ErrorPolicy


@pytest.fixture
def slow(tmp_path: Path) -> Path:
    """Two batches of images that take a while to decode."""
    noise = np.random.default_rng(0).integers(0, 256, (400, 400, 3), np.uint8)
    data = penstock.encode(noise, "png:level=1")
    for number in range(24):
        (tmp_path / f"{number:02}.png").write_bytes(data)
    return tmp_path


@pytest.mark.parametrize("num_decoded", range(3))
def test_closing_wakes_a_thread_that_waits_for_a_batch(slow: Path, num_decoded: int) -> None:
    loader = Loader(slow, batch_size=12, threads=1, memory="300MB", cache="none")
    told: list[BaseException | None] = []

    def consume() -> None:
        try:
            told.append(None if len(list(loader)) == 2 else AssertionError("batches are missing"))
        except PenstockError as error:
            told.append(error)

    consumer = threading.Thread(target=consume)
    consumer.start()
    while loader._pipeline.stats()["num_decoded"] <= num_decoded:
        sleep(0.001)
    loader.close()
    consumer.join(20)

    assert not consumer.is_alive()
    assert "the loader is closed" in str(told[0])


def test_a_loader_closed_between_two_batches_says_so(folder: Path) -> None:
    loader = Loader(folder, batch_size=4)
    batches = iter(loader)
    next(batches)
    loader.close()

    with pytest.raises(PenstockError, match="the loader is closed"):
        next(batches)
    with pytest.raises(PenstockError, match="the loader is closed"):
        next(iter(loader))


@pytest.mark.parametrize("on_error", ["skip", "replace"])
def test_a_lack_of_memory_is_no_fault_of_a_sample(on_error: str) -> None:
    log = FailureLog(ErrorPolicy(on_error, 100))
    bad = Failure.of((0, 7, 320, "damaged", "a file", "restore it", 0))
    short = Failure.of((1, 8, OUT_OF_MEMORY, "could not allocate", "memory", "free some", 0))

    with pytest.raises(CodecError, match="could not allocate"):
        log.add([bad, short])
    assert log.num_errors == 0
