"""Build the fuzz targets with sanitizers and run them. `make fuzz` calls it.

python -m fuzz.run [--seconds N] [--jobs N] [--sanitizer address|memory] [--record] [--keep] [TARGET…]
python -m fuzz.run --status [--seconds N]

A target is the name of a codec, whose decoder it watches, or one of `PARTS` in fuzz/targets.py. Seconds are CPU seconds
of the fuzzing process. `--record` adds each run to fuzz/results.jsonl, and gives a target only the seconds that it
lacks there.

Inputs that reach new code grow in build/fuzz/corpus; findings stay in build/fuzz/findings, with the line that repeats
each. `--keep` then reduces what was learned into fuzz/corpus, which is committed.
"""

from __future__ import annotations

import argparse
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from fuzz import ledger
from fuzz.libraries import LibraryError
from fuzz.processes import Report, run_process
from fuzz.sources import sources_hash
from fuzz.targets import BUILD, ROOT, SANITIZERS, SEEDS, FuzzError, all_targets, build, command_of, environment, targets
from penstock.lab.circumstances import commit_text
from penstock.machine import cpu_model

LEARNED = BUILD / "corpus"
FINDINGS = BUILD / "findings"
KEPT = ROOT / "fuzz" / "corpus"

MAX_INPUT_BYTES = 10_000
MAX_KEPT_FILES = 55
MAX_KEPT_BYTES = 80_000
"""Limit of the kept bytes of one target."""
HANG_SECONDS = 10
"""CPU seconds after which one input counts as a hang."""
LIMITS = (
    *("-rss_limit_mb=2048", "-malloc_limit_mb=512", f"-max_len={MAX_INPUT_BYTES}"),
    # In wall time. What another program or a pause made slow is sorted out by `_hangs`.
    *("-timeout=120", f"-report_slow_units={HANG_SECONDS}"),
)
RECORDED_SECONDS = 200
"""CPU seconds of one recorded line, so that an interrupted run loses little."""


@dataclass(frozen=True)
class Session:
    """Time and sanitizer of a run, and the record for it."""

    seconds: float
    sanitizer: str = "address"
    record: Path | None = None


@dataclass(frozen=True)
class Circumstances:
    """Conditions of the runs, as they were when the targets were built."""

    commit: str
    cpu: str
    sources: str


def main(arguments: list[str]) -> int:
    """Run the targets, some at a time; 1 if one of them found something."""
    parser = argparse.ArgumentParser(description="Fuzz the codecs and the readers.")
    parser.add_argument("--seconds", type=int, default=60, help="CPU seconds for each target.")
    parser.add_argument("--jobs", type=int, default=1, help="Number of targets that run in parallel.")
    parser.add_argument("--sanitizer", choices=SANITIZERS, default="address")
    parser.add_argument("--record", action="store_true", help="Add what is lacking in fuzz/results.jsonl.")
    parser.add_argument("--status", action="store_true", help="Print which targets ran long enough, and run none.")
    parser.add_argument("--keep", action="store_true", help="Reduce new inputs into fuzz/corpus.")
    parser.add_argument("targets", nargs="*", help="Targets to run. Default: all.")
    options = parser.parse_args(arguments)
    if options.status:
        pairs = [(target, sanitizer) for sanitizer in SANITIZERS for target in all_targets(sanitizer)]
        print(ledger.format_totals(ledger.totals(ledger.read(), pairs, sources_hash), options.seconds))
        return 0
    began = time.monotonic()
    try:
        build(options.sanitizer)
        chosen = options.targets or targets(options.sanitizer)
        built = time.monotonic()
        session = Session(options.seconds, options.sanitizer, ledger.RESULTS if options.record else None)
        found = run_all(chosen, session, options.jobs)
        if options.keep:
            for target in chosen:
                print(f"{target}: kept {keep(target)} files", flush=True)
    except (FuzzError, LibraryError) as error:
        print(f"fuzz: {error}", file=sys.stderr)
        return 1
    total = time.monotonic() - began
    print(
        f"fuzz: {len(chosen)} targets, {options.sanitizer}, {options.seconds} CPU s each, {options.jobs} at a time: "
        f"{len(found)} findings; {built - began:.0f} s to build, {total:.0f} s in all",
        flush=True,
    )
    return 1 if found else 0


def run_all(chosen: Sequence[str], session: Session, jobs: int) -> list[Path]:
    """Run targets, `jobs` at a time; everything that they found."""
    # Now, when the programs were just built: sources may change while targets wait for their turn.
    circumstances = {target: Circumstances(commit_text(), cpu_model(), sources_hash(target)) for target in chosen}
    with ThreadPoolExecutor(max_workers=max(1, jobs)) as pool:
        runs = [pool.submit(run_recorded, target, session, circumstances[target]) for target in chosen]
        return [finding for done in runs for finding in done.result()]


def run_recorded(target: str, session: Session, circumstances: Circumstances) -> list[Path]:
    """Run one target, in pieces that are recorded if the session wants that; its findings."""
    if session.record is None:
        return run(target, session.seconds, session.sanitizer)
    entries = ledger.read(session.record)
    done = ledger.total(entries, target, session.sanitizer, circumstances.sources).cpu_seconds
    found: list[Path] = []
    while done < session.seconds and not found:
        before = _corpus_files(target)
        piece = min(RECORDED_SECONDS, session.seconds - done)
        found, report = _run(target, piece, session.sanitizer)
        entry = ledger.Entry(
            target=target,
            sanitizer=session.sanitizer,
            cpu_seconds=round(report.cpu_seconds, 2),
            wall_seconds=round(report.wall_seconds, 2),
            runs=report.runs,
            findings=len(found),
            corpus_before=before,
            corpus_after=_corpus_files(target),
            sources=circumstances.sources,
            commit=circumstances.commit,
            date=datetime.now(timezone.utc).isoformat(timespec="seconds"),
            cpu=circumstances.cpu,
        )
        ledger.append(entry, session.record)
        done += entry.cpu_seconds
    return found


def run(target: str, seconds: float, sanitizer: str = "address") -> list[Path]:
    """Run one target for some CPU seconds; what it found, if anything."""
    found: list[Path] = []
    left = seconds
    while left > 0 and not found:  # once, unless a pause looked like a hang to libFuzzer
        found, report = _run(target, left, sanitizer)
        left -= report.cpu_seconds
    return found


def _run(target: str, seconds: float, sanitizer: str) -> tuple[list[Path], Report]:
    learned, seeds, kept, findings = folders = [base / target for base in (LEARNED, SEEDS, KEPT, FINDINGS)]
    for folder in folders:
        folder.mkdir(parents=True, exist_ok=True)
    known = set(findings.iterdir())
    report = _libfuzzer(target, sanitizer, f"-artifact_prefix={findings}/", learned, kept, seeds, seconds=seconds)
    artifacts = sorted(set(findings.iterdir()) - known)
    slow = [file for file in artifacts if file.name.startswith(("slow-unit-", "timeout-"))]
    harmless = [file for file in slow if not hangs(file, lambda file: _libfuzzer(target, sanitizer, file, seconds=60))]
    for file in harmless:
        file.unlink()
    found = [file for file in artifacts if file not in harmless]
    print(
        f"{target}: {report.runs:,} runs in {report.cpu_seconds:.0f} CPU s ({report.wall_seconds:.0f} s); "
        f"{len(found)} findings; {_last_count(report.output)}",
        flush=True,
    )
    if report.code != 0 and not artifacts:
        raise FuzzError(f"{target} stopped (code {report.code}), nothing found:\n{report.output[-3000:]}")
    for finding in found:
        repeat = " ".join(command_of(target, sanitizer))
        print(f"{target}: FOUND {finding}\n{report.output[-4000:]}\n  repeat: {repeat} {finding}", flush=True)
    return found, report


def hangs(file: Path, repeat: Callable[[Path], Report]) -> bool:
    """Return whether an input that took long is a hang: repeated alone it fails, or uses too much CPU time.

    libFuzzer measures wall time, which also passes while other programs run or the fuzzer is paused.
    """
    report = repeat(file)
    return report.code != 0 or report.cpu_seconds >= HANG_SECONDS


def keep(target: str) -> int:
    """Reduce learned and kept inputs to few small files of the same coverage; how many they are.

    Files with a name of their own, such as inputs that once were a finding, stay.
    """
    with tempfile.TemporaryDirectory(dir=BUILD) as folder:
        reduced = Path(folder)
        inputs = (base / target for base in (KEPT, SEEDS, LEARNED) if (base / target).is_dir())
        report = _libfuzzer(target, "address", "-set_cover_merge=1", reduced, *inputs)
        if report.code != 0:
            raise FuzzError(f"the corpus of {target} could not be merged:\n{report.output[-3000:]}")
        (KEPT / target).mkdir(exist_ok=True)
        named = [file for file in (KEPT / target).iterdir() if not re.fullmatch(r"[0-9a-f]{40}", file.name)]
        chosen = _spread(list(reduced.iterdir()), MAX_KEPT_FILES - len(named))
        for file in set((KEPT / target).iterdir()) - set(named):
            file.unlink()
        for file in chosen:
            shutil.copy(file, KEPT / target / file.name)
        return len(chosen) + len(named)


def _spread(files: list[Path], most: int) -> list[Path]:
    """Select few of many files, with few bytes in total.

    The cover comes in no useful order: every n-th by size is kept, early refusals and whole images alike.
    """
    ordered = sorted(files, key=lambda file: (file.stat().st_size, file.name))
    step = max(1, -(-len(ordered) // most))
    while sum(file.stat().st_size for file in ordered[::step]) > MAX_KEPT_BYTES:
        step += 1
    return ordered[::step]


def _corpus_files(target: str) -> int:
    folders = [base / target for base in (LEARNED, SEEDS, KEPT)]
    return sum(len(list(folder.iterdir())) for folder in folders if folder.is_dir())


def _libfuzzer(target: str, sanitizer: str, *arguments: str | Path, seconds: float | None = None) -> Report:
    command = [*command_of(target, sanitizer), *LIMITS, *map(str, arguments)]
    return run_process(command, environment(sanitizer), ROOT, seconds)


def _last_count(report: str) -> str:
    lines = [line for line in report.splitlines() if line.startswith("Done ") or "cov:" in line]
    return lines[-1].strip() if lines else "no report"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
