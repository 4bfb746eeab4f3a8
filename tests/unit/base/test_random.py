"""Counter-based random numbers: those of the published algorithm, and spread as they should be."""

from __future__ import annotations

import numpy as np
import pytest

from penstock._native import random_block


# The known answers that come with Random123: (counter, key, result).
@pytest.mark.parametrize(
    ("counter", "key", "expected"),
    [
        ([0] * 4, [0] * 2, [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]),
        ([0xFFFFFFFF] * 4, [0xFFFFFFFF] * 2, [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]),
        (
            [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344],
            [0xA4093822, 0x299F31D0],
            [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1],
        ),
    ],
)
def test_blocks_are_those_of_philox_4x32_10(counter: list[int], key: list[int], expected: list[int]) -> None:
    number, stream, low, high = counter

    assert random_block(key[0] | key[1] << 32, low | high << 32, stream, number) == expected


@pytest.mark.parametrize("varied", ["seed", "index", "stream", "number"])
def test_words_are_spread_whatever_is_counted(varied: str) -> None:
    base = {"seed": 7, "index": 1, "stream": 2, "number": 3}
    words = np.array([random_block(**{**base, varied: value}) for value in range(2000)], np.uint32)

    assert len(np.unique(words)) > 7990
    assert abs(words.mean() / 2**32 - 0.5) < 0.02
    correlation = np.corrcoef(np.c_[words[:-1], words[1:]].T.astype(float))
    assert np.abs(correlation - np.eye(8)).max() < 0.1
