"""What do the experiments say on real images? Runs recipes of the lab on ../shared/data and publishes their pages.

python -m bench.lab [--only orthogonal,thrash,…] [--minutes 12] [--runs build/lab]

A run that is out of time stops between cells; called again, it goes on. What is finished is written to docs/results:
the page, the lines, one PNG per figure (with Chromium, if it is installed).
"""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from bench.corpus import DATA, files_of
from bench.previews import write_previews
from penstock import decode, encode
from penstock.lab import Progress, find_recipe, run_page, run_recipe, with_settings
from penstock.storage import read_file
from penstock.synth import Scenes, write

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "docs" / "results"


@dataclass(frozen=True)
class Campaign:
    """A recipe, the data it runs on, and what is set."""

    recipe: str
    data: str
    settings: tuple[str, ...]
    minutes: float
    """What it takes on two quiet cores."""


CAMPAIGNS = (
    Campaign("orthogonal", "photos", ("disk=40MB/s", "epochs=3"), 1.0),
    Campaign("thrash", "photos", ("disk=80MB/s", "epochs=2", "shares=0.25,0.5,0.75,1.1"), 4.0),
    Campaign("mix", "streets", ("seconds=0.3", "rivals=torch"), 4.0),
    Campaign("codecs", "streets", ("images=16", "repeats=2"), 1.0),
    Campaign("lossless", "scenes", ("epochs=4", "disk=20MB/s", "model=alexnet"), 1.0),
    Campaign("whatif", "streets", ("seconds=0.4",), 0.5),
    Campaign("dropin", "scenes", ("epochs=6", "formats=jpeg:q=85,jpeg:q=50,jpeg:q=10", "crop=plain"), 1.0),
    Campaign("storage-budget", "scenes", ("epochs=6", "shares=0.5,0.25,0.1"), 1.2),
    Campaign("regimen", "scenes", ("epochs=9",), 1.2),
    Campaign("time-budget", "scenes", ("disk=10MB/s", "max_epochs=12"), 1.0),
    Campaign("train", "scenes", ("models=alexnet", "disk=20MB/s"), 1.0),
    Campaign("bottleneck", "scenes", ("disk=5MB/s",), 1.5),
    Campaign("fidelity", "scenes", ("epochs=6",), 1.0),
)


def main() -> None:
    """Run, publish, say what is left."""
    parser = argparse.ArgumentParser(description="What do the experiments say on real images?")
    parser.add_argument("--only", default="", help="recipes, separated by commas")
    parser.add_argument("--minutes", type=float, default=12.0)
    parser.add_argument("--runs", type=Path, default=ROOT / "build" / "lab")
    options = parser.parse_args()
    chosen = [one for one in CAMPAIGNS if not options.only or one.recipe in options.only.split(",")]
    print(f"{len(chosen)} recipes, about {sum(one.minutes for one in chosen):.0f} minutes", flush=True)
    until = time.monotonic() + options.minutes * 60
    for campaign in chosen:
        began = time.monotonic()
        if not _run(campaign, options.runs, until):
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
    page = place / "report.html"
    page.write_bytes(run_page(recipe, campaign.data, lines))
    write_previews(page, place)
    print(f"  {recipe.findings(lines).answer}", flush=True)
    return True


def data_of(name: str, runs: Path) -> Path:
    """A folder of images by name, made once.

    `photos`: 240 ImageNet images as PNG, so that the disk has something to read. `streets`: Cityscapes as it is.
    `scenes`: procedural images whose labels sit in structure and texture; the real ones have no classes to learn.
    """
    folder = runs / "sources" / name
    if name == "streets":
        return DATA / "cityscapes" / "leftImg8bit"
    if folder.exists():
        return folder
    work = folder.with_name(f"{name}.part")
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    if name == "photos":
        for index, path in enumerate(files_of("imagenet", 240)):
            (work / f"{index:05d}.png").write_bytes(encode(decode(read_file(path)), "png"))
    else:
        write(work / "train", images=600, scenes=Scenes(width=96, height=96, classes=6))
        write(work / "val", images=300, scenes=Scenes(width=96, height=96, classes=6, seed=1))
    work.rename(folder)
    return folder


if __name__ == "__main__":
    main()
