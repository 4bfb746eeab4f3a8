"""However a loader ends (closed, out of memory, forked, with the interpreter), whoever waits for it is told."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from time import sleep
from typing import Any

import numpy as np
import pytest

import penstock
from penstock import ArgumentError, CodecError, Loader, PenstockError, StorageError, _native
from penstock.build import BuildOptions, build
from penstock.load.batch_sink import BatchSink
from penstock.load.delivery import BatchDict
from penstock.load.epoch_runner import EpochRunner
from penstock.load.failures import OUT_OF_MEMORY, Failure, FailureLog
from penstock.load.loader_options import ErrorOptions
from penstock.transforms import Resize


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
    while loader.runner.pipeline.stats()["num_decoded"] <= num_decoded:
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


class ClosedMeanwhile(BatchSink):
    """Another thread closes the loader when a batch is ready and not yet handed out."""

    loader: Loader

    def ahead(self, batches: Iterator[tuple[BatchDict, int]]) -> Iterator[tuple[BatchDict, int]]:
        for batch in batches:
            self.loader.close()
            yield batch


def test_an_epoch_does_not_end_early_without_a_word(folder: Path) -> None:
    sink = ClosedMeanwhile()
    sink.loader = Loader(folder, batch_size=4, sink=sink)
    with pytest.raises(PenstockError, match="the loader is closed"):
        list(sink.loader)

    loader = Loader(folder, batch_size=4)
    batches = iter(loader)
    next(batches)
    loader.runner.is_closed = True  # close() is at work, and has come to the batches under way
    assert loader.runner.delivery is not None
    loader.runner.delivery.cancel()
    with pytest.raises(PenstockError, match="the loader is closed"):
        list(batches)
    loader.close()


class EndsMeanwhile(EpochRunner):
    """Another thread ends the epoch whenever somebody has asked for it."""

    def __getattribute__(self, name: str) -> object:
        found: object = super().__getattribute__(name)
        if name == "delivery":
            self.delivery = None
        return found


@pytest.mark.parametrize("name", ["close", "epoch", "fidelity", "iter", "state_dict"])
def test_an_epoch_may_end_while_another_thread_asks_for_it(folder: Path, name: str) -> None:
    loader = Loader(folder, batch_size=4)
    batches = iter(loader)
    next(batches)
    loader.runner.__class__ = EndsMeanwhile

    if name == "iter":
        assert next(iter(loader), None) is None
    elif name in ("close", "state_dict"):
        getattr(loader, name)()
    else:
        getattr(loader, name)
    loader.close()


def test_batches_may_be_given_up_while_one_is_taken(folder: Path) -> None:
    class GivenUp(deque[Any]):
        """Not empty when somebody looked, and empty now."""

        def __bool__(self) -> bool:
            return True

    with Loader(folder, batch_size=4) as loader:
        batches = iter(loader)
        next(batches)
        delivery = loader.runner.delivery
        assert delivery is not None
        delivery.cancel()
        delivery.pending = GivenUp()
        assert next(delivery, None) is None


@pytest.mark.parametrize("on_error", ["skip", "replace"])
def test_a_lack_of_memory_is_no_fault_of_a_sample(on_error: str) -> None:
    log = FailureLog(ErrorOptions(on_error, 100))
    bad = Failure.of((0, 7, 320, "damaged", "a file", "restore it", 0))
    short = Failure.of((1, 8, OUT_OF_MEMORY, "could not allocate", "memory", "free some", 0))

    with pytest.raises(CodecError, match="could not allocate"):
        log.add([bad, short])
    assert log.num_errors == 0


def run(code: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """A program of its own; one that hangs fails the test."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


FORKING = """
import os, signal, threading
import numpy as np, penstock
data = penstock.encode(np.zeros((16, 16, 3), np.uint8), "raw")
stop = threading.Event()
def work():
    while not stop.is_set():
        penstock.decode(data)
threads = [threading.Thread(target=work) for _ in range(3)]
for thread in threads:
    thread.start()
failed = 0
for _ in range(60):
    child = os.fork()
    if child == 0:
        signal.alarm(5)
        penstock.decode(data)
        os._exit(0)
    failed += os.waitpid(child, 0)[1] != 0
    if failed:
        break
stop.set()
print(failed, "failed")
"""


def test_a_child_forked_during_decodes_can_decode() -> None:
    assert run(FORKING).stdout == "0 failed\n"


FREEING = """
import os, signal, sys, penstock
loader = penstock.Loader(sys.argv[1], batch_size=4, threads=2, memory="300MB", cache="none")
failed = 0
for batch in loader:
    child = os.fork()
    if child == 0:
        signal.alarm(5)
        del batch
        try:
            next(iter(loader))
        except penstock.PenstockError as error:
            os._exit(0 if "fork" in str(error) else 2)
        os._exit(3)
    failed += os.waitpid(child, 0)[1] != 0
print(failed, "failed")
"""


def test_a_child_may_free_batches_and_is_told_that_the_loader_stayed_behind(folder: Path) -> None:
    assert run(FREEING, folder).stdout == "0 failed\n"


WAITING = """
import sys, threading, penstock
loader = penstock.Loader(sys.argv[1], batch_size=4, threads=1, memory="300MB")
loader.runner.pipeline.stall(None, 1.0, 8)
waiting = threading.Thread(target=lambda: list(loader), daemon=True)
waiting.start()
# Until the thread is in the native wait: ended inside of another library, it would be that library's matter.
while (frame := sys._current_frames().get(waiting.ident)) is None or frame.f_code.co_name != "__next__":
    pass
if sys.argv[2] == "called":
    def spin(_):
        called.set()
        while True:
            pass
    called = threading.Event()
    pool = sys.modules["penstock._native"].ThreadPool(2)
    threading.Thread(target=lambda: pool.call_each(spin, 4), daemon=True).start()
    called.wait()
"""


@pytest.mark.parametrize("kind", ["waits", "called"])
def test_a_thread_that_waits_does_not_disturb_the_end_of_the_interpreter(folder: Path, kind: str) -> None:
    done = run(WAITING, folder, kind)

    assert (done.returncode, done.stderr) == (0, "")


FEW_FILES = """
import resource, sys, penstock
resource.setrlimit(resource.RLIMIT_NOFILE, (48, 48))
with penstock.Loader(sys.argv[1], batch_size=8, threads=2, memory="300MB") as loader:
    print(sum(len(batch["id"]) for batch in loader))
"""


def test_few_descriptors_are_enough_for_many_shards(tmp_path: Path) -> None:
    (tmp_path / "images").mkdir()
    for number in range(60):
        data = penstock.encode(np.full((40, 40, 3), number, np.uint8), "png")
        (tmp_path / "images" / f"{number:02}.png").write_bytes(data)
    build(tmp_path / "images", tmp_path / "many.pen", mix="raw=1", options=BuildOptions(shard_bytes=4096))
    assert len(list((tmp_path / "many.pen" / "shards").iterdir())) == 60

    assert run(FEW_FILES, tmp_path / "many.pen").stdout == "60\n"


def test_a_shard_that_is_a_pipe_is_refused_not_waited_for(folder: Path, tmp_path: Path) -> None:
    build(folder, tmp_path / "some.pen", mix="raw=1")
    shard = next((tmp_path / "some.pen" / "shards").iterdir())
    shard.unlink()
    os.mkfifo(shard)

    with Loader(tmp_path / "some.pen") as loader, pytest.raises(StorageError, match="open"):
        next(iter(loader))


def test_a_file_larger_than_memory_fails_alone(tmp_path: Path) -> None:
    for number in range(3):
        (tmp_path / f"{number}.png").write_bytes(penstock.encode(np.zeros((8, 8, 3), np.uint8), "png"))
    with (tmp_path / "x.png").open("wb") as file:
        file.write((tmp_path / "0.png").read_bytes())
        file.truncate(1 << 30)

    for memory in ("300MB", "100MB"):
        with Loader(tmp_path, batch_size=2, threads=1, memory=memory, on_error="skip") as loader:
            assert sum(len(batch["id"]) for batch in loader) == 3
            assert len(loader.stats()["errors"]) == 1
    with pytest.raises(ArgumentError, match="less than what batches"):
        Loader(tmp_path, memory="300MB")


def three_scans(side: int) -> bytes:
    """A baseline JPEG whose components stand one after the other."""

    def segment(marker: int, content: bytes) -> bytes:
        return bytes([0xFF, marker]) + struct.pack(">H", len(content) + 2) + content

    blocks = (-(-side // 8)) ** 2
    data = b"\xff\xd8" + segment(0xDB, b"\0" + b"\1" * 64)
    components = b"".join(bytes([number + 1, 0x11, 0]) for number in range(3))
    data += segment(0xC0, struct.pack(">BHHB", 8, side, side, 3) + components)
    data += b"".join(segment(0xC4, bytes([table, 1]) + bytes(16)) for table in (0x00, 0x10))
    for number in range(3):
        data += segment(0xDA, bytes([1, number + 1, 0, 0, 63, 0])) + bytes(-(-2 * blocks // 8))
    return data + b"\xff\xd9"


def test_a_jpeg_in_several_scans_is_within_the_memory(tmp_path: Path) -> None:
    (tmp_path / "scans.jpg").write_bytes(three_scans(2000))

    def loaded(memory: str) -> int:
        with Loader(tmp_path, threads=1, memory=memory, cache="none", transform=[Resize((64, 64))]) as loader:
            return len(list(loader))

    assert loaded("200MB") == 1
    with pytest.raises(CodecError, match="more than the"):
        loaded("40MB")


def test_a_table_that_contradicts_itself_is_refused() -> None:
    text, one = np.frombuffer(b"ab", np.uint8), np.zeros(1, np.uint64)
    for ends in ([2, 1], [1, 3]):
        with pytest.raises(ArgumentError, match="contradicts itself"):
            _native.SampleTable(b"/", text, np.array(ends, np.uint64), 2, ["raw"])
    table = _native.SampleTable(b"/", text, np.array([1, 2], np.uint64), 1, ["raw"])
    wrong: tuple[dict[str, Any], ...] = (
        {"file": np.full(1, 2, np.uint32), "offset": one, "length": one},
        {"file": np.zeros(2, np.uint32), "offset": one, "length": one},
        {"file": np.zeros(1, np.uint32), "offset": one},
        {"file": np.zeros(1, np.uint32), "offset": one, "length": one, "codec": np.ones(1, np.uint8)},
    )
    for columns in wrong:
        with pytest.raises(ArgumentError, match="contradicts itself"):
            table.add_field(**columns)


def test_a_sample_that_is_not_there_is_refused(folder: Path) -> None:
    with Loader(folder) as loader, pytest.raises(ArgumentError, match="there is no sample"):
        loader.runner.pipeline.submit(np.array([10**6], np.uint64), 0, 0)
