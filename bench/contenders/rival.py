"""A rival of `src/penstock/lab/rivals`, in the rival's own environment.

python -m bench.contenders.rival NAME --source FOLDER [--job …] [--variant …]. Penstock need not be installed there: the
package `rivals` stands alone.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path

import numpy as np

from bench.contenders.serving import arguments, image_files, serve

LAB = Path(__file__).parents[2] / "src" / "penstock" / "lab"
SIZES = {"train224": 224, "full": 0}


def main() -> None:
    """Serve epochs to the benchmark."""
    sys.path.insert(0, str(LAB))
    wishes = arguments("rival")
    rival, contract = import_module(f"rivals.{wishes.rival}"), import_module("rivals.rival")
    files = image_files(wishes.source)
    spec = contract.RivalSpec(
        files=[(path, number) for number, path in enumerate(files)],
        batch_size=wishes.batch_size,
        threads=wishes.threads,
        size=SIZES[wishes.job],
        variant=wishes.variant or rival.VARIANTS[0],
        layout="NHWC",
        maps_files=True,
        made_file=str(wishes.source.with_suffix(".beton")),
    )
    if hasattr(rival, "make_file"):
        rival.make_file(spec)
    began = time.perf_counter()
    opened = rival.open_rival(spec)

    def epoch() -> Iterable[tuple[int, float]]:
        for index, (images, _, count) in enumerate(opened.epoch()):
            yield count, float(np.asarray(images).mean()) if index == 0 else 0.0

    serve(epoch, began=began, prepare=opened.settle, **opened.about)


if __name__ == "__main__":
    main()
