"""Generated cases: sets of samples, mixes, batches and ranks."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from hypothesis import settings
from hypothesis import strategies as st

from penstock.order import Batches, Order, Schedule, Window

# The machine may be busy: a case takes as long as it takes.
property_of_order = settings(deadline=None, max_examples=50)


@dataclass(frozen=True)
class Case:
    """A small dataset and how it is loaded."""

    counts: tuple[int, ...]
    lanes: int
    seed: int
    batch_size: int
    world_size: int
    window: Window | None = None

    @property
    def num_samples(self) -> int:
        return sum(self.counts)

    @property
    def formats(self) -> npt.NDArray[np.uint8]:
        """Formats strewn over the ids, as a build would."""
        rng = np.random.default_rng(self.seed)
        return rng.permutation(np.repeat(np.arange(len(self.counts), dtype=np.uint8), self.counts))

    def order(self) -> Order:
        return Order(self.formats, seed=self.seed, lanes=self.lanes, window=self.window)

    def schedules(self, epoch: int, *, drop_last: bool = False, start: int = 0) -> list[Schedule]:
        """One per rank."""
        epoch_order = self.order().epoch(epoch)
        return [
            Schedule(epoch_order, Batches(self.num_samples, self.batch_size, rank, self.world_size, drop_last, start))
            for rank in range(self.world_size)
        ]


SIZES = st.one_of(st.sampled_from([1, 2, 3, 61, 97, 512, 769, 1536, 1537, 3839, 3840, 3841]), st.integers(1, 2000))


@st.composite
def cases(draw: st.DrawFn, *, windows: bool = True) -> Case:
    """Any size, one to four formats with shares down to one sample, any batch and 1 to 16 ranks."""
    num_samples = draw(SIZES)
    cuts = draw(st.lists(st.integers(0, num_samples), max_size=3))
    edges = [0, *sorted(cuts), num_samples]
    counts = tuple(end - begin for begin, end in pairwise(edges) if end > begin)
    window = st.one_of(st.none(), st.builds(Window, st.integers(1, 9), st.integers(1, 4)))
    return Case(
        counts=counts,
        lanes=draw(st.sampled_from([1, 2, 7, 24, 60, 960])),
        seed=draw(st.integers(0, 2**64 - 1)),
        batch_size=draw(st.integers(1, 70)),
        world_size=draw(st.integers(1, min(16, num_samples))),
        window=draw(window) if windows else None,
    )
