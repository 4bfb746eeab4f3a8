"""Fields of a sample: the images that are stored in files, and the columns beside them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Role(Enum):
    """Meaning of an image field. It decides how a palette is read: an image's as colours, a mask's as indices."""

    IMAGE = "image"
    MASK = "mask"
    DEPTH = "depth"


IMAGE_ROLES = (*(role.value for role in Role), "source")
"""Roles of image fields; `source` holds the bytes of the file that an image was made from."""

LOADED_ROLES = tuple(role.value for role in Role)
"""Roles of the image fields that a loader decodes."""


@dataclass(frozen=True, slots=True)
class Field:
    """A field of every sample: an image field, which has formats, or a column, which has a type."""

    name: str
    role: str
    formats: tuple[str, ...] = ()
    """Formats of an image field that a dataset stores, in the order of the records; empty for files of a source."""
    type: str = ""
    """Arrow's name of a column's type."""
    classes: tuple[str, ...] | None = None
    """Names of the values of an integer column."""

    @property
    def is_image(self) -> bool:
        """True if the field holds images."""
        return self.role in IMAGE_ROLES
