"""Learned codecs of CompressAI, in an environment of their own: it pins versions of torch that nobody else wants."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from penstock.codecs import decode, encode
from penstock.errors import PenstockError
from penstock.lab.jobs.contract import LeftOut, Measures
from penstock.pixels import ms_ssim, psnr
from penstock.storage import read_file, write_file
from penstock.types import Pixels

SCRIPT = Path(__file__).parent / "peers" / "learned_codec.py"


PUBLISHED, UNTRAINED = "published", "untrained"


def measure_learned(format: str, images: list[Pixels], python: str, weights: str = PUBLISHED) -> Measures:
    """Measure `compressai:MODEL:q=QUALITY` with the interpreter `python`; `LeftOut` if CompressAI is not there.

    `weights`: those that CompressAI downloads, `untrained`, or a file of them; `LeftOut` if they cannot be had.
    """
    _, model, quality = format.split(":")
    interpreter = python or sys.executable
    probe = subprocess.run([interpreter, "-c", "import compressai"], capture_output=True, check=False)
    if probe.returncode != 0:
        raise LeftOut("compressai is not installed (--set python=… names an environment that has it)")
    colours = [pixels for pixels in images if pixels.ndim == 3 and pixels.shape[2] == 3]
    with tempfile.TemporaryDirectory(prefix="penstock-learned-") as folder:
        for number, pixels in enumerate(colours):
            write_file(Path(folder, f"{number:05d}.png"), encode(pixels, "png"))
        command = [interpreter, str(SCRIPT), folder, model, quality.removeprefix("q="), weights]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise PenstockError(f"{format} failed: {done.stderr[-800:]}", where="learned codec", fix="try it alone")
        found = json.loads(done.stdout.splitlines()[-1])
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
