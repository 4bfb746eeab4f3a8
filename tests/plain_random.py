"""The random numbers of transforms, word by word."""

from __future__ import annotations

from penstock import _native

STREAM = 0x7472616E


class Random:
    """The words of one operation of one sample."""

    def __init__(self, seed: int, epoch: int, sample: int, place: int) -> None:
        low, high, *_ = _native.random_block(seed, epoch, STREAM, 0)
        self._key = (low | high << 32, sample, place)
        self._words: list[int] = []
        self._blocks = 0

    def word(self) -> int:
        if not self._words:
            self._words = list(_native.random_block(*self._key, self._blocks))
            self._blocks += 1
        return self._words.pop(0)

    def uniform(self, low: float, high: float) -> float:
        return low + (high - low) * ((self.word() >> 8) / 2**24)

    def below(self, bound: int) -> int:
        return self.word() * bound >> 32
