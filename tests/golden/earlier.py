"""Write what `tests/golden/earlier/` holds: a dataset, a folder, states of loaders, and what comes after them.

Run by hand with the version whose files should stay readable, `python -m tests.golden.earlier OUT`; it uses public
names only, so that it runs with any version. The files in the repository were written by 0.1.0 at commit 05b0984.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

import penstock
from penstock.build import build

COUNT = 24
OPTIONS: dict[str, Any] = {"batch_size": 5, "seed": 7, "threads": 2, "channels": "unchanged"}
SOURCES = ("photos", "data.pen")


def write_photos(root: Path) -> None:
    """Write small images of two classes, and a mask for each."""
    for number in range(COUNT):
        rng = np.random.default_rng(number)
        pixels = (rng.integers(0, 4, (9, 12, 3)) * 60).astype(np.uint8)
        for kind, image in (("images", pixels), ("masks", pixels[..., 0] // 60)):
            place = root / kind / f"class{number % 2}" / f"{number:02}.png"
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(penstock.encode(np.ascontiguousarray(image), "png"))


def batches_of(loader: Any, epochs: int) -> list[dict[str, Any]]:  # noqa: ANN401  # of another version
    """Return ids, labels and a digest of the pixels of every batch of some epochs."""
    return [
        {
            "id": batch["id"].tolist(),
            "label": batch["label"].tolist(),
            "pixels": {name: digest(batch[name]) for name in ("image", "mask") if name in batch},
        }
        for _ in range(epochs)
        for batch in loader
    ]


def digest(pixels: Any) -> str:  # noqa: ANN401  # an array, or a list of them
    """Return a digest of the pixels of a batch."""
    return hashlib.sha256(np.ascontiguousarray(pixels).tobytes()).hexdigest()[:16]


def main(out: Path) -> None:
    """Write the folder, the dataset, and for each a state inside the second epoch with what follows it."""
    write_photos(out / "photos")
    build(out / "photos", out / "data.pen", mix="weir:fast=0.5,png=0.25,jpeg:q=90=0.25")
    for name in SOURCES:
        source = out / "photos" / "images" if name == "photos" else out / name
        with penstock.Loader(source, **OPTIONS) as loader:
            list(loader)
            for _, _ in zip(range(2), loader, strict=False):
                state = loader.state_dict()
        with penstock.Loader(source, **OPTIONS) as loader:
            loader.load_state_dict(state)
            told = {"state": state, "batches": batches_of(loader, 2)}
        (out / f"{name}.json").write_text(json.dumps(told, indent=1) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
