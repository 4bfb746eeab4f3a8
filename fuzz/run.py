"""Build the fuzz targets with sanitizers and run them. `make fuzz` calls it.

python -m fuzz.run [--seconds N] [--jobs N] [--sanitizer address|memory] [--keep] [TARGET…]

A target is the name of a codec, whose decoder it watches, or one of `PARTS` in fuzz/targets.py.

Inputs that reach new code grow in build/fuzz/corpus; findings stay in build/fuzz/findings, with the line that repeats
each. `--keep` then reduces what was learned into fuzz/corpus, which is committed.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from fuzz.libraries import LibraryError
from fuzz.targets import BUILD, ROOT, SANITIZERS, SEEDS, FuzzError, build, command_of, environment, targets

LEARNED = BUILD / "corpus"
FINDINGS = BUILD / "findings"
KEPT = ROOT / "fuzz" / "corpus"

MAX_INPUT_BYTES = 10_000
MAX_KEPT_FILES = 55
MAX_KEPT_BYTES = 80_000
"""Limit of the kept bytes of one target."""
LIMITS = ("-rss_limit_mb=2048", "-malloc_limit_mb=512", "-timeout=10", f"-max_len={MAX_INPUT_BYTES}")


def main(arguments: list[str]) -> int:
    """Run the targets, some at a time; 1 if one of them found something."""
    parser = argparse.ArgumentParser(description="Fuzz the codecs and the readers.")
    parser.add_argument("--seconds", type=int, default=60, help="Seconds for each target.")
    parser.add_argument("--jobs", type=int, default=1, help="Number of targets that run in parallel.")
    parser.add_argument("--sanitizer", choices=SANITIZERS, default="address")
    parser.add_argument("--keep", action="store_true", help="Reduce new inputs into fuzz/corpus.")
    parser.add_argument("targets", nargs="*", help="Targets to run. Default: all.")
    options = parser.parse_args(arguments)
    began = time.monotonic()
    try:
        build(options.sanitizer)
        chosen = options.targets or targets(options.sanitizer)
        built = time.monotonic()
        found = run_all(chosen, options.seconds, options.jobs, options.sanitizer)
        if options.keep:
            for target in chosen:
                print(f"{target}: kept {keep(target)} files", flush=True)
    except (FuzzError, LibraryError) as error:
        print(f"fuzz: {error}", file=sys.stderr)
        return 1
    total = time.monotonic() - began
    print(
        f"fuzz: {len(chosen)} targets, {options.sanitizer}, {options.seconds} s each, {options.jobs} at a time: "
        f"{len(found)} findings; {built - began:.0f} s to build, {total:.0f} s in all",
        flush=True,
    )
    return 1 if found else 0


def run_all(chosen: Sequence[str], seconds: int, jobs: int, sanitizer: str) -> list[Path]:
    """Run targets, `jobs` at a time; everything that they found."""
    with ThreadPoolExecutor(max_workers=max(1, jobs)) as pool:
        runs = [pool.submit(run, target, seconds, sanitizer) for target in chosen]
        return [finding for done in runs for finding in done.result()]


def run(target: str, seconds: int, sanitizer: str = "address") -> list[Path]:
    """Run one target; what it found, if anything."""
    learned, seeds, kept, findings = (base / target for base in (LEARNED, SEEDS, KEPT, FINDINGS))
    for folder in (learned, seeds, kept, findings):
        folder.mkdir(parents=True, exist_ok=True)
    known = set(findings.iterdir())
    report = _libfuzzer(
        target, sanitizer, f"-max_total_time={seconds}", f"-artifact_prefix={findings}/", learned, kept, seeds
    )
    found = sorted(set(findings.iterdir()) - known)
    print(f"{target}: {_last_count(report.stdout)}", flush=True)
    if report.returncode != 0 and not found:
        raise FuzzError(f"{target} stopped (code {report.returncode}), nothing found:\n{report.stdout[-3000:]}")
    for finding in found:
        repeat = " ".join(command_of(target, sanitizer))
        print(f"{target}: FOUND {finding}\n{report.stdout[-4000:]}\n  repeat: {repeat} {finding}", flush=True)
    return found


def keep(target: str) -> int:
    """Reduce learned and kept inputs to few small files of the same coverage; how many they are.

    Files with a name of their own, such as inputs that once were a finding, stay.
    """
    with tempfile.TemporaryDirectory(dir=BUILD) as folder:
        reduced = Path(folder)
        inputs = (base / target for base in (KEPT, SEEDS, LEARNED) if (base / target).is_dir())
        report = _libfuzzer(target, "address", "-set_cover_merge=1", reduced, *inputs)
        if report.returncode != 0:
            raise FuzzError(f"the corpus of {target} could not be merged:\n{report.stdout[-3000:]}")
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


def _libfuzzer(target: str, sanitizer: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [*command_of(target, sanitizer), *LIMITS, *map(str, arguments)]
    return subprocess.run(
        command,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,  # together: atheris prints a traceback to one of them, libFuzzer to the other
        text=True,
        errors="replace",
        env=environment(sanitizer),
    )


def _last_count(report: str) -> str:
    lines = [line for line in report.splitlines() if line.startswith("Done ") or "cov:" in line]
    return lines[-1].strip() if lines else "no report"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
