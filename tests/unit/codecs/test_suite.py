"""Every codec, in every variant worth telling apart, passes the shared suite."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from penstock.codecs import Codec, find
from penstock.testing.codec import CHECKS

FORMATS = [
    "jpeg",
    "jpeg:progressive",
    "jpeg:q=60:subsampling=444",
    "jpeg:restart:optimize",
    "jpeg:subsampling=422:progressive:restart",
    "l3",
    "l3:patch=128",
    "l3:patch=32",
    "l3:patch=8",
    "pjpeg",
    "png",
    "png:level=1",
    "raw",
    "sluice",
    "sluice:q=60:subsampling=444",
    "sluice:subsampling=422",
    "sluice:layers=2",
    "webp",
    "webp:lossless",
    "webp:q=30:method=0",
    "weir:dense",
    "weir:dense:effort=1",
    "weir:dense:effort=3",
    "weir:fast",
    "weir:fast:effort=3",
]


@pytest.mark.parametrize("format_text", FORMATS)
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_codec_passes(check: Callable[[Codec, str], None], format_text: str) -> None:
    check(find(format_text.partition(":")[0]), format_text)
