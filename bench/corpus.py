"""The real images beside the checkout, as lists of files in sorted order."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from penstock.storage import list_tree

DATA = Path(__file__).parents[2] / "shared" / "data"

FOLDERS = {
    "imagenet": "imagenet",
    "photos": "photos",
    "cityscapes": "cityscapes/leftImg8bit",
    "cityscapes-masks": "cityscapes/gtFine",
    "cityscapes-full": "cityscapes-full",
}


def files_of(corpus: str, limit: int = 0) -> list[Path]:
    """List the files of a corpus; at most `limit` of them, evenly spread, unless it is 0."""
    folder = DATA / FOLDERS[corpus]
    if not folder.is_dir():
        sys.exit(f"{folder} is missing: this benchmark needs the real images of ../shared/data")
    return evenly(list_tree(folder).paths(), limit)


def evenly(items: Sequence[Path], limit: int) -> list[Path]:
    """Select at most `limit` items, evenly spread; all of them for 0."""
    if not limit or len(items) <= limit:
        return list(items)
    return [items[index * len(items) // limit] for index in range(limit)]
