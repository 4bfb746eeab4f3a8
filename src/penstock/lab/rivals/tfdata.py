"""Run tf.data with its region decoder: `default` (fast transform, no antialiasing) or `accurate` (as Pillow)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from .rival import RivalSpec

CROPS = ("resized",)
VARIANTS = ("default", "accurate")
AHEAD = 2  # batches it loads ahead


class TensorFlowLoader:
    """Batches of a `tf.data` pipeline over JPEG files."""

    def __init__(self, spec: RivalSpec) -> None:
        os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
        import tensorflow as tf  # rarely installed

        accurate = spec.variant == "accurate"
        decode = {"dct_method": "INTEGER_ACCURATE"} if accurate else {}
        tf.config.threading.set_intra_op_parallelism_threads(1)
        tf.config.threading.set_inter_op_parallelism_threads(spec.num_threads)
        self.num_images = len(spec.files)
        self.about = {"antialias": accurate, "tensorflow": tf.__version__}
        self._is_transposed = spec.layout == "NCHW"

        def load(path: tf.Tensor, label: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            data = tf.io.read_file(path)
            shape = tf.concat([tf.io.extract_jpeg_shape(data)[:2], [3]], axis=0)
            offset, size, _ = tf.image.sample_distorted_bounding_box(
                shape,
                bounding_boxes=tf.zeros([1, 0, 4]),
                min_object_covered=0.0,
                aspect_ratio_range=(3 / 4, 4 / 3),
                area_range=(0.08, 1.0),
                max_attempts=10,
                use_image_if_no_bounding_boxes=True,
            )
            window = tf.stack([offset[0], offset[1], size[0], size[1]])
            image = tf.image.decode_and_crop_jpeg(data, window, channels=3, **decode)
            image = tf.image.resize(image, [spec.size, spec.size], antialias=accurate)
            image = tf.image.random_flip_left_right(image)
            image = tf.cast(tf.round(image), tf.uint8)
            image.set_shape([spec.size, spec.size, 3])
            return image, label

        options = tf.data.Options()
        options.threading.private_threadpool_size = spec.num_threads
        options.threading.max_intra_op_parallelism = 1
        options.deterministic = False
        names, labels = [path for path, _ in spec.files], [label for _, label in spec.files]
        data = tf.data.Dataset.from_tensor_slices((names, labels)).shuffle(len(names), seed=spec.seed)
        data = data.map(load, num_parallel_calls=spec.num_threads).batch(spec.batch_size).prefetch(AHEAD)
        self._data = data.with_options(options)

    def epoch(self) -> Iterator[tuple[Any, Any, int]]:
        """Yield the batches of the next epoch."""
        for images, labels in self._data:
            pixels = images.numpy()
            yield pixels.transpose(0, 3, 1, 2) if self._is_transposed else pixels, labels.numpy(), len(pixels)

    def settle(self) -> None:
        """Do nothing: it loads nothing between epochs."""


def open_rival(spec: RivalSpec) -> TensorFlowLoader:
    """Open the loader."""
    return TensorFlowLoader(spec)
