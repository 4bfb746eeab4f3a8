"""Timed pass of a job over images: on the native pool, or in Python for a codec of a third party."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from penstock import _native
from penstock.codecs import Codec, DecodeOptions, Format
from penstock.codecs.native import NativeCodec
from penstock.types import Buffer, Pixels

Run = Callable[[int], tuple[float, float]]
"""Does a job over all its images so many times; gives (wall, CPU) seconds."""


@dataclass(frozen=True, slots=True)
class Runner:
    """Factory of jobs. Jobs of native codecs run on the pool, without the GIL; this class starts no thread."""

    pool: _native.ThreadPool

    def threads_of(self, codec: Codec) -> int:
        """Return the number of threads for a codec; one if it is written in Python."""
        return self.pool.num_threads if _is_native(codec) else 1

    def decodes(self, codec: Codec, images: Sequence[Buffer]) -> Run:
        """Make a job that decodes images of one codec."""
        if _is_native(codec):
            return lambda passes: _native.decode_many(self.pool, codec.name, images, passes)
        return _timed(lambda: [codec.decode(data, DecodeOptions()) for data in images])

    def encodes(self, codec: Codec, format: Format, images: Sequence[Pixels]) -> Run:
        """Make a job that encodes images in one format."""
        if _is_native(codec):
            parameters = list(format.parameters)
            return lambda passes: _native.encode_many(self.pool, codec.name, parameters, images, passes)
        return _timed(lambda: [codec.encode(pixels, format) for pixels in images])


def _is_native(codec: Codec) -> bool:
    """Return whether the codec's Python object only names one of the native core."""
    return (
        isinstance(codec, NativeCodec)
        and type(codec).decode is NativeCodec.decode
        and type(codec).encode is NativeCodec.encode
    )


def _timed(job: Callable[[], object]) -> Run:
    def run(passes: int) -> tuple[float, float]:
        wall, cpu = time.perf_counter(), time.thread_time()
        for _ in range(passes):
            job()
        return time.perf_counter() - wall, time.thread_time() - cpu

    return run
