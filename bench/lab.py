"""What do the experiments say on real images? Runs recipes of the lab on ../shared/data and publishes their pages.

python -m bench.lab [--only orthogonal,thrash,…] [--set NAME=VALUE …] [--minutes 12] [--runs build/lab] [--redraw]

A run that is out of time stops between cells; called again, it goes on. What is finished is written to docs/results:
the page, the lines, one PNG per figure (with Chromium, if it is installed). With --redraw nothing is measured:
pages and previews are drawn again from the committed lines.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path

from bench.lab_data import data_of
from bench.previews import write_previews
from penstock.lab import Progress, find_recipe, findings_of, load_run, run_page, run_recipe, with_settings

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "docs" / "results"


@dataclass(frozen=True)
class Campaign:
    """A recipe, the data it runs on, and what is set."""

    recipe: str
    data: str
    settings: tuple[str, ...]
    minutes: float
    """Time on two quiet cores."""
    is_timed: bool = True
    """True if its answer depends on the speed of the machine; others may run next to other work."""


PATCHES = ("crop=plain", "size=56")
"""Settings for windows of 64 × 64 pixels."""
ONE_CORE = ("torch_threads=1",)
"""Settings for untimed recipes next to other work, where threads that wait for each other are slow."""

WAYS = "synthetic,torch,dali,ffcv,penstock,penstock@weir:fast,penstock@jpeg=0.4/weir:fast=0.6"
"""Disk on which JPEG and weir:fast alone train about equally fast: one lacks cores, the other the disk."""

CAMPAIGNS = (
    Campaign("orthogonal", "photos", ("disk=40MB/s", "epochs=3"), 1.0),
    Campaign("thrash", "photos", ("disk=80MB/s", "epochs=2"), 4.0),
    Campaign("mix", "frames", ("seconds=1.0", "rivals=torch,dali"), 6.0),
    Campaign("codecs", "frames", ("images=16", "repeats=2"), 2.0),
    Campaign("whatif", "frames", ("seconds=1.0",), 1.2),
    Campaign("bottleneck", "herd", ("disk=40MB/s,200MB/s", "epochs=2"), 8.0),
    Campaign("train", "herd", ("models=alexnet", "disk=300MB/s", f"loaders={WAYS}"), 4.0),
    Campaign("lossless", "patches", (*PATCHES, "epochs=5", "disk=8MB/s", "model=alexnet"), 3.0),
    Campaign("time-budget", "patches", (*PATCHES, "disk=2MB/s", "budget_epochs=4", "max_epochs=12"), 2.5),
    Campaign("fidelity", "patches", (*PATCHES, "epochs=8", "disk=2MB/s"), 7.0),
    Campaign("dropin", "patches", (*PATCHES, *ONE_CORE, "epochs=12"), 4.0, is_timed=False),
    Campaign(
        "storage-budget", "patches", (*PATCHES, *ONE_CORE, "epochs=8", "shares=0.5,0.3,0.15"), 3.0, is_timed=False
    ),
    Campaign("regimen", "patches", (*PATCHES, *ONE_CORE, "epochs=9"), 5.0, is_timed=False),
)


def main() -> None:
    """Run, publish, say what is left."""
    parser = argparse.ArgumentParser(description="What do the experiments say on real images?")
    parser.add_argument("--only", default="", help="Recipes, separated by commas.")
    parser.add_argument("--minutes", type=float, default=12.0)
    parser.add_argument("--runs", type=Path, default=ROOT / "build" / "lab")
    parser.add_argument("--untimed", action="store_true", help="Run only recipes that other work does not disturb.")
    parser.add_argument(
        "--set", dest="settings", action="append", default=[], help="Setting to change in every chosen recipe."
    )
    parser.add_argument("--redraw", action="store_true", help="Draw the pages of docs/results again without measuring.")
    options = parser.parse_args()
    wanted = options.only.split(",") if options.only else [one.recipe for one in CAMPAIGNS]
    unknown = set(wanted) - {one.recipe for one in CAMPAIGNS}
    if unknown:
        sys.exit(f"there is no recipe {', '.join(sorted(unknown))}")
    if options.redraw:
        for name in wanted:
            if (RESULTS / name).exists():
                _draw(RESULTS / name)
        return
    chosen = [one for one in CAMPAIGNS if one.recipe in wanted and not (options.untimed and one.is_timed)]
    print(f"{len(chosen)} recipes, about {sum(one.minutes for one in chosen):.0f} minutes", flush=True)
    until = time.monotonic() + options.minutes * 60
    for campaign in chosen:
        began = time.monotonic()
        if not _run(replace(campaign, settings=(*campaign.settings, *options.settings)), options.runs, until):
            sys.exit(f"out of time in {campaign.recipe}: call it again to go on")
        print(f"{campaign.recipe}: {time.monotonic() - began:.0f} s", flush=True)


class _OutOfTimeError(Exception):
    """Raised between cells."""


def _run(campaign: Campaign, runs: Path, until: float) -> bool:
    recipe = with_settings(find_recipe(campaign.recipe), campaign.settings)
    data, out = data_of(campaign.data, runs), runs / campaign.recipe

    def check(stage: str, done: int, total: int) -> None:
        if time.monotonic() > until:
            raise _OutOfTimeError

    try:
        lines = run_recipe(recipe, data, out, Progress(cells=check))
    except _OutOfTimeError:
        return False
    place = RESULTS / campaign.recipe
    place.mkdir(parents=True, exist_ok=True)
    for name in ("lines.jsonl", "run.json"):
        shutil.copy(out / name, place / name)
    _draw(place)
    print(f"  {findings_of(recipe, lines).answer}", flush=True)
    return True


def _draw(place: Path) -> None:
    """Draw the page and its previews, as `lab report` does from the lines."""
    recipe, data, lines = load_run(place)
    page = place / "report.html"
    page.write_bytes(run_page(recipe, data, lines))
    write_previews(page, place)


if __name__ == "__main__":
    main()
