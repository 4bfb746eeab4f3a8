"""`raw` codec: a header of 32 bytes and the pixels, readable without a copy. native/codecs/raw.cpp has the layout."""

from __future__ import annotations

import numpy as np

from penstock.codecs.contract import Capabilities
from penstock.codecs.native import NativeCodec
from penstock.errors import CodecError
from penstock.types import Buffer, Pixels

HEADER_BYTES = 32

RAW = NativeCodec(
    name="raw",
    extensions=(".raw",),
    capabilities=Capabilities(checksummed=True),
)


def view(data: Buffer) -> Pixels:
    """Return the pixels of a raw image without a copy, read-only if `data` is. Does not verify the checksum.

    >>> import numpy, penstock
    >>> view(penstock.encode(numpy.full((2, 3), 7, numpy.uint8), "raw")).tolist()
    [[7, 7, 7], [7, 7, 7]]
    """
    info = RAW.inspect(data, max_pixels=2**63)
    pixels = np.frombuffer(data, np.dtype(info.dtype), offset=HEADER_BYTES)
    if pixels.size != info.width * info.height * info.channels:
        raise CodecError(
            f"raw data holds {pixels.nbytes} pixel bytes, its header says {info.width}×{info.height}×{info.channels}",
            where=f"byte {len(data)} of the raw data",
            fix="the file is damaged: restore it",
            code=310,
        )
    return pixels.reshape(info.shape)
