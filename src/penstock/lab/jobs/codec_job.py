"""Job that measures size, encode and decode time and distortion of one format on a folder's images."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from pathlib import Path

from penstock.bench import Corpus, load_corpus
from penstock.errors import CodecError
from penstock.lab.coders import Coder, coder_of
from penstock.lab.jobs.contract import LeftOut, Measures, Order
from penstock.lab.learned import measure_learned
from penstock.pixels import ms_ssim, psnr
from penstock.types import OnProgress, Pixels

LOSSLESS_DB = 99.0
"""Stands for infinity, which JSON does not know."""

LEAST_SECONDS = 0.01

_CORPORA: dict[tuple[str, int], Corpus] = {}  # of this process: cells share the decoded images


def run(order: Order, on_progress: OnProgress) -> Measures:
    """Measure a format on images.

    Settings: `format`, `images` (how many, evenly spread; 0: all), `repeats`, `python`, `weights` (learned codecs).
    """
    images = [image.pixels for image in _corpus(order).images]
    if order.text("format").startswith("compressai:"):
        return measure_learned(order.text("format"), images, order.text("python"), order.text("weights"))
    coder = coder_of(order.text("format"))
    held, encoded = _encode(coder, images, order.text("format"), on_progress)
    if not held:
        raise LeftOut("it holds none of these images")
    decoded = [coder.decode(data) for data in encoded]
    noise = [(psnr(a, b), ms_ssim(a, b)) for a, b in zip(held, decoded, strict=True)]
    repeats = range(order.integer("repeats", 3))
    encode_seconds = [_timed(lambda: [coder.encode(pixels) for pixels in held]) for _ in repeats]
    decode_seconds = [_timed(lambda: [coder.decode(data) for data in encoded]) for _ in repeats]
    pixel_bytes = sum(pixels.nbytes for pixels in held)
    return {
        "num_images": len(held),
        "num_refused": len(images) - len(held),
        "pixel_bytes": pixel_bytes,
        "encoded_bytes": sum(map(len, encoded)),
        "ratio": pixel_bytes / sum(map(len, encoded)),
        "encode_seconds": statistics.median(encode_seconds) / len(held),
        "decode_seconds": statistics.median(decode_seconds) / len(held),
        "ms_ssim": statistics.fmean(similarity for _, similarity in noise),
        "psnr": statistics.fmean(min(ratio, LOSSLESS_DB) for ratio, _ in noise),
        "is_lossless": int(coder.is_lossless),
    }


def _corpus(order: Order) -> Corpus:
    key = order.paths["data"], order.integer("images")
    if key not in _CORPORA:
        _CORPORA.clear()
        _CORPORA[key] = load_corpus(Path(key[0]), limit=key[1])
    return _CORPORA[key]


def _encode(coder: Coder, images: list[Pixels], name: str, on_progress: OnProgress) -> tuple[list[Pixels], list[bytes]]:
    held, encoded = [], []
    for number, pixels in enumerate(images):
        on_progress(f"encoding {name}", number, len(images))
        try:
            encoded.append(coder.encode(pixels))
        except CodecError:
            continue
        held.append(pixels)
    return held, encoded


def _timed(job: Callable[[], object]) -> float:
    """Measure the CPU seconds of this thread, which other programs do not affect; short jobs are repeated."""
    passes = 0
    begin = time.thread_time()
    while passes == 0 or time.thread_time() - begin < LEAST_SECONDS:
        job()
        passes += 1
    return (time.thread_time() - begin) / passes
