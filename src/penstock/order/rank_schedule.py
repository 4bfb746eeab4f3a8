"""Part of one rank in every epoch."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.order.epochs import Order
from penstock.order.ranks import Batches
from penstock.order.schedule import Schedule


@dataclass(frozen=True)
class RankSchedule:
    """Order, and how one rank takes its batches from it."""

    order: Order
    batch_size: int
    rank: int = 0
    world_size: int = 1
    drop_last: bool = False

    def schedule(self, epoch: int, start: int = 0) -> Schedule:
        """Return the batches of `epoch`, from position `start` on."""
        batches = Batches(
            self.order.num_samples, self.batch_size, self.rank, self.world_size, self.drop_last, start=start
        )
        return Schedule(self.order.epoch(epoch), batches)

    @property
    def keeps_its_samples(self) -> bool:
        """True if this rank gets the same samples in every epoch, so that its memory serves it alone."""
        return not self.order.shuffle or self.order.lanes % self.world_size == 0
