"""Record of fuzzing: fuzz/results.jsonl has a line for each run of a target, and time adds up over lines.

A line counts for the sources that were fuzzed (fuzz/sources.py). When they change, the target starts again at zero; its
earlier time stays in the file.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from fuzz.targets import ROOT

RESULTS = ROOT / "fuzz" / "results.jsonl"


@dataclass(frozen=True)
class Entry:
    """One run of one target."""

    target: str
    sanitizer: str
    cpu_seconds: float
    """CPU time of the fuzzing process, from the kernel."""
    wall_seconds: float
    runs: int
    findings: int
    corpus_before: int
    """Number of input files: learned, kept and seeds."""
    corpus_after: int
    sources: str
    """Hash of the files that the target covers."""
    commit: str
    date: str
    cpu: str


@dataclass(frozen=True)
class Total:
    """Fuzzing time of one target on its current sources, and on earlier ones."""

    target: str
    sanitizer: str
    cpu_seconds: float
    runs: int
    findings: int
    earlier_cpu_seconds: float

    def is_complete(self, seconds: float) -> bool:
        """Return whether the target ran long enough on its current sources, and found nothing."""
        return self.cpu_seconds >= seconds and self.findings == 0


def append(entry: Entry, file: Path = RESULTS) -> None:
    """Add a line to the record."""
    with file.open("a", encoding="utf-8") as record:
        record.write(json.dumps(asdict(entry)) + "\n")


def read(file: Path = RESULTS) -> list[Entry]:
    """Read all lines of the record, oldest first; none if there is no record yet."""
    if not file.is_file():
        return []
    return [Entry(**json.loads(line)) for line in file.read_text(encoding="utf-8").splitlines()]


def total(entries: Iterable[Entry], target: str, sanitizer: str, sources: str) -> Total:
    """Add up the lines of one target under one sanitizer."""
    own = [entry for entry in entries if (entry.target, entry.sanitizer) == (target, sanitizer)]
    current = [entry for entry in own if entry.sources == sources]
    return Total(
        target,
        sanitizer,
        cpu_seconds=sum(entry.cpu_seconds for entry in current),
        runs=sum(entry.runs for entry in current),
        findings=sum(entry.findings for entry in current),
        earlier_cpu_seconds=sum(entry.cpu_seconds for entry in own) - sum(entry.cpu_seconds for entry in current),
    )


def totals(entries: Iterable[Entry], targets: Iterable[tuple[str, str]], hash_of: Callable[[str], str]) -> list[Total]:
    """Add up the record for each pair of target and sanitizer, in their order."""
    lines = list(entries)
    return [total(lines, target, sanitizer, hash_of(target)) for target, sanitizer in targets]


def format_totals(found: Iterable[Total], seconds: float) -> str:
    """Format a table of the totals, and a last line that says how many targets are complete."""
    rows = list(found)
    lines = [f"{'target':20}{'sanitizer':11}{'CPU s':>8}{'runs':>13}{'findings':>10}{'earlier s':>11}  state"]
    for row in rows:
        missing = f"needs {seconds - row.cpu_seconds:.0f} s more" if row.cpu_seconds < seconds else "found something"
        lines.append(
            f"{row.target:20}{row.sanitizer:11}{row.cpu_seconds:8.0f}{row.runs:13,}{row.findings:10}"
            f"{row.earlier_cpu_seconds:11.0f}  {'complete' if row.is_complete(seconds) else missing}"
        )
    complete = sum(row.is_complete(seconds) for row in rows)
    lines.append(f"{complete} of {len(rows)} have {seconds:.0f} CPU seconds on the current sources without a finding")
    return "\n".join(lines)
