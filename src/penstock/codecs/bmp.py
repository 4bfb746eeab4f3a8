"""`bmp` codec: read as a source, never written. native/codecs/bmp.cpp lists the supported variants."""

from __future__ import annotations

from penstock.codecs.contract import Capabilities
from penstock.codecs.native import NativeCodec

BMP = NativeCodec(
    name="bmp",
    extensions=(".bmp", ".dib"),
    capabilities=Capabilities(channels=(1, 3, 4), dtypes=("uint8",)),
    can_encode=False,
)
