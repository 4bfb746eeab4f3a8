"""Do two worker processes get 1.7 times as much RandAugment done as one?

Records of 256×256 in weir:fast, RandomResizedCrop(224) native, RandAugment and the way to normalised floats in Python.
Two loaders with warm workers take turns, an epoch each; the answer is the median over the rounds.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import torch

import penstock.torch
from bench.corpus import files_of
from bench.timing import Session, arguments, ratio
from penstock.build import build
from penstock.transforms import CenterCrop, Resize, apply
from tests.real_vision import Prepared

GOAL = 1.7
BATCH = 32
SIDE = 256


def main() -> None:
    """Measure; exit 1 if two workers miss the goal."""
    parser = arguments(__doc__ or "")
    parser.set_defaults(limit=320, rounds=9)
    options = parser.parse_args()
    files = files_of("imagenet", options.limit)
    with tempfile.TemporaryDirectory() as folder:
        place = records(files, Path(folder))
        loaders = {count: opened(place, count) for count in (1, 2)}
        session = Session(
            "python_stage",
            "Do two worker processes run RandAugment 1.7 times as fast as one?",
            corpus="imagenet",
            count=len(files),
            threads=1,
            rounds=options.rounds,
            record=options.record,
        )
        with session, loaders[1], loaders[2]:
            contenders = {
                "one worker": lambda: epoch(loaders[1]),
                "two workers": lambda: epoch(loaders[2]),
            }
            check(loaders)  # and start the workers
            used, wall = worker_seconds(loaders), time.perf_counter()
            timings = session.compare(contenders, verify=lambda: None, clock=time.perf_counter)
            # What our own workers did is nobody else's load.
            used, wall = worker_seconds(loaders) - used, time.perf_counter() - wall
            session.foreign_cores = max(0.0, session.foreign_cores - used / wall)
            extra = {str(count): loader.stats()["stages"]["python"] for count, loader in loaders.items()}
            session.report(timings, baseline="one worker", python=extra, side=SIDE, batch_size=BATCH)
    found = ratio(timings["two workers"], timings["one worker"]).median
    if found < GOAL:
        sys.exit(f"too little: {found:.2f} < {GOAL}")


def records(files: list[Path], folder: Path) -> Path:
    """Store the centre of every image as weir:fast."""
    images = folder / "images"
    images.mkdir()
    for number, path in enumerate(files):
        pixels = penstock.decode(path.read_bytes())
        if pixels.ndim == 3 and pixels.shape[2] == 3:  # a few are grey
            middle = apply(pixels, [Resize(SIDE), CenterCrop(SIDE)])
            (images / f"{number:04d}.png").write_bytes(penstock.encode(middle, "png"))
    build(images, folder / "records.pen", mix="weir:fast=1")
    return folder / "records.pen"


def opened(place: Path, workers: int) -> penstock.torch.Loader:
    """Open a loader with the chain of torchvision's own recipe."""
    from torchvision import transforms

    chain = [
        transforms.RandomResizedCrop(224),
        transforms.RandomHorizontalFlip(),
        Prepared(),
        transforms.RandAugment(),
        transforms.PILToTensor(),
        transforms.ConvertImageDtype(torch.float32),
        transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]),
    ]
    return penstock.torch.Loader(
        place, batch_size=BATCH, threads=1, transform=chain, python_workers=workers, overlap_epochs=False
    )


def epoch(loader: penstock.torch.Loader) -> int:
    """Load all batches without using them."""
    return sum(len(batch["id"]) for batch in loader)


def worker_seconds(loaders: dict[int, penstock.torch.Loader]) -> float:
    """Return the CPU time of all workers so far."""
    ticks = 0
    for loader in loaders.values():
        for pid in loader.python_stage.pids if loader.python_stage is not None else ():
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def check(loaders: dict[int, penstock.torch.Loader]) -> None:
    """Check that both loaders give the same batches."""
    found: list[dict[int, Any]] = []
    for loader in loaders.values():
        loader.set_epoch(0)
        found.append({int(i): image for batch in loader for i, image in zip(batch["id"], batch["image"], strict=True)})
    assert found[0].keys() == found[1].keys()
    assert all(torch.equal(image, found[1][sample]) for sample, image in found[0].items())


if __name__ == "__main__":
    main()
