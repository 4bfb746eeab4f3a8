"""A listing: everything that a source found, in the order in which it found it. A `ListedIndex` sorts and checks it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from penstock.errors import ArgumentError, DatasetError
from penstock.index.fields import Role
from penstock.index.image_columns import ImageColumns
from penstock.storage import Store

if TYPE_CHECKING:
    import pyarrow as pa

RESERVED = ("id", "key", "split")
FIELD_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


@dataclass(frozen=True, kw_only=True)
class Listing:
    """All samples of a source as columns. Rows may come in any order."""

    keys: pa.StringArray
    """Unique; the path relative to the source, with "/" between its parts, or another name that stays the same."""
    roles: Mapping[str, Role]
    """Meaning of every image field; `image` first."""
    images: Mapping[str, ImageColumns]
    """Places of every image field."""
    files: Sequence[bytes]
    """Paths of the files that `images` refer to, as `os.fsencode` gives them; or their names in `store`."""
    store: Store | None = None
    """Store that holds the files; None if they are files of a local disk."""
    splits: pa.StringArray | None = None
    """Split of each sample, such as train or val; null if it is in no split."""
    columns: Mapping[str, pa.Array] = field(default_factory=dict)
    """Columns, such as `label`: numbers, strings, booleans, and lists of those (boxes)."""
    classes: tuple[str, ...] | None = None
    """Names of the classes, if `label` is an index into such a table."""
    left_out: Mapping[str, int] = field(default_factory=dict)
    """Files and fields that the source passed over, and how many: shown to the user, stored nowhere."""

    def check(self) -> None:
        """Refuse a listing without samples, without images, or with a field name that an index cannot have."""
        if len(self.keys) == 0:
            raise DatasetError("the source has no samples", where="source", fix="name a source with images", code=203)
        if next(iter(self.roles), None) != "image":
            raise ArgumentError("the first image field must be 'image'", where="source", fix="name it image")
        if self.images["image"].is_absent.any():
            raise DatasetError("a sample has no image", where="source", fix="leave it out of the source", code=203)
        names = [*self.roles, *self.columns]
        for name in names:
            if name in RESERVED or names.count(name) > 1 or FIELD_NAME.fullmatch(name) is None:
                raise ArgumentError(
                    f"'{name}' cannot be the name of a field",
                    where="source",
                    fix=f"use letters, digits, _ and -, each name once, and none of {', '.join(RESERVED)}",
                )
