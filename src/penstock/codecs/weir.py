"""`weir` codec: lossless tiles that decode in parallel, `weir:dense` (default) or `weir:fast`. See spec/weir.md."""

from __future__ import annotations

from penstock.codecs.contract import Capabilities
from penstock.codecs.native import NativeCodec
from penstock.codecs.parameters import Choice, Integer

VARIANTS = ("fast", "dense")

WEIR = NativeCodec(
    name="weir",
    extensions=(".weir",),
    parameters={
        "variant": Choice(
            VARIANTS, "dense", "fast decodes about twice as fast, dense is about a tenth smaller", VARIANTS
        ),
        "effort": Integer(1, 3, "2", "encoder effort: 1 is fastest, 3 smallest (by 0.1 %)"),
    },
    capabilities=Capabilities(checksummed=True),
)
