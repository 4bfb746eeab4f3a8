"""tf.data with its region decoder. Variants: default (fast transform, no antialiasing), accurate (as Pillow)."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import tensorflow as tf

from bench.peers.serving import arguments, image_files, serve

SIZE = 224


def main() -> None:
    """Serve epochs."""
    wishes = arguments()
    accurate = wishes.variant == "accurate"
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(wishes.threads)
    began = time.perf_counter()
    files = image_files(wishes.source)
    decode = {"dct_method": "INTEGER_ACCURATE"} if accurate else {}

    def load(path: tf.Tensor) -> tf.Tensor:
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
        image = tf.image.resize(image, [SIZE, SIZE], antialias=accurate)
        image = tf.image.random_flip_left_right(image)
        image = tf.cast(tf.round(image), tf.uint8)
        image.set_shape([SIZE, SIZE, 3])
        return image

    options = tf.data.Options()
    options.threading.private_threadpool_size = wishes.threads
    options.threading.max_intra_op_parallelism = 1
    options.deterministic = False
    data = tf.data.Dataset.from_tensor_slices(files).shuffle(len(files))
    data = data.map(load, num_parallel_calls=wishes.threads).batch(wishes.batch_size).prefetch(2).with_options(options)

    def epoch() -> Iterable[tuple[int, float]]:
        for index, batch in enumerate(data):
            yield int(batch.shape[0]), float(batch.numpy().mean()) if index == 0 else 0.0

    serve(epoch, began=began, antialias=accurate, tensorflow=tf.__version__)


if __name__ == "__main__":
    main()
