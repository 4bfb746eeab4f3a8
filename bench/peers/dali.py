"""NVIDIA DALI on the CPU: its region decoder, then an antialiased linear resize (its default); or a plain decode."""

from __future__ import annotations

import time
from collections.abc import Iterable

import numpy as np
import nvidia.dali
from nvidia.dali import fn, pipeline_def, types

from bench.peers.serving import arguments, image_files, serve

SIZE = 224
DEPTH = 2  # batches it loads ahead; its default


def main() -> None:
    """Serve epochs."""
    wishes = arguments()
    began = time.perf_counter()
    files = image_files(wishes.source)

    @pipeline_def(batch_size=wishes.batch_size, num_threads=wishes.threads, device_id=None, prefetch_queue_depth=DEPTH)
    def pipeline() -> object:
        encoded, _ = fn.readers.file(files=files, random_shuffle=True, initial_fill=1024, name="files")
        if wishes.job == "full":
            return fn.decoders.image(encoded, device="cpu", output_type=types.RGB)
        images = fn.decoders.image_random_crop(
            encoded, device="cpu", output_type=types.RGB, random_area=[0.08, 1.0], random_aspect_ratio=[3 / 4, 4 / 3]
        )
        images = fn.resize(images, size=[SIZE, SIZE], interp_type=types.INTERP_LINEAR)
        return fn.flip(images, horizontal=fn.random.coin_flip())

    running = pipeline()
    running.build()
    num_batches = -(-len(files) // wishes.batch_size)

    def epoch() -> Iterable[tuple[int, float]]:
        # It never ends: an epoch is as many batches as one takes, which spares it the fill and drain of others.
        for index in range(num_batches):
            (batch,) = running.run()
            yield wishes.batch_size, float(np.asarray(batch.as_tensor()).mean()) if index == 0 else 0.0

    def drop_what_is_ready() -> None:
        for _ in range(DEPTH + 1):
            running.run()

    serve(epoch, began=began, prepare=drop_what_is_ready, antialias=True, dali=nvidia.dali.__version__)


if __name__ == "__main__":
    main()
