"""A plain image folder, with no build: its listing is kept in the user's cache directory, never beside the images."""

from __future__ import annotations

import io
import logging
import os
import zlib
from collections.abc import Callable
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt

from penstock import _native
from penstock.codecs.table import BUILTIN, plug_ins
from penstock.errors import StorageError, printable
from penstock.load.samples import Samples, as_folder, pack_names
from penstock.records.folder import list_folder
from penstock.storage import make_folders, read_file, read_range, write_file
from penstock.types import OnProgress, no_progress
from penstock.units import left_out_text

LOG = logging.getLogger("penstock")
VERSION = 2
LEAST_KEPT = 1000  # images; a smaller folder is listed sooner than its listing is found
MOST_LISTINGS = 64
Arrays = dict[str, npt.NDArray[np.generic]]


def open_folder(
    folder: str | os.PathLike[str],
    on_progress: OnProgress = no_progress,
    check: Callable[[Path], None] | None = None,
) -> Samples:
    """Open the images of a folder as samples. Lists it once; later only its folders' times are looked at.

    `check` is called before a folder is listed, and raises if it is something else than images. What the listing left
    out is logged in one line.
    """
    place = Path(folder).absolute()
    kept = _kept_path(place)
    arrays = _read_kept(kept)
    if arrays is None or not _is_current(place, arrays):
        if check is not None:
            check(place)
        arrays = _list(place, on_progress)
        if len(arrays["sizes"]) >= LEAST_KEPT:
            _keep(kept, arrays)
    left_out = dict(zip(arrays["left_out"].tolist(), arrays["left_out_counts"].tolist(), strict=True))
    if left_out:
        LOG.info("Loader: %s: %s", printable(str(place)), left_out_text(left_out))
    return _samples(place, arrays)


def _list(place: Path, on_progress: OnProgress) -> Arrays:
    listing = list_folder(place, on_progress)
    names, name_ends = pack_names([os.fsencode(key) for key in listing.keys])
    folders, folder_ends = pack_names(listing.folders)
    splits, split_names = _numbered(listing.splits)
    return {
        "version": np.array(VERSION),
        "names": names,
        "name_ends": name_ends,
        "sizes": listing.sizes,
        "labels": listing.labels.astype(np.int64),
        "has_classes": np.array(bool(listing.classes)),
        "splits": splits,
        "split_names": np.array(split_names, dtype=np.str_),
        "folders": folders,
        "folder_ends": folder_ends,
        "folder_times": listing.folder_times,
        "left_out": np.array(list(listing.left_out), dtype=np.str_),
        "left_out_counts": np.fromiter(listing.left_out.values(), np.int64, len(listing.left_out)),
    }


def _numbered(splits: list[str | None]) -> tuple[npt.NDArray[np.int16], list[str]]:
    names = sorted({split for split in splits if split is not None})
    number: dict[str | None, int] = {name: index for index, name in enumerate(names)}
    return np.array([number.get(split, -1) for split in splits], np.int16), names


def _samples(place: Path, arrays: Arrays) -> Samples:
    sizes = arrays["sizes"].astype(np.int64)
    table = _native.SampleTable(
        as_folder(place), arrays["names"].astype(np.uint8), arrays["name_ends"].astype(np.uint64), len(sizes), []
    )
    table.add_field()
    return Samples(
        place=str(place),
        num_samples=len(sizes),
        table=table,
        image_fields=("image",),
        scalars={"label": arrays["labels"]} if arrays["has_classes"] else {},
        formats=np.zeros(len(sizes), np.uint8),
        splits=arrays["splits"].astype(np.int16),
        split_names=tuple(str(name) for name in arrays["split_names"]),
        sizes=sizes,
        largest_pixel_bytes=None,
        fingerprint=_fingerprint(arrays),
        unloadable=_decoded_in_python(arrays),
        read_head=lambda sample, num_bytes: _read_head(place, arrays, sample, num_bytes),
    )


def _read_head(place: Path, arrays: Arrays, sample: int, num_bytes: int) -> bytes:
    ends, sizes = arrays["name_ends"].astype(np.int64, copy=False), arrays["sizes"]
    begin = int(ends[sample - 1]) if sample else 0
    name = arrays["names"][begin : int(ends[sample])].tobytes()
    return read_range(os.fsdecode(as_folder(place) + name), 0, min(num_bytes, int(sizes[sample])))


def _decoded_in_python(arrays: Arrays) -> dict[int, str]:
    """Files whose ending names a codec that the native core does not have. What content says shows only in reading."""
    text, ends = arrays["names"].astype(np.uint8), arrays["name_ends"].astype(np.int64)
    begins = np.concatenate(([0], ends[:-1]))
    last = text[ends - 1] | 32  # letters become small
    found: dict[int, str] = {}
    for ending in python_endings():
        # The last letter leaves few of a million names, whose tails are then looked at.
        for sample in np.flatnonzero(last == ord(ending[-1])).tolist():
            name = text[begins[sample] : ends[sample]].tobytes()
            if name.lower().endswith(ending.encode()):
                found[sample] = os.fsdecode(name)
    return found


def python_endings() -> set[str]:
    """Endings of files that only Python decodes.

    >>> sorted(python_endings() & {".tif", ".png"})
    ['.tif']
    """
    native = set(_native.codec_names())
    codecs = (*BUILTIN, *plug_ins())
    loadable = {ending for codec in codecs if codec.name in native for ending in codec.extensions}
    return {ending for codec in codecs for ending in codec.extensions} - loadable


def _fingerprint(arrays: Arrays) -> str:
    """Of the keys: the order of a folder is the order of its names."""
    digest = blake2b(digest_size=12)
    digest.update(np.ascontiguousarray(arrays["names"]).data)
    digest.update(np.ascontiguousarray(arrays["name_ends"]).data)
    return digest.hexdigest()


def _is_current(place: Path, arrays: Arrays) -> bool:
    """Whether no folder was changed since: a file that comes, goes or is renamed changes its folder's time."""
    text = arrays["folders"].tobytes()
    ends = [0, *arrays["folder_ends"].tolist()]
    root = as_folder(place)
    try:
        return all(
            os.stat(root + text[begin:end]).st_mtime_ns == time  # noqa: PTH116  # bytes: not every name is UTF-8
            for (begin, end), time in zip(pairwise(ends), arrays["folder_times"].tolist(), strict=True)
        )
    except OSError:
        return False


def _kept_path(place: Path) -> Path:
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    name = blake2b(os.fsencode(place), digest_size=16).hexdigest()
    return Path(home) / "penstock" / "listings" / f"{name}.npz"


def _read_kept(path: Path) -> Arrays | None:
    """None if there is none, or none that can be used: it is only a shortcut."""
    from zipfile import BadZipFile  # which `import penstock` can do without

    try:
        with np.load(io.BytesIO(read_file(path)), allow_pickle=False) as found:
            arrays = dict(found)
        return arrays if int(arrays["version"]) == VERSION and _is_sound(arrays) else None
    except (StorageError, OSError, ValueError, KeyError, TypeError, IndexError, EOFError, BadZipFile, zlib.error):
        return None


def _is_sound(arrays: Arrays) -> bool:
    """Whether a listing that was kept is one: native code reads names by these numbers, and opens what they name."""
    count = len(arrays["sizes"])
    kinds = {"names": "u", "name_ends": "u", "sizes": "i", "labels": "i", "splits": "i", "folders": "u"}
    kinds |= {"folder_ends": "u", "folder_times": "i", "left_out_counts": "i", "split_names": "U", "left_out": "U"}
    if any(arrays[name].ndim != 1 or arrays[name].dtype.kind not in kind for name, kind in kinds.items()):
        return False
    if any(arrays[name].dtype != np.uint8 for name in ("names", "folders")):
        return False
    splits, sizes = arrays["splits"].astype(np.int64), arrays["sizes"].astype(np.int64)
    same = {len(arrays[name]) for name in ("name_ends", "labels", "splits")} == {count}
    same &= len(arrays["folder_ends"]) == len(arrays["folder_times"])
    same &= len(arrays["left_out"]) == len(arrays["left_out_counts"])
    return bool(
        same
        and count > 0
        and arrays["has_classes"].ndim == 0
        and (sizes >= 0).all()
        and (splits >= -1).all()
        and (splits < len(arrays["split_names"])).all()
        and _are_ends(arrays["name_ends"], len(arrays["names"]), least=1)
        and _are_ends(arrays["folder_ends"], len(arrays["folders"]), least=0)
        and b"../" not in arrays["names"].tobytes()
    )


def _are_ends(ends: npt.NDArray[np.generic], length: int, *, least: int) -> bool:
    """Whether texts of at least so many bytes end at these places, one after the other, and the last at `length`."""
    if len(ends) == 0 or int(ends[-1]) != length or int(ends.max()) > length:
        return False
    return bool((np.diff(ends.astype(np.int64), prepend=0) >= least).all())


def _keep(path: Path, arrays: Arrays) -> None:
    content = io.BytesIO()
    np.savez(content, **arrays)  # type: ignore[arg-type]  # none of them is called `allow_pickle`
    try:
        make_folders(path.parent)
        write_file(path, content.getvalue())
        _forget_oldest(path.parent)
    except OSError:
        return  # a read-only home: the folder will be listed again


def _forget_oldest(listings: Path) -> None:
    """Those of folders that nobody has changed for long, or that are gone, do not pile up."""
    by_age = sorted(listings.glob("*.npz"), key=lambda path: path.stat().st_mtime_ns, reverse=True)
    for path in by_age[MOST_LISTINGS:]:
        path.unlink(missing_ok=True)
