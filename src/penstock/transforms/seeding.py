"""Random numbers of Python transforms: `random`, NumPy and torch, seeded by (seed, epoch, id)."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from penstock import _native

STREAM = 0x9717407  # differs from the streams of native transforms, orders and substitutes


def seed_for(seed: int, epoch: int, id: int) -> int:  # noqa: A002 - the word for it everywhere
    """Return a number of 128 bits that seeds all generators of a sample."""
    block = _native.random_block(seed, id, STREAM, epoch & 0xFFFFFFFF)
    return int(sum(word << (32 * place) for place, word in enumerate(block)))


def seed_everything(number: int) -> None:
    """Seed `random`, NumPy's global generator and, if torch is imported, its CPU generator."""
    random.seed(number)
    words = [number >> shift & 0xFFFFFFFF for shift in (0, 32, 64, 96)]
    np.random.seed(words)  # the generator that other libraries use
    torch = _torch()
    if torch is not None:
        torch.default_generator.manual_seed(number & (2**63 - 1))


@contextmanager
def kept_states() -> Iterator[None]:
    """Restore the states of the generators after the block."""
    torch = _torch()
    own = random.getstate(), np.random.get_state()
    of_torch = None if torch is None else torch.default_generator.get_state()
    try:
        yield
    finally:
        random.setstate(own[0])
        np.random.set_state(own[1])
        if of_torch is not None:
            torch.default_generator.set_state(of_torch)


@contextmanager
def seeded(*, seed: int = 0, epoch: int = 0, id: int = 0) -> Iterator[None]:  # noqa: A002 - the word for it everywhere
    """Seed `random`, NumPy and torch inside the block, as a loader does for sample `id` in this epoch.

    >>> import random
    >>> with seeded(seed=3, id=7):
    ...     first = random.random()
    >>> with seeded(seed=3, id=7):
    ...     random.random() == first
    True
    """
    with kept_states():
        seed_everything(seed_for(seed, epoch, id))
        yield


def _torch() -> Any:  # noqa: ANN401  # a module that this folder does not import
    """Return torch if the program has imported it; otherwise nothing has used its generator."""
    return sys.modules.get("torch")
