"""Batches of codec jobs on the native pool: timed, stopped by errors and by Ctrl-C."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import numpy as np
import pytest

import penstock
from penstock import _native
from penstock.errors import CodecError
from penstock.testing.codec import sample_image

PIXELS = sample_image(64, 64, 3, "uint8")
DATA = penstock.encode(PIXELS, "jpeg")


@pytest.mark.parametrize("threads", [1, 3])
def test_times_are_positive_and_add_up(threads: int) -> None:
    pool = _native.ThreadPool(threads)

    wall, cpu = _native.decode_many(pool, "jpeg", [DATA] * 8, 20)

    assert wall > 0
    assert 0 < cpu <= wall * threads * 1.2


def test_encodes_take_strided_pixels() -> None:
    frame = np.zeros((64, 128, 3), np.uint8)

    assert _native.encode_many(_native.ThreadPool(1), "raw", [], [frame[:, :64], frame], 3)[1] > 0


def test_nothing_to_do_takes_no_time() -> None:
    assert _native.decode_many(_native.ThreadPool(1), "raw", []) == (0, 0)


def test_the_first_error_reaches_the_caller() -> None:
    with pytest.raises(CodecError, match="jpeg"):
        _native.decode_many(_native.ThreadPool(2), "jpeg", [DATA, DATA[:50], DATA])


def test_what_a_format_cannot_hold_reaches_the_caller() -> None:
    with pytest.raises(CodecError):
        _native.encode_many(_native.ThreadPool(2), "jpeg", [], [PIXELS.astype(np.uint16)])


def test_an_interrupt_ends_a_long_batch() -> None:
    pool = _native.ThreadPool(2)
    with subprocess.Popen([sys.executable, "-c", f"import os, time; time.sleep(.3); os.kill({os.getpid()}, 2)"]):
        begin = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            _native.decode_many(pool, "jpeg", [DATA] * 100, 1_000_000)

    assert time.monotonic() - begin < 20
    assert _native.decode_many(pool, "jpeg", [DATA])[0] > 0
