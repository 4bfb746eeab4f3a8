"""How many JPEGs become Sluice, and does every one come back byte for byte?

python -m bench.restoration [--record] [--limit N]

Builds a dataset of format `sluice` of each corpus, verifies it, exports it, and compares every exported file with its
source. `generated` are 1,000 small files by Pillow and by the plain writer of the tests: progressive, restart
intervals, 4:1:1, 4:4:0 and other samplings, grey, odd sizes, trailing bytes, any padding bits. Counts, not times.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from bench.circumstances import commit_text
from bench.corpus import files_of
from bench.timing import RESULTS, arguments
from penstock.build import build
from penstock.export import export
from penstock.records import verify
from tests.jpeg_kinds import generated

NUM_GENERATED = 1000
LEAST_SLUICE = {"imagenet": 1.0, "photos": 0.98, "generated": 0.90}
"""Share of the files that must become Sluice; all of them must come back, in either format."""


@dataclass(frozen=True)
class Counted:
    """Counts of one corpus."""

    files: int
    sluice: int
    kept_as_jpeg: Mapping[str, int]
    """Number of files by reason."""
    restored: int
    """Exported files that equal their source, byte for byte."""
    problems: int
    """Problems that `verify` found."""


def main() -> None:
    """Count each corpus; exit 1 if a goal is missed."""
    options = arguments(__doc__ or "").parse_args()
    missed = []
    for corpus, least in LEAST_SLUICE.items():
        with tempfile.TemporaryDirectory() as folder:
            count = count_in(Path(folder), contents_of(corpus, options.limit))
        print(f"{corpus}: {count.sluice} of {count.files} became sluice, {count.restored} came back byte for byte")
        for reason, number in count.kept_as_jpeg.items():
            print(f"  {number} kept as jpeg: {reason}")
        if count.sluice < least * count.files or count.restored < count.files or count.problems:
            missed.append(corpus)
        if options.record:
            record(corpus, count)
    if missed:
        sys.exit(f"below the goal: {', '.join(missed)}")


def contents_of(corpus: str, limit: int) -> list[bytes]:
    """Return the files of a corpus, generated or real."""
    if corpus == "generated":
        return [generated(seed) for seed in range(limit or NUM_GENERATED)]
    return [path.read_bytes() for path in files_of(corpus, limit)]


def count_in(folder: Path, contents: list[bytes]) -> Counted:
    """Build, verify and export in an empty folder; compare with the sources."""
    images = folder / "images"
    images.mkdir()
    for number, data in enumerate(contents):
        (images / f"{number:06}.jpg").write_bytes(data)
    manifest = build(images, folder / "data.pen", mix="sluice=1", durable=False).manifest
    problems = verify(folder / "data.pen").problems
    export(folder / "data.pen", folder / "back")
    back = [(folder / "back" / f"{number:06}.jpg").read_bytes() for number in range(len(contents))]
    return Counted(
        files=len(contents),
        sluice=manifest.formats["sluice"].transcoded,
        kept_as_jpeg=dict(Counter(entry.reason for entry in manifest.kept_as_jpeg)),
        restored=sum(one == other for one, other in zip(back, contents, strict=True)),
        problems=len(problems),
    )


def record(corpus: str, count: Counted) -> None:
    """Append a line to the results."""
    line = {
        "question": "How many JPEGs become Sluice and come back byte for byte?",
        "corpus": corpus,
        "files": count.files,
        "sluice": count.sluice,
        "kept_as_jpeg": dict(count.kept_as_jpeg),
        "restored": count.restored,
        "problems": count.problems,
        "commit": commit_text(),
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
    }
    with (RESULTS / "restoration.jsonl").open("a") as file:
        file.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main()
