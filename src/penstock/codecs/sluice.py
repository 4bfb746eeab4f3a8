"""`sluice`: coefficients of a JPEG, coded to decode on vector instructions; restores the JPEG. spec/sluice.md."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from penstock import _native
from penstock.codecs.contract import Capabilities, Promise
from penstock.codecs.native import NativeCodec
from penstock.codecs.parameters import Choice, Integer
from penstock.types import Buffer

SLUICE = NativeCodec(
    name="sluice",
    extensions=(".sluice",),
    parameters={
        "q": Integer(
            1, 100, None, "quality when encoding, 95 if absent; a build needs it for sources that are no JPEGs"
        ),
        "subsampling": Choice(("444", "422", "420"), None, "chroma resolution when encoding, 420 if absent"),
        "tables": Choice(("default",), None, "tables that come with the codec; absent: a build trains its own"),
    },
    capabilities=Capabilities(
        channels=(1, 3), dtypes=("uint8",), scales=(1, 2, 4, 8), max_side=65500, checksummed=True
    ),
    promise_of=lambda _: Promise.LOSSY,
)


@dataclass(frozen=True, slots=True)
class SluiceFacts:
    """Content of a Sluice file, from its header."""

    table_set: str
    """Id of the table set, 16 hexadecimal digits."""
    has_tables: bool
    """True if the table set is in the file."""
    is_default: bool
    """True if the table set is the one that comes with the codec."""
    is_known: bool
    """True if this process can decode the file now."""
    restoration_bytes: int
    """Bytes that restore the JPEG; 0 if the file has none."""
    num_layers: int
    tiles_across: int
    tiles_down: int
    tile_width: int
    """Pixels of a tile; those at the right and bottom edges may have fewer."""
    tile_height: int


def sluice_facts(data: Buffer) -> SluiceFacts:
    """Read the header of a Sluice file.

    >>> import numpy, penstock
    >>> photo = penstock.encode(numpy.zeros((40, 60, 3), numpy.uint8), "sluice")
    >>> sluice_facts(photo).tiles_across, sluice_facts(photo).is_default
    (1, True)
    """
    return SluiceFacts(**_native.sluice_facts(data))  # type: ignore[arg-type]  # the native side gives these members


FIRST_PAIR = 22
"""Position from which coefficients are coded in pairs: a balance of size and speed (`spec/sluice.md`)."""


def train_tables(jpegs: Sequence[Buffer], *, first_pair: int = FIRST_PAIR) -> bytes:
    """Train a table set on JPEG files, so that similar files become smaller.

    Files whose coefficients cannot be read are left out.

    Args:
        jpegs: Contents of some files; a few hundred are enough.
        first_pair: Even position from 2 to 64. A smaller one decodes faster and takes more bytes; 64 means no pairs.

    Returns:
        The table set for `register_tables`.

    >>> import numpy, penstock
    >>> photo = penstock.encode(numpy.arange(4096, dtype=numpy.uint8).reshape(64, 64), "jpeg")
    >>> tables = train_tables([photo])
    >>> tables[:4]
    b'SLTB'

    """
    return _native.train_sluice_tables(list(jpegs), first_pair)


def register_tables(tables: Buffer) -> int:
    """Make a table set known to this process, so that files which name it by its id can be read and written.

    It stays known until the process ends, and at most 256 sets can be registered. Datasets need no call: the tables of
    an open dataset are known as long as it is open.

    >>> register_tables(default_tables()) == register_tables(default_tables())
    True
    """
    return _native.register_sluice_tables(tables)


def default_tables() -> bytes:
    """Return the table set that comes with the codec.

    >>> default_tables()[:4]
    b'SLTB'
    """
    return _native.default_sluice_tables()


def from_jpeg(data: Buffer, *, tables: int | None = None, store_tables: bool = False) -> bytes:
    """Write a JPEG's coefficients as Sluice, with all that it takes to restore the file.

    Args:
        data: The JPEG file.
        tables: Id of a registered table set; the default set if absent.
        store_tables: Put the table set into the file, so that it can be read anywhere. Adds about 10 KB.

    Raises:
        CodecError: The file cannot be restored byte for byte, or has a kind that Sluice does not take.

    >>> import numpy, penstock
    >>> photo = penstock.encode(numpy.zeros((40, 60, 3), numpy.uint8), "jpeg")
    >>> to_jpeg(from_jpeg(photo)) == photo
    True

    """
    return _native.sluice_from_jpeg(data, tables, store_tables)


def recode(data: Buffer, *, tables: int | None = None, store_tables: bool = False) -> bytes:
    """Write a Sluice file with another table set. Pixels and restoration data stay the same.

    By default the result uses the set that comes with the codec, so that it can be read without its dataset.
    """
    return _native.sluice_recode(data, tables, store_tables)


def to_jpeg(data: Buffer) -> bytes:
    """Restore the JPEG that a Sluice file was made from, byte for byte."""
    return _native.sluice_to_jpeg(data)
