"""A million samples open at once: arrays, no Python object per sample."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from penstock import _native
from penstock.build.index_table import Rows, WrittenField, WrittenShard, index_table, write_index
from penstock.build.shard_notes import PIECE, ROW, ShardNotes
from penstock.index import Field
from penstock.lane_counts import choose_lanes
from penstock.records.manifest import (
    FileEntry,
    FormatCount,
    Manifest,
    ShardEntry,
    checksum_text,
    write_manifest,
)

NUM_SAMPLES = 1_000_000
NUM_SHARDS = 500

MEASURE = """
import json, resource, sys, time
import numpy, pyarrow.parquet, penstock
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
wall, cpu = time.perf_counter(), time.process_time()
dataset = penstock.open(sys.argv[1])
found = dataset.locations()
labels = dataset.column("label").to_numpy()
train = dataset.split("train")
print(json.dumps({
    "seconds": time.perf_counter() - wall,
    "cpu_seconds": time.process_time() - cpu,
    "megabytes": (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024,
    "samples": [len(dataset), len(train), int(found.offset[999_999]), int(labels[999_999])],
}))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("large") / "data.pen"
    out.mkdir()
    ids = np.random.default_rng(0).permutation(NUM_SAMPLES)
    per_shard = NUM_SAMPLES // NUM_SHARDS
    shards = [_shard(number, ids[number * per_shard : (number + 1) * per_shard]) for number in range(NUM_SHARDS)]
    columns = pa.table(
        {
            "key": pa.array([f"train/n{number % 1000:08}/picture-{number:08}.jpg" for number in range(NUM_SAMPLES)]),
            "split": pa.array(["train"] * 900_000 + ["val"] * 100_000),
            "label": pa.array(np.arange(NUM_SAMPLES) % 1000, pa.int32()),
        }
    )
    index = write_index(index_table(columns, Rows(shards, NUM_SAMPLES), [WrittenField("image", None)], shards))
    manifest = Manifest(
        identity="0" * 32,
        num_samples=NUM_SAMPLES,
        lanes=choose_lanes(NUM_SAMPLES),
        source={},
        recipe={},
        fields=(Field("image", "image", ("jpeg",)), Field("label", "label", type="int32")),
        splits={"train": 900_000, "val": 100_000},
        formats={"jpeg": FormatCount(1.0, NUM_SAMPLES, 0, NUM_SAMPLES, 0, 0)},
        index=FileEntry("index.parquet", len(index), checksum_text(_native.crc32c(index))),
        shards=tuple(ShardEntry(shard.file, 2**28, "crc32c:00000000", "jpeg", per_shard) for shard in shards),
    )
    (out / "index.parquet").write_bytes(index)
    (out / "manifest.json").write_bytes(write_manifest(manifest))
    return out


def _shard(number: int, ids: np.ndarray[tuple[int, ...], np.dtype[np.int64]]) -> WrittenShard:
    rows = np.zeros(len(ids), ROW)
    rng = np.random.default_rng(number)
    rows["id"] = ids
    rows["length"] = rng.integers(20_000, 130_000, len(ids))
    rows["offset"] = 64 + np.arange(len(ids)) * 131_072
    rows["width"], rows["height"], rows["channels"], rows["bits"], rows["orientation"] = 500, 375, 3, 8, 1
    rows["checksum"] = rng.integers(0, 2**32, len(ids))
    notes = ShardNotes(len(ids), len(ids), 2**28, 0, rows, np.empty(0, PIECE), Counter(), Counter(), {}, {})
    return WrittenShard(f"shards/jpeg-{number:05}.shard", "jpeg", notes)


@pytest.mark.long
def test_a_million_samples_open_in_a_second_and_little_memory(folder: Path) -> None:
    done = subprocess.run([sys.executable, "-c", MEASURE, str(folder)], check=True, capture_output=True, text=True)
    measured = json.loads(done.stdout)

    assert measured["samples"][0:2] == [1_000_000, 900_000]
    assert measured["samples"][3] == 999
    assert measured["megabytes"] < 500
    # On a busy machine wall time says little; CPU time of all threads is more than the wall time of a quiet one.
    assert measured["cpu_seconds"] < 1.5
    assert min(measured["seconds"], measured["cpu_seconds"]) < 1
