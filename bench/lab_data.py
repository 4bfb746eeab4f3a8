"""The data of the lab's recorded runs: made once of the real images beside the checkout, each a folder by its name.

`photos`: 240 ImageNet images as PNG, so that the disk has something to read. `herd`: 300 ImageNet images as they are,
in two classes by their WordNet numbers, for what only needs labels to be there; each four times, so that an epoch on a
fast disk is long enough to be timed. `frames`: Cityscapes as it is. `patches`: windows of Cityscapes' frames as they
are, whose class is what covers most of them, as the masks say.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from bench.corpus import DATA, FOLDERS, files_of
from penstock import decode, encode
from penstock.storage import read_file
from penstock.types import Pixels

LAST_ANIMAL = 2_600_000
"""WordNet's numbers of animals among ImageNet's classes are below."""
COPIES = 4
"""Number of copies of each image of `herd`, under different names."""
SIDE, STRIDE = 64, 32
COVERED = 0.6
"""Share of a window that its class must cover."""
CLASSES = {7: "road", 8: "sidewalk", 11: "building", 21: "vegetation", 26: "car"}
"""Cityscapes' numbers of the classes that have hundreds of such windows."""
MOST = {"train": 240, "val": 120}
"""Windows of a class, evenly spread."""
HELD_OUT = 3
"""Every third frame is for validation, so that no window of one is in training."""


def data_of(name: str, runs: Path) -> Path:
    """Return a folder of images by name, made if it does not exist."""
    if name == "frames":
        return DATA / FOLDERS["cityscapes"]
    folder = runs / "sources" / name
    if folder.exists():
        return folder
    work = folder.with_name(f"{name}.part")
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    MAKERS[name](work)
    work.rename(folder)
    return folder


def _photos(work: Path) -> None:
    for index, path in enumerate(files_of("imagenet", 240)):
        (work / f"{index:05d}.png").write_bytes(encode(decode(read_file(path)), "png"))


def _herd(work: Path) -> None:
    for path in files_of("imagenet"):
        kind = work / ("animal" if int(path.name[1:9]) < LAST_ANIMAL else "other")
        kind.mkdir(exist_ok=True)
        for copy in range(COPIES):
            shutil.copy(path, kind / f"{copy}-{path.name}")


def _patches(work: Path) -> None:
    found: dict[tuple[str, str], list[tuple[str, Pixels]]] = {}
    for number, path in enumerate(files_of("cityscapes")):
        part = "val" if number % HELD_OUT == 0 else "train"
        for name, kind, window in _windows(path):
            found.setdefault((part, kind), []).append((name, window))
    for (part, kind), windows in found.items():
        folder = work / part / kind
        folder.mkdir(parents=True)
        most = min(MOST[part], len(windows))
        for index in range(most):
            name, window = windows[index * len(windows) // most]
            (folder / name).write_bytes(encode(window, "png"))


def _windows(path: Path) -> Iterator[tuple[str, str, Pixels]]:
    """(name, class, pixels) of every window of a frame that one of the classes covers most of."""
    mask_path = str(path).replace("leftImg8bit/", "gtFine/").replace("_leftImg8bit", "_gtFine_labelIds")
    frame, mask = decode(read_file(path)), decode(read_file(mask_path))
    for top in range(0, frame.shape[0] - SIDE + 1, STRIDE):
        for left in range(0, frame.shape[1] - SIDE + 1, STRIDE):
            window = np.s_[top : top + SIDE, left : left + SIDE]
            counts = np.bincount(mask[window].ravel(), minlength=256)
            kind = int(counts.argmax())
            if kind in CLASSES and counts[kind] >= COVERED * SIDE**2:
                yield f"{path.stem[:-12]}_{top}_{left}.png", CLASSES[kind], frame[window].copy()


MAKERS: dict[str, Callable[[Path], None]] = {
    "herd": _herd,
    "patches": _patches,
    "photos": _photos,
}
