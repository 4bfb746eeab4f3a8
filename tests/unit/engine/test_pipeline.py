"""The native pipeline by itself: a file of records, and a folder, to batches of pixels."""

from __future__ import annotations

import errno
import gc
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import penstock
from penstock import _native
from penstock.errors import PenstockError

COUNT = 40


def picture(number: int) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    generator = np.random.default_rng(number)
    return generator.integers(0, 256, (24, 36, 3), dtype=np.uint8)


@dataclass
class Shard:
    """Records one after the other in one file, and the columns that say where."""

    path: Path
    offset: np.ndarray[tuple[int], np.dtype[np.uint64]]
    length: np.ndarray[tuple[int], np.dtype[np.uint64]]
    checksum: np.ndarray[tuple[int], np.dtype[np.uint32]]

    def table(self, checksum: bool = True) -> _native.SampleTable:
        name = os.fsencode(self.path.name)
        table = _native.SampleTable(
            os.fsencode(self.path.parent) + b"/",
            np.frombuffer(name, np.uint8),
            np.array([len(name)], np.uint64),
            COUNT,
            ["png", "raw"],
        )
        table.add_field(
            file=np.zeros(COUNT, np.uint32),
            offset=self.offset,
            length=self.length,
            checksum=self.checksum if checksum else None,
            codec=(np.arange(COUNT) % 2).astype(np.uint8),
        )
        return table


@pytest.fixture
def shard(tmp_path: Path) -> Shard:
    """Forty records of two formats, each on a multiple of 512 bytes."""
    records = [penstock.encode(picture(number), ("png", "raw")[number % 2]) for number in range(COUNT)]
    padded = [record + bytes(-len(record) % 512) for record in records]
    path = tmp_path / "records.shard"
    path.write_bytes(b"".join(padded))
    offset = np.cumsum([0, *(len(record) for record in padded)][:-1]).astype(np.uint64)
    length = np.array([len(record) for record in records], np.uint64)
    return Shard(path, offset, length, np.array([_native.crc32c(record) for record in records], np.uint32))


def options(**wishes: object) -> _native.PipelineOptions:
    found = _native.PipelineOptions()
    found.num_threads = 2
    for name, value in wishes.items():
        setattr(found, name, value)
    return found


def ids(*numbers: int) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    return np.array(numbers, np.uint64)


def load(pipeline: _native.Pipeline, *numbers: int) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    batch = pipeline.submit(ids(*numbers), 0, 0)
    pipeline.wait(batch)
    assert batch.failures() == []
    pixels = batch.pixels(0)
    assert isinstance(pixels, np.ndarray)
    return pixels


@pytest.fixture(params=["uring", "pread", "uring direct", "pread direct"])
def pipeline(request: pytest.FixtureRequest, shard: Shard) -> Iterator[_native.Pipeline]:
    """The pipeline with every way of reading."""
    wishes = options(allow_uring="uring" in request.param)
    if "direct" in request.param:
        wishes.caching = _native.Caching.NONE
    opened = _native.Pipeline(shard.table(), _native.TransformProgram([]), wishes)
    stats = opened.stats()
    if "uring" in request.param and stats["io_engine"] != "uring":
        pytest.skip(f"this kernel refuses io_uring: {os.strerror(stats['uring_refusal'])}")
    yield opened
    opened.close()


def test_pixels_are_those_that_were_encoded(pipeline: _native.Pipeline) -> None:
    numbers = [7, 30, 2, 3, 39, 0]

    found = load(pipeline, *numbers)

    assert (found == np.stack([picture(number) for number in numbers])).all()


def test_neighbours_are_read_together(pipeline: _native.Pipeline, shard: Shard) -> None:
    load(pipeline, *range(COUNT))

    stats = pipeline.stats()
    assert stats["num_reads"] == 1
    assert stats["bytes_read"] == shard.path.stat().st_size


def test_a_fault_of_the_disk_is_tried_again(pipeline: _native.Pipeline) -> None:
    pipeline.fail(None, errno.EIO, 2)

    assert (load(pipeline, 5)[0] == picture(5)).all()
    assert pipeline.stats()["num_retries"] == 2


def test_a_fault_that_stays_names_the_file(pipeline: _native.Pipeline, shard: Shard) -> None:
    pipeline.fail(None, errno.EIO, 100)
    batch = pipeline.submit(ids(5, 6), 0, 0)
    pipeline.wait(batch)

    failures = batch.failures()
    assert [(position, sample) for position, sample, *_ in failures] == [(0, 5), (1, 6)]
    assert all(str(shard.path) in failure[4] and failure[6] == errno.EIO for failure in failures)


def test_a_truncated_shard_fails_only_what_is_gone(pipeline: _native.Pipeline, shard: Shard) -> None:
    os.truncate(shard.path, int(shard.offset[-1]) + 100)

    batch = pipeline.submit(ids(0, COUNT - 1), 0, 0)
    pipeline.wait(batch)

    (failure,) = batch.failures()
    assert failure[1] == COUNT - 1
    assert "ends before the record" in failure[3]


def test_damage_is_found_by_its_checksum(shard: Shard) -> None:
    data = bytearray(shard.path.read_bytes())
    data[int(shard.offset[1]) + 40] ^= 1  # a pixel of a raw record
    shard.path.write_bytes(data)

    for verify, expected in ((_native.Verify.FIRST, 1), (_native.Verify.ALWAYS, 1), (_native.Verify.NEVER, 0)):
        pipeline = _native.Pipeline(shard.table(), _native.TransformProgram([]), options(verify=verify))
        batch = pipeline.submit(ids(0, 1), 0, 0)
        pipeline.wait(batch)
        assert len(batch.failures()) == expected
        pipeline.close()


def test_a_batch_belongs_to_its_holder(shard: Shard) -> None:
    pipeline = _native.Pipeline(shard.table(), _native.TransformProgram([]), options())
    held = [load(pipeline, number, number + 1) for number in range(20)]
    pipeline.close()
    del pipeline

    for number, found in enumerate(held):
        assert (found[0] == picture(number)).all()
        assert (found[1] == picture(number + 1)).all()


def test_memory_of_a_batch_is_used_again(shard: Shard) -> None:
    pipeline = _native.Pipeline(shard.table(), _native.TransformProgram([]), options())
    addresses = set()
    for number in range(10):
        found = load(pipeline, number, number + 1)
        addresses.add(found.ctypes.data)
        del found

    assert len(addresses) <= 2
    pipeline.close()


def test_other_samples_can_stand_in(shard: Shard) -> None:
    pipeline = _native.Pipeline(shard.table(), _native.TransformProgram([]), options())
    pipeline.fail(None, errno.ENOENT, 1)
    batch = pipeline.submit(ids(4), 0, 0)
    pipeline.wait(batch)
    assert len(batch.failures()) == 1

    pipeline.resubmit(batch, [0], ids(9))
    pipeline.wait(batch)

    assert batch.failures() == []
    assert (batch.pixels(0)[0] == picture(9)).all()
    pipeline.close()


def test_dropped_samples_leave_no_gap(shard: Shard) -> None:
    pipeline = _native.Pipeline(shard.table(), _native.TransformProgram([]), options())
    batch = pipeline.submit(ids(1, 2, 3, 4), 0, 0)
    pipeline.wait(batch)

    batch.drop([0, 2])

    assert (np.asarray(batch.pixels(0)) == np.stack([picture(2), picture(4)])).all()
    pipeline.close()


def test_memory_stays_within_its_accounts(shard: Shard) -> None:
    pipeline = _native.Pipeline(
        shard.table(), _native.TransformProgram([]), options(read_bytes=32_768, allow_uring=False)
    )
    for _ in range(5):
        load(pipeline, *range(COUNT))

    # Reads, the batch itself, the batch before it, and what two threads decode with.
    height, width, channels = picture(0).shape
    threads = 2 * (_native.working_bytes("png", height, width, channels, 8) + 64)
    assert pipeline.stats()["peak_memory_bytes"] <= 32_768 + 2 * COUNT * picture(0).nbytes + threads
    pipeline.close()


def test_a_read_larger_than_its_memory_is_refused(shard: Shard) -> None:
    pipeline = _native.Pipeline(shard.table(), _native.TransformProgram([]), options(read_bytes=1000))
    batch = pipeline.submit(ids(0), 0, 0)
    pipeline.wait(batch)

    ((_, _, code, what, *_),) = batch.failures()
    assert code == 340
    assert "more than the 1000 bytes" in what
    pipeline.close()


def test_closing_ends_the_threads(shard: Shard) -> None:
    def threads() -> int:
        return len(list(Path("/proc/self/task").iterdir()))

    before = threads()
    pipeline = _native.Pipeline(shard.table(), _native.TransformProgram([]), options())
    assert threads() > before
    pending = [pipeline.submit(ids(*range(COUNT)), 0, 0) for _ in range(10)]
    del pipeline
    gc.collect()

    assert threads() == before
    assert len(pending) == 10


def test_a_closed_pipeline_says_so(shard: Shard) -> None:
    pipeline = _native.Pipeline(shard.table(), _native.TransformProgram([]), options())
    pipeline.close()
    pipeline.close()

    with pytest.raises(PenstockError, match="closed"):
        pipeline.submit(ids(0), 0, 0)


def test_a_forked_child_is_refused_and_ends(shard: Shard) -> None:
    pipeline = _native.Pipeline(shard.table(), _native.TransformProgram([]), options())
    child = os.fork()
    if child == 0:
        try:
            pipeline.submit(ids(0), 0, 0)
        except PenstockError as error:
            os._exit(0 if error.code == 510 else 3)
        os._exit(4)

    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert (load(pipeline, 3)[0] == picture(3)).all()
    pipeline.close()


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the filter names system calls of x86-64")
@pytest.mark.parametrize(
    ("refusal", "caching", "claim"),
    [
        ("refuse_io_uring", "SYSTEM", "stats['io_engine'] == 'pread' and stats['uring_refusal'] == 1"),
        ("refuse_direct_reads", "NONE", "not stats['io_direct']"),
    ],
)
def test_a_refusing_kernel_is_worked_around(shard: Shard, refusal: str, caching: str, claim: str) -> None:
    code = f"""
from pathlib import Path
import numpy as np
from penstock import _native
from tests import seccomp
from tests.unit.engine import test_pipeline as tests
seccomp.{refusal}()
shard = tests.Shard(Path({str(shard.path)!r}), np.array({shard.offset.tolist()}, np.uint64),
    np.array({shard.length.tolist()}, np.uint64), np.array({shard.checksum.tolist()}, np.uint32))
wishes = tests.options(caching=_native.Caching.{caching})
pipeline = _native.Pipeline(shard.table(), _native.TransformProgram([]), wishes)
assert (tests.load(pipeline, 3, 8) == np.stack([tests.picture(3), tests.picture(8)])).all()
stats = pipeline.stats()
assert {claim}, stats
"""
    root = Path(__file__).parents[3]
    subprocess.run([sys.executable, "-c", code], check=True, cwd=root)
