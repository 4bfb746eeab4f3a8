"""`l3`: lossless patches that decode data-parallel; reads published files, writes the repaired version (spec/l3.md)."""

from __future__ import annotations

from penstock.codecs.contract import Capabilities
from penstock.codecs.native import NativeCodec
from penstock.codecs.parameters import Integer

L3 = NativeCodec(
    name="l3",
    extensions=(".l3",),
    parameters={
        "patch": Integer(8, 128, "64", "side of a patch in pixels; larger ones decode faster, smaller compress better")
    },
    capabilities=Capabilities(dtypes=("uint8",), checksummed=True),
)
