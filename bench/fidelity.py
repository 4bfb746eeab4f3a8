"""What does a lower fidelity save: bytes, reads, and time on a slow disk? And is nothing lost at the full one?

python -m bench.fidelity [--limit 300] [--rounds 5] [--only bytes,time,…] [--record]

Takes about three minutes: a dataset of ../shared/data/imagenet is built as pjpeg (for the times a larger one, of links
to the same files). Each part prints its lines, and appends them as soon as it is done; a run that was killed goes on
with `--only`. The part `layers` puts layers of Sluice beside scans (bench/fidelity_layers.py). Other times are those of
an epoch in a process of its own under a disk limit of 60 MB/s, past the page cache; fidelities take turns.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from bench.circumstances import busy_seconds, commit_text
from bench.corpus import files_of
from bench.fidelity_layers import layers
from bench.loader import linked_copies
from bench.timing import RESULTS, arguments
from penstock import Dataset, Loader, _native, decode
from penstock.build import BuildOptions, build
from penstock.codecs import DecodeOptions, find, transcode
from penstock.export import export
from penstock.limits import Limits, run
from penstock.machine import cpu_model
from penstock.pixels import ms_ssim
from penstock.records import open_dataset
from penstock.transforms.named import named

FIDELITIES = (1, 2, 5, None)
MOST_SHARE = {1: 0.08, 2: 0.17, 5: 0.52}
MOST_SIZE = 1.02
MOST_TIME = 0.75
DISK_BYTES_PER_SECOND = 60_000_000
TIMED_COPIES = 4
TRANSFORM = "train224"
MIB = 1 << 20

Line = dict[str, Any]


def main() -> None:
    """Run the parts, print, and append to bench/results if asked to."""
    parser = arguments(str(__doc__).splitlines()[0])
    parser.set_defaults(rounds=5)
    parser.add_argument("--only", default=",".join(PARTS), help=f"Parts, separated by commas: {', '.join(PARTS)}.")
    parser.add_argument("--epoch", nargs=2, metavar=("DATASET", "SCANS"), help="Time an epoch; the parts start this.")
    options = parser.parse_args()
    if options.epoch:
        print(json.dumps(epoch_seconds(Path(options.epoch[0]), int(options.epoch[1]) or None)))
        return
    files = files_of("imagenet", options.limit)
    with tempfile.TemporaryDirectory(prefix="penstock-fidelity-") as work:
        for name in options.only.split(","):
            begin, busy = time.monotonic(), busy_seconds()
            for line in PARTS[name](files, Path(work), options.rounds):
                tell(name, line, record=options.record)
            seconds = time.monotonic() - begin
            print(f"  ({name}: {seconds:.0f} s, {(busy_seconds() - busy) / seconds:.1f} cores busy)")


def built(files: list[Path], work: Path, copies: int = 1) -> Path:
    """Return the files as pjpeg, built at the first call."""
    out = work / f"x{copies}.pen"
    if not out.exists():
        folder = linked_copies(files, work / f"x{copies}", copies)
        build(folder, out, mix="pjpeg=1", options=BuildOptions(check=False))
    return out


def lossless(files: list[Path], work: Path, _: int) -> Iterator[Line]:
    """Check that the full fidelity equals the source, in pixels and coefficients, and is not larger."""
    path = built(files, work)
    source_bytes = sum(file.stat().st_size for file in files)
    stored = sum(entry.stat().st_size for entry in path.rglob("*") if entry.is_file())
    seen = 0
    with Loader(path, batch_size=16, channels="unchanged") as loader:
        for batch in loader:
            for sample, image in zip(batch["id"].tolist(), batch["image"], strict=True):
                expected = decode(files[sample].read_bytes())
                assert np.array_equal(np.asarray(image).reshape(expected.shape), expected), files[sample]
                seen += 1
    assert seen == len(files), "an epoch is not the whole set"
    export(path, work / "back")
    back = sorted(path for path in (work / "back").rglob("*") if path.suffix.lower() in (".jpg", ".jpeg"))
    for one, other in zip(files, back, strict=True):
        same = transcode(one.read_bytes(), "jpeg:optimize") == transcode(other.read_bytes(), "jpeg:optimize")
        assert same, f"{one} came back with other coefficients or metadata"
    yield {
        "images": len(files),
        "equal_pixels": seen,
        "equal_coefficients": len(back),
        "size_of_source": stored / source_bytes,
        "at_most": MOST_SIZE,
        "met": stored <= MOST_SIZE * source_bytes,
    }


def amounts(files: list[Path], work: Path, _: int) -> Iterator[Line]:
    """Measure bytes and read calls of an epoch at each fidelity."""
    path = built(files, work)
    source_bytes = sum(file.stat().st_size for file in files)
    num_blocks = -(-len(files) // 64)
    for fidelity in FIDELITIES:
        with Loader(path, batch_size=16, fidelity=fidelity, cache="none") as loader:
            for _batch in loader:
                pass
            stats = loader.stats()
        share = stats["bytes_read"] / source_bytes
        most_reads = stats["bytes_read"] / MIB + num_blocks
        yield {
            "fidelity": fidelity,
            "bytes_read": stats["bytes_read"],
            "share_of_source": share,
            "at_most": MOST_SHARE.get(fidelity or 0),
            "num_reads": stats["num_reads"],
            "most_reads": most_reads,
            "met": share <= MOST_SHARE.get(fidelity or 0, MOST_SIZE) and stats["num_reads"] <= most_reads,
        }


def similarity(files: list[Path], work: Path, _: int) -> Iterator[Line]:
    """Measure MS-SSIM to the source at each fidelity, on every tenth image; it must rise on each of them."""
    dataset = open_dataset(built(files, work))
    codec = find("pjpeg")
    found: list[list[float]] = []
    for sample in range(0, len(files), 10):
        whole = decode(dataset.read(sample))
        prefixes = [dataset.read(sample, fidelity=fidelity) for fidelity in FIDELITIES]
        found.append([ms_ssim(whole, codec.decode(data, DecodeOptions())) for data in prefixes])
    rises = [all(one <= other for one, other in pairwise(values)) for values in found]
    for number, fidelity in enumerate(FIDELITIES):
        values = [some[number] for some in found]
        yield {
            "fidelity": fidelity,
            "images": len(found),
            "ms_ssim_mean": statistics.fmean(values),
            "ms_ssim_least": min(values),
            "images_that_rise": sum(rises),
            "met": all(rises),
        }


def suffixes(files: list[Path], work: Path, _: int) -> Iterator[Line]:
    """Measure what an epoch at fidelity 5 reads after one at fidelity 2, with everything in memory."""
    path = built(files, work)
    sizes = prefix_bytes(open_dataset(path))
    with Loader(path, batch_size=16, fidelity=[(0, 2), (1, 5)], cache="rolling", memory="1GiB") as loader:
        for _batch in loader:
            pass
        before = loader.stats()["bytes_read"]
        for _batch in loader:
            pass
        read = loader.stats()["bytes_read"] - before
    difference = sizes[5] - sizes[2]
    yield {
        "bytes_read": read,
        "difference": difference,
        "ratio": read / difference,
        "met": abs(read / difference - 1) <= 0.01,
    }


def times(files: list[Path], work: Path, rounds: int) -> Iterator[Line]:
    """Measure the seconds of an epoch under the disk limit; fidelities alternate."""
    path = built(files, work, TIMED_COPIES)
    seconds: dict[int | None, list[float]] = {fidelity: [] for fidelity in FIDELITIES}
    held = ""
    for _round in range(rounds):
        for fidelity in FIDELITIES:
            command = [sys.executable, "-m", "bench.fidelity", "--epoch", str(path), str(fidelity or 0)]
            done = run(command, Limits(disk_bytes_per_second=DISK_BYTES_PER_SECOND), on=path)
            seconds[fidelity].append(float(json.loads(done.stdout)["seconds"]))
            held = done.enforced_by.disk
    full = statistics.median(seconds[None])
    for fidelity, values in seconds.items():
        ratio = statistics.median(values) / full
        yield {
            "fidelity": fidelity,
            "seconds_median": statistics.median(values),
            "seconds": values,
            "images": len(files) * TIMED_COPIES,
            "ratio_to_full": ratio,
            "limit_bytes_per_second": DISK_BYTES_PER_SECOND,
            "held_by": held,
            "transform": TRANSFORM,
            "met": ratio <= MOST_TIME if fidelity == 5 else None,
        }


def epoch_seconds(path: Path, fidelity: int | None) -> Line:
    """Time the second epoch, because the first one starts threads and touches memory."""
    with Loader(path, batch_size=64, fidelity=fidelity, cache="none", transform=named(TRANSFORM)) as loader:
        for _ in range(2):
            begin = time.perf_counter()
            for _batch in loader:
                pass
            seconds = time.perf_counter() - begin
        stats = loader.stats()
    return {"seconds": seconds, "bottleneck": stats["bottleneck"], "bytes_read": stats["bytes_read"]}


def prefix_bytes(dataset: Dataset) -> dict[int | None, int]:
    """Return the bytes of all images at each fidelity."""
    return {
        fidelity: sum(len(dataset.read(sample, fidelity=fidelity)) for sample in range(len(dataset)))
        for fidelity in FIDELITIES
    }


def tell(part: str, line: Line, *, record: bool) -> None:
    """Print one line and, if requested, append it to bench/results."""
    shown = {name: round(value, 4) if isinstance(value, float) else value for name, value in line.items()}
    print(f"{part}: {shown}")
    if not record:
        return
    circumstances = {
        "part": part,
        **line,
        "corpus": "imagenet",
        "commit": commit_text(),
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "cpu": cpu_model(),
        "simd": _native.simd_path(),
    }
    with (RESULTS / "fidelity.jsonl").open("a") as file:
        file.write(json.dumps(circumstances, allow_nan=False) + "\n")


PARTS: dict[str, Callable[[list[Path], Path, int], Iterator[Line]]] = {
    "lossless": lossless,
    "bytes": amounts,
    "similarity": similarity,
    "suffixes": suffixes,
    "time": times,
    "layers": layers,
}

if __name__ == "__main__":
    main()
