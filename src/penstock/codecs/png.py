"""`png` codec: lossless and readable everywhere. Decodes with libdeflate and SIMD; see native/codecs/png.cpp."""

from __future__ import annotations

from penstock.codecs.contract import Capabilities
from penstock.codecs.native import NativeCodec
from penstock.codecs.parameters import Integer

PNG = NativeCodec(
    name="png",
    extensions=(".png", ".apng"),
    parameters={"level": Integer(0, 12, "6", "compression effort: 0 stores, 12 is slowest and smallest")},
    capabilities=Capabilities(checksummed=True),
)
