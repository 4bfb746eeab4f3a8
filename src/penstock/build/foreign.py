"""Sources whose files only Python can decode (TIFF, plug-ins): passed to the native core as exact pixels.

This is a wrapper around a source. Files whose ending names such a codec are no longer read by place, but requested
from the source, and passed on as lossless bytes that the core decodes. Their metadata is not kept, and is counted.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from dataclasses import replace
from pathlib import PurePath

import numpy as np
import numpy.typing as npt

from penstock import _native
from penstock.codecs import DecodeOptions, codec_for, encode
from penstock.codecs.table import BUILTIN, plug_ins
from penstock.errors import PenstockError
from penstock.index import ImageColumns, Listing, Role
from penstock.sources.source import Source
from penstock.storage import Store, read_file

CARRIERS = ("raw", "weir:fast", "png")
"""Lossless formats that can carry any pixels."""


class ForeignFiles:
    """Source in which every file has a native codec or is requested from the source."""

    def __init__(self, source: Source, formats: Collection[str], *, skip_errors: bool, max_pixels: int) -> None:
        """Wrap a source. Pixels are passed in a codec that is not in `formats`, so that none seems kept."""
        self._skip_errors = skip_errors
        self._max_pixels = max_pixels
        self.kind = source.kind
        self.path = source.path
        self.fields: set[str] = set()
        """Image fields that have such files; known once `listing` was called."""
        self._source = source
        self._carrier = next((name for name in CARRIERS if name.partition(":")[0] not in formats), CARRIERS[0])
        self._store: Store | None = None
        self._paths: dict[str, dict[int, bytes]] = {}
        self._roles: dict[str, Role] = {}

    def listing(self) -> Listing:
        """Return the source's listing, with ASK in place of files that the core cannot decode."""
        found = self._source.listing()
        endings = _foreign_endings()
        foreign = np.array([PurePath(os.fsdecode(path)).suffix.lower() in endings for path in found.files], bool)
        if not foreign.any():
            return found
        self._roles = dict(found.roles)
        self._store = found.store
        images = {name: self._ask_for(name, place, foreign, found) for name, place in found.images.items()}
        count = sum(len(paths) for paths in self._paths.values())
        left_out = {**found.left_out, f"{', '.join(sorted(endings))} files without their metadata": count}
        return replace(found, images=images, left_out=left_out)

    def read(self, field: str, rows: npt.NDArray[np.int64]) -> Iterable[bytes]:
        """Yield the pixels of foreign files in a lossless format, and the source's own bytes of the others."""
        own = self._paths.get(field, {})
        if not own:
            yield from self._source.read(field, rows)
            return
        for row in rows.tolist():
            if row in own:
                yield self._decoded(own[row], self._roles[field])
            else:
                yield from self._source.read(field, np.array([row]))

    def state(self) -> bytes:
        """Return the state of the source."""
        return self._source.state()

    def _ask_for(self, name: str, place: ImageColumns, foreign: npt.NDArray[np.bool_], found: Listing) -> ImageColumns:
        rows = np.flatnonzero((place.file >= 0) & foreign[np.maximum(place.file, 0)])
        if len(rows):
            self.fields.add(name)
            self._paths[name] = {int(row): found.files[place.file[row]] for row in rows}
        return place.asked_at(rows)

    def _decoded(self, path: bytes, role: Role) -> bytes:
        data = (read_file if self._store is None else self._store.read)(os.fsdecode(path))
        options = DecodeOptions(palette="indices" if role is Role.MASK else "colours", max_pixels=self._max_pixels)
        try:
            return encode(codec_for(data).decode(data, options), self._carrier)
        except PenstockError as error:
            if self._skip_errors:
                return data  # which the core cannot decode either: it notes the sample as left out
            raise error.within(os.fsdecode(path)) from error


def _foreign_endings() -> set[str]:
    native = set(_native.codec_names())
    return {ending for codec in (*BUILTIN, *plug_ins()) if codec.name not in native for ending in codec.extensions}
