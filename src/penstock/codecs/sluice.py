"""`sluice`: coefficients of a JPEG, coded to decode on vector instructions; restores the JPEG. spec/sluice.md."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from penstock import _native
from penstock.codecs.contract import Capabilities, Promise
from penstock.codecs.format import Format
from penstock.codecs.native import NativeCodec
from penstock.codecs.parameters import Choice, Integer
from penstock.errors import ArgumentError
from penstock.types import Buffer

SLUICE = NativeCodec(
    name="sluice",
    extensions=(".sluice",),
    parameters={
        "q": Integer(
            1, 100, None, "quality when encoding, 95 if absent; a build needs it for sources that are no JPEGs"
        ),
        "subsampling": Choice(("444", "422", "420"), None, "chroma resolution when encoding, 420 if absent"),
        "layers": Integer(1, 2, None, "with 2, a prefix of the bytes is a coarser image of the same size; 1 if absent"),
        "bits": Integer(1, 3, None, "bits that the second of two layers adds to a coefficient, 2 if absent"),
        "tables": Choice(("default",), None, "tables that come with the codec; absent: a build trains its own"),
    },
    capabilities=Capabilities(
        channels=(1, 3), dtypes=("uint8",), scales=(1, 2, 4, 8), max_side=65500, checksummed=True
    ),
    promise_of=lambda _: Promise.LOSSY,
)

LAYER_BITS = 2
"""Bits that the second of two layers adds, unless the format says otherwise."""


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


def layer_bits(format: Format) -> int:
    """Return the bits that the second layer of a format adds; 0 if it has one layer.

    Raises:
        ArgumentError: The format has `bits` and only one layer.

    >>> from penstock.codecs import parse_format
    >>> [layer_bits(parse_format(text)) for text in ("sluice", "sluice:layers=2", "sluice:layers=2:bits=3")]
    [0, 2, 3]

    """
    if format.get("layers") == "2":
        return int(format.get("bits") or LAYER_BITS)
    if format.get("bits") is not None:
        raise ArgumentError(
            f"'{format}' has bits without a second layer",
            where="format",
            fix=f"write sluice:layers=2:bits={format.get('bits')}, or leave out bits",
            code=130,
        )
    return 0


def first_layer_bytes(data: Buffer) -> int:
    """Return the length of the prefix that holds the first layer. It decodes by itself.

    With one layer, that is the whole file.

    >>> import numpy, penstock
    >>> data = penstock.encode(numpy.arange(4096, dtype=numpy.uint8).reshape(64, 64), "sluice:layers=2")
    >>> penstock.decode(data[: first_layer_bytes(data)]).shape
    (64, 64)
    """
    return _native.sluice_first_layer_bytes(data)


def train_tables(jpegs: Sequence[Buffer], *, first_pair: int = FIRST_PAIR, bits: int = 0) -> bytes:
    """Train a table set on JPEG files, so that similar files become smaller.

    Files whose coefficients cannot be read are left out.

    Args:
        jpegs: Contents of some files; a few hundred are enough.
        first_pair: Even position from 2 to 64. A smaller one decodes faster and takes more bytes; 64 means no pairs.
        bits: Bits that the second layer adds, to train a set for files of two layers; 0 for one layer.

    Returns:
        The table set for `register_tables`.

    >>> import numpy, penstock
    >>> photo = penstock.encode(numpy.arange(4096, dtype=numpy.uint8).reshape(64, 64), "jpeg")
    >>> tables = train_tables([photo])
    >>> tables[:4]
    b'SLTB'

    """
    return _native.train_sluice_tables(list(jpegs), first_pair, bits)


def register_tables(tables: Buffer) -> int:
    """Make a table set known to this process, so that files which name it by its id can be read and written.

    It stays known until the process ends, and at most 256 sets can be registered. Datasets need no call: the tables of
    an open dataset are known as long as it is open.

    >>> register_tables(default_tables()) == register_tables(default_tables())
    True
    """
    return _native.register_sluice_tables(tables)


def default_tables(bits: int = 0) -> bytes:
    """Return the table set that comes with the codec, for files of two layers if `bits` is not 0.

    >>> default_tables()[:4], default_tables(2)[:4]
    (b'SLTB', b'SLTL')
    """
    return _native.default_sluice_tables(bits)


def from_jpeg(data: Buffer, *, tables: int | None = None, store_tables: bool = False, bits: int = 0) -> bytes:
    """Write a JPEG's coefficients as Sluice, with all that it takes to restore the file.

    Args:
        data: The JPEG file.
        tables: Id of a registered table set; the default set if absent.
        store_tables: Put the table set into the file, so that it can be read anywhere. Adds about 10 KB.
        bits: Bits that a second layer adds, 1 to 3; 0 for one layer. Not used if `tables` is given.

    Raises:
        CodecError: The file cannot be restored byte for byte, or has a kind that Sluice does not take.

    >>> import numpy, penstock
    >>> photo = penstock.encode(numpy.zeros((40, 60, 3), numpy.uint8), "jpeg")
    >>> to_jpeg(from_jpeg(photo)) == photo
    True

    """
    return _native.sluice_from_jpeg(data, tables, store_tables, layer_bits=bits)


def recode(data: Buffer, *, tables: int | None = None, store_tables: bool = False) -> bytes:
    """Write a Sluice file with another table set. Pixels and restoration data stay the same.

    By default the result uses the set that comes with the codec, so that it can be read without its dataset.
    """
    return _native.sluice_recode(data, tables, store_tables)


def to_jpeg(data: Buffer) -> bytes:
    """Restore the JPEG that a Sluice file was made from, byte for byte."""
    return _native.sluice_to_jpeg(data)
