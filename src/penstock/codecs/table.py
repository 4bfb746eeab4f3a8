"""The one table of codecs: built-in ones, then those of the entry-point group `penstock.codecs`.

A third party adds a codec by an entry point whose object satisfies `penstock.codecs.Codec`:

    [project.entry-points."penstock.codecs"]
    mycodec = "my_package:MY_CODEC"
"""

from __future__ import annotations

import warnings
from functools import cache
from pathlib import PurePath

from penstock.codecs.bmp import BMP
from penstock.codecs.contract import Codec
from penstock.codecs.jpeg import JPEG
from penstock.codecs.l3 import L3
from penstock.codecs.pjpeg import PJPEG
from penstock.codecs.png import PNG
from penstock.codecs.pnm import PNM
from penstock.codecs.raw import RAW
from penstock.codecs.sluice import SLUICE
from penstock.codecs.tiff import TIFF
from penstock.codecs.webp import WEBP
from penstock.codecs.weir import WEIR
from penstock.errors import ArgumentError, CodecError
from penstock.types import Buffer

ENTRY_POINT_GROUP = "penstock.codecs"

BUILTIN: tuple[Codec, ...] = (
    BMP,
    JPEG,
    L3,
    PJPEG,
    PNG,
    PNM,
    RAW,
    SLUICE,
    TIFF,
    WEBP,
    WEIR,
)


def find(name: str) -> Codec:
    """Return the codec with this name.

    >>> find("raw").extensions
    ('.raw',)
    """
    for codec in BUILTIN:
        if codec.name == name:
            return codec
    for codec in plug_ins():
        if codec.name == name:
            return codec
    import difflib

    turned = [other for other in names() if sorted(other) == sorted(name)]  # 'pgn' is as close to 'pnm', otherwise
    near = turned or difflib.get_close_matches(name, names(), n=1)
    hint = f"did you mean '{near[0]}'? " if near else ""
    raise ArgumentError(
        f"there is no codec '{name}'", where="format", fix=f"{hint}known: {', '.join(names())}", code=130
    )


def find_by_extension(path: str) -> Codec:
    """Return the codec that writes files with this name. To detect the codec of a file, use `codec_for`.

    >>> find_by_extension("photos/cat.JPG").name
    'jpeg'
    """
    ending = PurePath(path).suffix.lower()
    writers = [codec for codec in (*BUILTIN, *plug_ins()) if codec.can_encode]
    for codec in writers:
        if ending in codec.extensions:
            return codec
    known = ", ".join(extension for codec in writers for extension in codec.extensions)
    what = f"no codec writes files that end in '{ending}'" if ending else f"'{path}' has no ending that names a codec"
    raise ArgumentError(what, where=path, fix=f"name the format, or use one of {known}", code=130)


def names() -> list[str]:
    """Return the names of all codecs, built-in ones first."""
    return [codec.name for codec in (*BUILTIN, *plug_ins())]


def codec_for(data: Buffer) -> Codec:
    """Return the codec that recognises this content."""
    for codec in (*BUILTIN, *plug_ins()):
        if codec.sniff(data):
            return codec
    start = bytes(memoryview(data)[:8])
    what, fix = (
        f"content starting with {start!r} is of no known image format",
        f"convert it to one of {', '.join(names())}",
    )
    if not start:
        what, fix = "image data is empty", "restore it from its source, or remove it"
    raise CodecError(what, where="byte 0 of the data", fix=fix, code=300)


@cache
def plug_ins() -> tuple[Codec, ...]:
    """Load the codecs of installed packages.

    A plug-in cannot replace a built-in name, and one that fails to load is left out.
    """
    # Imported here, because it is a third of the cost of `import penstock` without NumPy.
    from importlib.metadata import entry_points

    taken = {codec.name for codec in BUILTIN}
    found: list[Codec] = []
    for point in entry_points(group=ENTRY_POINT_GROUP):
        try:
            codec = point.load()
            if not isinstance(codec, Codec):
                raise TypeError(f"{point.value} is not a penstock.codecs.Codec")
        except Exception as error:  # a module of a third party may raise anything; the other codecs must stay available
            warnings.warn(f"codec plug-in '{point.name}' could not be loaded: {error}", RuntimeWarning, stacklevel=2)
            continue
        if codec.name not in taken:
            taken.add(codec.name)
            found.append(codec)
    return tuple(found)
