"""Images of a folder, detected by content and held in memory, so that no disk is measured."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from penstock.codecs import ImageInfo, decode, inspect
from penstock.errors import ArgumentError, CodecError, PenstockError
from penstock.machine import memory
from penstock.storage import list_tree, read_file
from penstock.types import OnProgress, Pixels, no_progress

UNKNOWN_FORMAT = 300


@dataclass(frozen=True, slots=True)
class SourceImage:
    """File with its pixels."""

    path: Path
    data: bytes
    info: ImageInfo
    pixels: Pixels
    decode_seconds: float
    """Time of the first decode."""


@dataclass(frozen=True, slots=True)
class Unreadable:
    """File that looks like an image, but is not one or cannot be read."""

    path: Path
    error: PenstockError


@dataclass(frozen=True, slots=True)
class Corpus:
    """Images of a folder in sorted order, and the files that were skipped."""

    folder: Path
    images: tuple[SourceImage, ...]
    unreadable: tuple[Unreadable, ...]
    num_other_files: int
    """Files looked at that are of no known image format."""
    num_files: int
    """All files of the folder, looked at or not."""

    @property
    def pixel_bytes(self) -> int:
        """Bytes of all decoded pixels."""
        return sum(image.pixels.nbytes for image in self.images)


def load_corpus(
    folder: str | os.PathLike[str], *, limit: int = 0, copies: int = 1, on_progress: OnProgress = no_progress
) -> Corpus:
    """Read and decode the images of a folder; at most `limit` of them, evenly spread, unless it is 0.

    `copies` is the number of copies of the pixels that the caller will hold; a corpus that would not fit in memory is
    refused.
    """
    files = list_tree(folder).paths()
    images: list[SourceImage] = []
    unreadable: list[Unreadable] = []
    num_others = 0
    budget_bytes = memory().available_bytes // 2
    wanted = min(limit, len(files)) if limit else len(files)
    for path in _spread_order(files, limit):
        if len(images) == wanted:
            break
        on_progress("reading", len(images), wanted)
        try:
            image = _load(path)
        except PenstockError as error:
            if error.code == UNKNOWN_FORMAT:
                num_others += 1
            else:
                unreadable.append(Unreadable(path, error))
            continue
        budget_bytes -= image.pixels.nbytes * copies + len(image.data)
        if budget_bytes < 0:
            raise _too_much(len(images))
        images.append(image)
    if not images:
        raise _nothing(Path(folder), len(files), len(unreadable))
    images.sort(key=lambda image: image.path.as_posix())
    return Corpus(Path(folder), tuple(images), tuple(unreadable), num_others, len(files))


def _load(path: Path) -> SourceImage:
    data = read_file(path)
    try:
        info = inspect(data)
        begin = time.perf_counter()
        return SourceImage(path, data, info, decode(data), time.perf_counter() - begin)
    except CodecError as error:
        raise error.within(str(path)) from error


def _spread_order(files: Sequence[Path], limit: int) -> list[Path]:
    """Order `limit` files evenly spread over all first, then the rest as replacements for non-images."""
    if not limit or limit >= len(files):
        return list(files)
    chosen = {index * len(files) // limit for index in range(limit)}
    return [files[index] for index in sorted(chosen)] + [
        file for index, file in enumerate(files) if index not in chosen
    ]


def _too_much(num_loaded: int) -> ArgumentError:
    return ArgumentError(
        "the images would take more than half of the free memory",
        where=f"after {num_loaded} images",
        fix=f"measure fewer of them, with a limit of {max(1, num_loaded * 9 // 10)}",
        code=100,
    )


def _nothing(folder: Path, num_files: int, num_unreadable: int) -> ArgumentError:
    others = f", {num_unreadable} of them damaged" if num_unreadable else ""
    return ArgumentError(
        f"no readable image among {num_files} files{others}",
        where=str(folder),
        fix="name a folder that holds images; `penstock info FILE` says what is wrong with one",
        code=100,
    )
