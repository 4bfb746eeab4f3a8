"""Cityscapes: photographs and their masks in two trees.

leftImg8bit/train/aachen/aachen_000000_000019_leftImg8bit.png
gtFine/train/aachen/aachen_000000_000019_gtFine_labelIds.png     …_instanceIds.png  …_color.png

The split and the city are folder names. The field of a mask is named after its kind: `labelIds` is `mask`, the others
are `instance` and `color`. gtFine is used before gtCoarse if both exist.
"""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import numpy as np
import numpy.typing as npt

from penstock.errors import SourceError
from penstock.index import ABSENT, ImageColumns, Listing, Role
from penstock.sources.files import FileFacts, by_ending, facts_in, files_beside
from penstock.sources.probe import Probe
from penstock.sources.source import FilesOnly
from penstock.storage import StorePath

PHOTOGRAPHS = "leftImg8bit"
ANNOTATIONS = ("gtFine", "gtCoarse")
KINDS = {"labelIds": "mask", "instanceIds": "instance", "color": "color"}
ROLES = {"image": Role.IMAGE, "mask": Role.MASK, "instance": Role.MASK, "color": Role.IMAGE}


class Cityscapes(FilesOnly):
    """Folder with `leftImg8bit` and, unless only photographs are wanted, `gtFine` or `gtCoarse`."""

    kind = "cityscapes"

    def __init__(self, path: Path | StorePath) -> None:
        self.path = path
        self._place = StorePath.of(path)
        self._facts: FileFacts | None = None

    @classmethod
    def detects(cls, probe: Probe) -> bool:
        """Return whether the folder has the photographs of Cityscapes."""
        return probe.is_folder and probe.named(PHOTOGRAPHS)

    def listing(self) -> Listing:
        """List photographs and masks."""
        import pyarrow as pa

        photographs, others = _photographs(self._place / PHOTOGRAPHS)
        masks, left_out = _masks(self._place, photographs)
        left_out += by_ending(others) + files_beside(self._place, (PHOTOGRAPHS, *ANNOTATIONS))
        keys = [f"{PHOTOGRAPHS}/{stem}_{PHOTOGRAPHS}.png" for stem in photographs]
        files = {"image": keys, **masks}
        names = [name for found in files.values() for name in found if name]
        self._facts = facts_in(self._place, names)
        return Listing(
            keys=pa.array(keys, pa.string()),
            roles={field: ROLES[field] for field in files},
            images=_places(files, self._facts.sizes),
            files=self._place.references(names),
            store=self._place.foreign_store,
            splits=pa.array([stem.split("/")[0] for stem in photographs], pa.string()),
            columns={"city": pa.array([stem.split("/")[1] for stem in photographs], pa.string())},
            left_out=left_out,
        )

    def state(self) -> bytes:
        """Return sizes and times of all files."""
        if self._facts is None:
            self.listing()
        assert self._facts is not None
        return self._facts.state()


def _photographs(folder: StorePath) -> tuple[list[str], list[str]]:
    """Return SPLIT/CITY/NAME of every photograph, sorted, and the other files."""
    ending = f"_{PHOTOGRAPHS}.png"
    files = folder.tree().files
    stems = [name.removesuffix(ending) for name in files if name.endswith(ending)]
    odd = [stem for stem in stems if stem.count("/") != 2]
    if odd or not stems:
        raise SourceError(
            f"'{odd[0]}{ending}' is not in a folder SPLIT/CITY" if odd else f"no file ends in {ending}",
            where=str(folder),
            fix="unpack leftImg8bit_trainvaltest.zip here, as it is",
            code=630,
        )
    return stems, [name for name in files if not name.endswith(ending)]


def _masks(root: StorePath, photographs: list[str]) -> tuple[dict[str, list[str]], Counter[str]]:
    """Return the mask of every photograph for each field, "" if it has none, and what was left out."""
    row = {stem: number for number, stem in enumerate(photographs)}
    masks: dict[str, list[str]] = {}
    left_out: Counter[str] = Counter()
    for annotation in (name for name in ANNOTATIONS if (root / name).is_folder()):
        for name in (root / annotation).tree().files:
            stem, _, kind = name.removesuffix(".png").rpartition(f"_{annotation}_")
            field = KINDS.get(kind) if name.endswith(".png") else None
            if field is None or stem not in row:
                reason = "masks without a photograph" if field else f"{annotation}: {kind or os.path.basename(name)}"  # noqa: PTH119
                left_out[reason] += 1
                continue
            names = masks.setdefault(field, [""] * len(photographs))
            names[row[stem]] = names[row[stem]] or f"{annotation}/{name}"
    return {field: masks[field] for field in KINDS.values() if field in masks}, left_out


def _places(files: dict[str, list[str]], sizes: npt.NDArray[np.int64]) -> dict[str, ImageColumns]:
    """Return the positions of each field's files in the list of all files."""
    places: dict[str, ImageColumns] = {}
    begin = 0
    for field, names in files.items():
        present = np.array([bool(name) for name in names])
        count = int(present.sum())
        file = np.full(len(names), ABSENT, np.int32)
        length = np.zeros(len(names), np.int64)
        file[present] = np.arange(begin, begin + count)
        length[present] = sizes[begin : begin + count]
        places[field] = ImageColumns.of_files(file, length)
        begin += count
    return places
