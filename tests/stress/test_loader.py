"""The loader for long: memory stays flat, nothing leaks, and a bad disk hangs nothing. Minutes, in the long tier."""

from __future__ import annotations

import gc
import os
import shutil
from pathlib import Path
from time import perf_counter, process_time

import numpy as np
import pytest

import penstock
from penstock import Loader, StorageError, _native
from penstock.build import build
from penstock.load.delivery import Delivery, EpochPart, Progress
from penstock.load.engine_table import EngineTable
from penstock.load.failures import FailureLog
from penstock.load.loader_options import ErrorOptions
from penstock.order import Batches, Order
from penstock.transforms import RandomResizedCrop

NUM_SAMPLES = 2_000
NUM_EPOCHS = 200
WARM_EPOCHS = 20
FLAT_BYTES = 16 * 2**20


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Listings are kept where no other test sees them."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two thousand tiny JPEGs and PNGs."""
    root = tmp_path_factory.mktemp("images")
    for number in range(NUM_SAMPLES):
        pixels = np.full((20 + number % 7, 24, 3), number % 251, np.uint8)
        ending = ("png", "jpeg")[number % 2]
        (root / f"{number:04d}.{ending}").write_bytes(penstock.encode(pixels, ending))
    return root


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def open_things() -> tuple[int, int]:
    """Threads and descriptors of this process."""
    return len(list(Path("/proc/self/task").iterdir())), len(list(Path("/proc/self/fd").iterdir()))


@pytest.mark.long
@pytest.mark.parametrize("kind", ["folder", "dataset"])
def test_two_hundred_epochs_leave_no_trace(folder: Path, tmp_path: Path, kind: str) -> None:
    source = folder
    if kind == "dataset":
        source = tmp_path / "data.pen"
        build(folder, source, mix="weir:fast=0.5,raw=0.5")
    Loader(source).close()  # whatever threads pyarrow wants for the index, it has then
    before = open_things()
    with Loader(source, batch_size=64, threads=2, transform=[RandomResizedCrop(16)]) as loader:
        for _ in range(WARM_EPOCHS):
            assert sum(len(batch["id"]) for batch in loader) == NUM_SAMPLES
        warm = resident_bytes()
        running = open_things()
        for _ in range(NUM_EPOCHS - WARM_EPOCHS):
            assert sum(len(batch["id"]) for batch in loader) == NUM_SAMPLES
        grown = resident_bytes() - warm
        assert open_things() == running
    gc.collect()

    assert grown < FLAT_BYTES
    threads, files = open_things()
    assert threads <= before[0]  # fewer if a pool of another test ends meanwhile
    assert files <= before[1]


@pytest.mark.long
def test_loaders_come_and_go_without_a_trace(folder: Path) -> None:
    def use() -> None:
        loader = Loader(folder, batch_size=16, threads=2, transform=[RandomResizedCrop(16)])
        next(iter(loader))  # and lost in the middle of an epoch

    for _ in range(20):
        use()
    before, warm = open_things(), resident_bytes()
    for _ in range(300):
        use()

    assert open_things() == before
    assert resident_bytes() - warm < FLAT_BYTES


@pytest.mark.long
@pytest.mark.parametrize("policy", ["raise", "skip", "replace"])
def test_files_that_go_under_way_are_handled_by_the_policy(folder: Path, tmp_path: Path, policy: str) -> None:
    copy = tmp_path / "images"
    shutil.copytree(folder, copy)
    files = sorted(copy.iterdir())
    with Loader(
        copy, batch_size=50, threads=2, on_error=policy, shuffle=False, transform=[RandomResizedCrop(16)]
    ) as loader:
        batches = iter(loader)
        next(batches)
        files[-1].unlink()
        os.truncate(files[-2], 30)
        began = perf_counter()
        if policy == "raise":
            with pytest.raises((StorageError, penstock.CodecError)):
                list(batches)
        else:
            last = list(batches)[-1]
            assert len(last["id"]) == (48 if policy == "skip" else 50)
            assert policy == "skip" or last["valid"].sum() == 48
        assert perf_counter() - began < 60


@pytest.mark.long
@pytest.mark.parametrize("cache", ["system", "none"])
def test_a_disk_that_stalls_for_two_seconds_delays_and_no_more(folder: Path, tmp_path: Path, cache: str) -> None:
    build(folder, tmp_path / "data.pen", mix="raw=1")
    with Loader(tmp_path / "data.pen", batch_size=64, cache=cache, transform=[RandomResizedCrop(16)]) as loader:
        batches = iter(loader)
        next(batches)
        loader.runner.pipeline.stall(None, 2.0, 3)
        assert sum(len(batch["id"]) for batch in batches) == NUM_SAMPLES - 64


@pytest.mark.long
def test_resuming_far_into_a_huge_epoch_reads_no_earlier_record(tmp_path: Path) -> None:
    record = penstock.encode(np.zeros((8, 8, 3), np.uint8), "raw")
    path = tmp_path / "one.shard"
    path.write_bytes(record)
    count = 10_000_000
    name = os.fsencode(path.name)
    table = _native.SampleTable(
        os.fsencode(tmp_path) + b"/", np.frombuffer(name, np.uint8), np.array([len(name)], np.uint64), count, ["raw"]
    )
    lengths = np.full(count, len(record), np.uint64)
    codecs = np.zeros(count, np.uint8)
    table.add_field(False, np.zeros(count, np.uint32), np.zeros(count, np.uint64), lengths, None, codecs)
    splits = np.full(count, -1, np.int16)
    samples = EngineTable("huge", count, table, ("image",), {}, codecs, splits, (), lengths.astype(np.int64), 192)
    pipeline = _native.Pipeline(table, _native.TransformProgram([]), _native.PipelineOptions())

    began = process_time()  # a neighbour's work is not ours
    batches = Batches(count, 64, start=64 * 100_000)
    order = Order(samples.formats, seed=1)
    part = EpochPart(order, 3, batches)
    delivery = Delivery(pipeline, samples, part, 2, FailureLog(ErrorOptions()), Progress())
    first = next(delivery)

    assert process_time() - began < 5
    assert (first["id"] == order.epoch(3).take(range(64 * 100_000, 64 * 100_001))).all()
    assert pipeline.stats()["num_decoded"] <= 3 * 64
    pipeline.close()
