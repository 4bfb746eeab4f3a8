"""NVIDIA DALI on the CPU: its region decoder, then an antialiased linear resize (its default). Reads the folder."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from penstock.lab.jobs.contract import LeftOut
from penstock.lab.loaders.contract import LoaderSpec
from penstock.lab.loaders.files import labelled_files

DEPTH = 2  # batches it loads ahead; its default
BUFFER = 1024  # encoded images that it shuffles among; its default. Of small data a tenth: it would hold all of it


class DaliLoader:
    """Batches of a pipeline that never ends: an epoch is as many as its images fill."""

    def __init__(self, spec: LoaderSpec) -> None:
        from nvidia.dali import fn, pipeline_def, types  # rarely installed

        files = labelled_files(spec)
        self.num_images = len(files)
        self._batch_size = spec.batch_size
        names, labels = [path for path, _ in files], [label for _, label in files]
        threads = spec.threads or len(os.sched_getaffinity(0))

        @pipeline_def(  # type: ignore[untyped-decorator, unused-ignore]  # it ships no types
            batch_size=spec.batch_size, num_threads=threads, device_id=None, prefetch_queue_depth=DEPTH, seed=spec.seed
        )
        def pipeline() -> object:
            encoded, label = fn.readers.file(
                files=names,
                labels=labels,
                random_shuffle=True,
                initial_fill=min(BUFFER, -(-len(names) // 10)),
                dont_use_mmap=True,  # so that what the page cache forgets is read again
                name="f",
            )
            if spec.crop == "resized":
                images = fn.decoders.image_random_crop(
                    encoded,
                    device="cpu",
                    output_type=types.RGB,
                    random_area=[0.08, 1.0],
                    random_aspect_ratio=[3 / 4, 4 / 3],
                )
            else:
                images = fn.decoders.image(encoded, device="cpu", output_type=types.RGB)
            images = fn.resize(images, size=[spec.size, spec.size], interp_type=types.INTERP_LINEAR)
            if spec.crop == "resized":
                images = fn.flip(images, horizontal=fn.random.coin_flip())
            return fn.transpose(images, perm=[2, 0, 1]), label

        self._pipeline = pipeline()
        self._pipeline.build()

    def epoch(self) -> Iterator[tuple[Any, Any, int]]:
        """The next batches."""
        for _ in range(-(-self.num_images // self._batch_size)):
            images, labels = self._pipeline.run()
            yield np.asarray(images.as_tensor()), np.asarray(labels.as_tensor()).ravel(), self._batch_size

    def facts(self) -> dict[str, float]:
        """It counts nothing."""
        return {}

    def close(self) -> None:
        """Its threads end with the process."""


def open_loader(spec: LoaderSpec) -> DaliLoader:
    """As the contract says."""
    if spec.target == "mask" or spec.is_encoded or spec.size == 0 or spec.crop not in ("resized", "stretch"):
        raise LeftOut("this loader is measured on labelled images, on crops resized and stretch alone")
    return DaliLoader(spec)
