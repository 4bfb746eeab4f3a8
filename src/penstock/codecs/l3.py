"""`l3` codec: lossless patches that decode in parallel. Reads published files and writes version 1 (spec/l3.md)."""

from __future__ import annotations

from penstock.codecs.contract import Capabilities
from penstock.codecs.native import NativeCodec
from penstock.codecs.parameters import Integer

L3 = NativeCodec(
    name="l3",
    extensions=(".l3",),
    parameters={
        "patch": Integer(
            8, 128, "64", "side of a patch in pixels; larger patches decode faster, smaller ones compress better"
        )
    },
    capabilities=Capabilities(dtypes=("uint8",), checksummed=True),
)
