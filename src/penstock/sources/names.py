"""Meaning of names: which files are images, the split of a path, the role of an image field."""

from __future__ import annotations

import re

from penstock.codecs.table import BUILTIN, plug_ins
from penstock.index import Role

SPLITS = ("train", "training", "val", "valid", "validation", "dev", "test", "testing")
_SPLIT = re.compile(rf"(?:^|[-_./])({'|'.join(SPLITS)})(?=$|[-_./])", re.IGNORECASE)
_MASK = re.compile(r"mask|seg|label|instance|annotation", re.IGNORECASE)
_DEPTH = re.compile(r"depth|disparity", re.IGNORECASE)


def image_endings() -> frozenset[str]:
    """Return the endings of files that a codec reads, in lower case and with their dot."""
    return frozenset(ending for codec in (*BUILTIN, *plug_ins()) for ending in codec.extensions)


def ending_of(path: str) -> str:
    """Return the last ending of a path, in lower case and with its dot; "" if it has none.

    >>> ending_of("a.b/photo.seg.PNG"), ending_of("a.b/photo")
    ('.png', '')
    """
    name = path[path.rfind("/") + 1 :]
    dot = name.rfind(".")
    return name[dot:].lower() if dot > 0 else ""


def split_of(path: str) -> str | None:
    """Return the split that a file or folder name contains, in lower case; the last one if there are several.

    >>> split_of("data/train-00000-of-00002.parquet"), split_of("imagenet_VAL.tar"), split_of("training_day.tar")
    ('train', 'val', 'training')
    >>> split_of("contest.tar") is None
    True
    """
    found = _SPLIT.findall(path)
    return found[-1].lower() if found else None


def field_name(text: str) -> str:
    """Convert a text to a valid name of a field: letters, digits, _ and -, no digit in front.

    >>> field_name("bounding box.x"), field_name("2nd"), field_name("size")
    ('bounding_box_x', '_2nd', 'size')
    """
    name = re.sub(r"[^A-Za-z0-9_-]", "_", text)
    return name if re.match(r"[A-Za-z_]", name) else f"_{name}"


def role_of(field: str) -> Role:
    """Return the role of an image field by its name.

    >>> role_of("left").value, role_of("seg_fine").value, role_of("depth").value
    ('image', 'mask', 'depth')
    """
    if _DEPTH.search(field):
        return Role.DEPTH
    return Role.MASK if _MASK.search(field) else Role.IMAGE
