"""Run NVIDIA DALI on the CPU: its region decoder, then an antialiased linear resize (its default)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .rival import RivalSpec

CROPS = ("resized", "stretch")
VARIANTS = ("",)
DEPTH = 2  # batches it loads ahead; its default
BUFFER = 1024  # encoded images that it shuffles among; its default. Of small data a tenth: it would hold all of it


class DaliLoader:
    """Batches of a pipeline that never ends: an epoch is as many as its images fill."""

    def __init__(self, spec: RivalSpec) -> None:
        import nvidia.dali  # rarely installed
        from nvidia.dali import fn, pipeline_def, types

        self.num_images = len(spec.files)
        self.about = {"antialias": True, "dali": nvidia.dali.__version__}
        self._batch_size = spec.batch_size
        names, labels = [path for path, _ in spec.files], [label for _, label in spec.files]

        @pipeline_def(  # type: ignore[untyped-decorator, unused-ignore]  # it ships no types
            batch_size=spec.batch_size,
            num_threads=spec.num_threads,
            device_id=None,
            prefetch_queue_depth=DEPTH,
            seed=spec.seed,
        )
        def pipeline() -> object:
            encoded, label = fn.readers.file(
                files=names,
                labels=labels,
                random_shuffle=True,
                initial_fill=min(BUFFER, -(-len(names) // 10)),
                dont_use_mmap=not spec.maps_files,
                name="files",
            )
            if spec.size and spec.crop == "resized":
                images = fn.decoders.image_random_crop(
                    encoded,
                    device="cpu",
                    output_type=types.RGB,
                    random_area=[0.08, 1.0],
                    random_aspect_ratio=[3 / 4, 4 / 3],
                )
            else:
                images = fn.decoders.image(encoded, device="cpu", output_type=types.RGB)
            if spec.size:
                images = fn.resize(images, size=[spec.size, spec.size], interp_type=types.INTERP_LINEAR)
                if spec.crop == "resized":
                    images = fn.flip(images, horizontal=fn.random.coin_flip())
            return (fn.transpose(images, perm=[2, 0, 1]) if spec.layout == "NCHW" else images), label

        self._pipeline = pipeline()
        self._pipeline.build()

    def epoch(self) -> Iterator[tuple[Any, Any, int]]:
        """Yield as many batches as an epoch's images fill."""
        for _ in range(-(-self.num_images // self._batch_size)):
            images, labels = self._pipeline.run()
            yield np.asarray(images.as_tensor()), np.asarray(labels.as_tensor()).ravel(), self._batch_size

    def settle(self) -> None:
        """Drop the batches that are ready: the pipeline goes on between epochs."""
        for _ in range(DEPTH + 1):
            self._pipeline.run()


def open_rival(spec: RivalSpec) -> DaliLoader:
    """Open the loader."""
    return DaliLoader(spec)
