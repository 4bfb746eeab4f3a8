"""Learned codecs of CompressAI, in their own environment, because CompressAI pins old versions of torch."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from penstock.codecs import decode, encode
from penstock.errors import ArgumentError, PenstockError
from penstock.lab.jobs.contract import LeftOut, Measures
from penstock.pixels import ms_ssim, psnr
from penstock.storage import read_file, write_file
from penstock.types import Pixels

SCRIPT = Path(__file__).parent / "rivals" / "learned_codec.py"

PUBLISHED, UNTRAINED = "published", "untrained"
METRICS = ("mse", "ms-ssim")
"""Metrics that CompressAI's networks were trained for."""


@dataclass(frozen=True, slots=True)
class Learned:
    """Network of CompressAI."""

    model: str
    quality: int
    metric: str


def parse_learned(format: str) -> Learned:
    """Parse `compressai:MODEL:q=QUALITY`, with `:metric=ms-ssim` for networks trained for it.

    >>> parse_learned("compressai:mbt2018-mean:q=3:metric=ms-ssim")
    Learned(model='mbt2018-mean', quality=3, metric='ms-ssim')
    """
    _, _, rest = format.partition(":")
    model, *parts = rest.split(":")
    told = dict(part.split("=", 1) for part in parts if "=" in part)
    quality, metric = told.pop("q", ""), told.pop("metric", METRICS[0])
    if not model or told or not all("=" in part for part in parts) or not quality.isdecimal() or metric not in METRICS:
        raise ArgumentError(
            f"this is not a learned codec: {format!r}",
            where="formats",
            fix=f"write compressai:MODEL:q=1 to q=8, with :metric={METRICS[1]} if it is wanted",
            code=100,
        )
    return Learned(model, int(quality), metric)


def measure_learned(format: str, images: list[Pixels], python: str, weights: str = PUBLISHED) -> Measures:
    """Measure `compressai:MODEL:q=QUALITY` with the interpreter `python`; `LeftOut` without CompressAI.

    `weights` are those that CompressAI downloads, `untrained`, or a file with weights (a state dict, or a checkpoint
    with one). Raises `LeftOut` if they are not available, or belong to another network.
    """
    learned = parse_learned(format)
    interpreter = python or sys.executable
    if not _has_compressai(interpreter):
        raise LeftOut("compressai is not installed (--set python=… names an environment that has it)")
    colours = [pixels for pixels in images if pixels.ndim == 3 and pixels.shape[2] == 3]
    if not colours:
        raise LeftOut("it takes images of three channels, and there are none here")
    with tempfile.TemporaryDirectory(prefix="penstock-learned-") as folder:
        for number, pixels in enumerate(colours):
            write_file(Path(folder, f"{number:05d}.png"), encode(pixels, "png"))
        command = [interpreter, str(SCRIPT), folder, learned.model, str(learned.quality), learned.metric, weights]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise PenstockError(f"{format} failed: {done.stderr[-800:]}", where="learned codec", fix="try it alone")
        found = json.loads(done.stdout.splitlines()[-1])
        if "left_out" in found:
            raise LeftOut(found["left_out"])
        if "no_weights" in found:
            raise LeftOut(
                f"its weights ({weights}) are not to be had: {found['no_weights']} (--set weights=FILE names a file of "
                "them, --set weights=untrained times the network without)"
            )
        back = [decode(read_file(Path(folder, f"{number:05d}.out.png"))) for number in range(len(colours))]
    pixel_bytes = sum(pixels.nbytes for pixels in colours)
    pairs = list(zip(colours, back, strict=True))
    return {
        "num_images": len(colours),
        "num_refused": len(images) - len(colours),
        "pixel_bytes": pixel_bytes,
        "encoded_bytes": found["encoded_bytes"],
        "ratio": pixel_bytes / found["encoded_bytes"],
        "encode_seconds": found["encode_seconds"] / len(colours),
        "decode_seconds": found["decode_seconds"] / len(colours),
        "ms_ssim": sum(ms_ssim(a, b) for a, b in pairs) / len(pairs),
        "psnr": sum(min(psnr(a, b), 99.0) for a, b in pairs) / len(pairs),
        "is_lossless": 0,
        "is_untrained": int(weights == UNTRAINED),
    }


def _has_compressai(interpreter: str) -> bool:
    try:
        probe = subprocess.run([interpreter, "-c", "import compressai"], capture_output=True, check=False)
    except OSError as reason:
        raise ArgumentError(
            f"this interpreter does not start: {reason.strerror}",
            where=f"--set python={interpreter}",
            fix="name the python of an environment that has CompressAI",
            code=100,
        ) from reason
    return probe.returncode == 0
