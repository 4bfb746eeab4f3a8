"""Images with a bright rectangle, a mask and boxes of the same rectangle: whoever moves one must move all of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import penstock
from penstock.build import build

HEIGHT, WIDTH = 40, 56


def rectangle(number: int) -> tuple[int, int, int, int]:
    """Left, top, right, bottom: never in the middle."""
    left, top = 4 + number % 5, 3 + number % 7
    return left, top, left + 16, top + 12


def write_scenes(folder: Path, count: int = 12) -> Path:
    """A dataset of them, with a label for every box."""
    lines = []
    for number in range(count):
        left, top, right, bottom = rectangle(number)
        image, mask = np.zeros((HEIGHT, WIDTH, 3), np.uint8), np.zeros((HEIGHT, WIDTH), np.uint8)
        image[top:bottom, left:right] = 250
        mask[top:bottom, left:right] = 7
        (folder / f"{number:02d}.png").write_bytes(penstock.encode(image, "png"))
        (folder / f"{number:02d}_mask.png").write_bytes(penstock.encode(mask, "png"))
        row = {
            "path": f"{number:02d}.png",
            "mask": f"{number:02d}_mask.png",
            "boxes": [[left, top, right, bottom]],
            "labels": [number % 3],
            "keypoints": [[left, top], [right, bottom]],
        }
        lines.append(json.dumps(row))
    (folder / "scenes.jsonl").write_text("\n".join(lines))
    build(folder / "scenes.jsonl", folder / "scenes.pen", mix="raw=1")
    return folder / "scenes.pen"


def extent(flags: npt.NDArray[np.bool_]) -> tuple[int, int, int, int] | None:
    """The rectangle around what is true; None if nothing is."""
    rows, columns = np.flatnonzero(flags.any(axis=1)), np.flatnonzero(flags.any(axis=0))
    return None if len(rows) == 0 else (int(columns[0]), int(rows[0]), int(columns[-1]) + 1, int(rows[-1]) + 1)


def joint(batch: dict[str, Any], *, axes: str = "HWC", slack: float = 1.6) -> int:
    """How many samples of a batch have image, mask and box in one place; all others fail."""
    seen = 0
    all_points = batch.get("keypoints", [None] * len(batch["image"]))
    for image, mask, boxes, points in zip(batch["image"], batch["mask"], batch["boxes"], all_points, strict=True):
        pixels = np.asarray(image, np.float32)
        grey = pixels.max(axis=0 if axes == "CHW" else 2)
        in_image, in_mask = extent(grey > grey.max() / 2), extent(np.asarray(mask) == 7)
        assert np.asarray(mask).shape == grey.shape
        if in_mask is None or in_image is None:
            continue
        assert np.abs(np.subtract(in_image, in_mask)).max() <= slack, (in_image, in_mask)
        assert np.abs(np.subtract(np.asarray(boxes)[0], in_mask)).max() <= slack, (boxes, in_mask)
        if points is not None:
            corners = np.sort(np.asarray(points), axis=0).reshape(-1)
            assert np.abs(corners - in_mask).max() <= slack, (points, in_mask)
        seen += 1
    return seen
