"""`webp` codec: lossy `webp:q=85` or exact `webp:lossless`, 8-bit RGB and RGBA. See native/codecs/webp.cpp."""

from __future__ import annotations

from penstock.codecs.contract import Capabilities, Promise
from penstock.codecs.format import Format
from penstock.codecs.native import NativeCodec
from penstock.codecs.parameters import Integer


def _promise(format: Format) -> Promise:
    return Promise.EXACT if format.get("q") == "lossless" else Promise.LOSSY


WEBP = NativeCodec(
    name="webp",
    extensions=(".webp",),
    parameters={
        "q": Integer(
            0, 100, "90", "quality, or the word lossless, which also keeps colours under alpha 0", ("lossless",)
        ),
        "method": Integer(0, 6, "4", "encoder effort, lossy or lossless: 0 is fastest, 6 smallest"),
    },
    capabilities=Capabilities(channels=(3, 4), dtypes=("uint8",), scales=(1, 2, 4, 8), max_side=16383),
    promise_of=_promise,
)
