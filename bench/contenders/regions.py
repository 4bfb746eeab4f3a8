"""The cap: the regions of the crops are decoded from memory on threads, and nothing else is done."""

from __future__ import annotations

import time
from collections.abc import Iterable
from itertools import count
from pathlib import Path

import numpy as np

import penstock
from bench.contenders.serving import arguments, image_files, serve
from penstock import _native
from penstock.transforms import split
from penstock.transforms.named import named


def main() -> None:
    """Serve epochs to the benchmark."""
    wishes = arguments()
    began = time.perf_counter()
    different = {path.resolve(): path for path in map(Path, image_files(wishes.source))}
    files = [path.read_bytes() for path in different]
    num_samples = len(image_files(wishes.source))
    sizes = [(info.height, info.width) for info in map(penstock.inspect, files)]
    program = split(named("train224")).program()
    pool = _native.ThreadPool(wishes.threads)
    epochs = count()

    def epoch() -> Iterable[tuple[int, float]]:
        number = next(epochs)
        levels = np.zeros(num_samples)

        def decode(index: int) -> None:
            image = index % len(files)
            region = program.region(program.draw(sizes[image], 0, number, index))
            pixels = penstock.decode(files[image], region=region)
            if index < wishes.batch_size and number == 0:
                levels[index] = pixels.mean()

        pool.call_each(decode, num_samples)
        yield num_samples, float(levels[: wishes.batch_size].mean())

    serve(epoch, began=began, antialias=True)


if __name__ == "__main__":
    main()
