"""Execute a plan epoch by epoch: the native pipeline, the cache's decisions, and where the loader stands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from penstock import _native
from penstock.errors import ArgumentError, PenstockError
from penstock.load.cache_session import CacheSession
from penstock.load.delivery import BatchDict, Delivery, EpochPart, Progress
from penstock.load.epoch_ahead import AheadEpoch, EpochAhead
from penstock.load.failures import FailureLog
from penstock.load.fidelity_schedule import as_fidelity
from penstock.load.loader_options import LAYOUTS, native_options
from penstock.load.loader_plan import LoaderPlan
from penstock.load.process import CANCELLED, explained
from penstock.load.slow_reads import SlowReadWatch
from penstock.order import Batches, State
from penstock.order.caches import CacheOrder, EpochCachePlan


class EpochRunner:
    """Executor of a loader's epochs. Attributes are for the loader, tests and tools; users have `Loader`."""

    def __init__(self, plan: LoaderPlan, pixel_layout: str) -> None:
        self.plan = plan
        self.log = FailureLog(plan.options.errors)
        self.progress = Progress()
        self.delivery: Delivery | None = None
        self.delivered = 0
        self.is_closed = False
        self.reading: dict[str, Any] = dict(plan.reading)
        self.read_watch = SlowReadWatch(plan.samples, self.reading)
        self._fidelity = as_fidelity(plan.options.reading.fidelity, plan.samples)
        self._caches = CacheSession(plan)
        self.ahead = EpochAhead(plan.options.reading.overlap_epochs)
        self._cache_order: CacheOrder | None = None
        self._pixel_layout = pixel_layout
        self._next = self._beginning(0)
        self.pipeline = self._open_pipeline()

    @property
    def epoch(self) -> int:
        """Current epoch, or the one that starts next."""
        delivery = self.delivery  # asked for once: another thread may end the epoch
        return delivery.epoch if delivery is not None else self._next.epoch

    @property
    def fidelity(self) -> int | None:
        """Scans of the current epoch, or the next one; None means all."""
        delivery = self.delivery
        return delivery.fidelity if delivery is not None else self._fidelity.at(self._next.epoch)

    def batches(self, start: int = 0) -> Batches:
        """Return the batches of an epoch from position `start` on."""
        return self.plan.rank_schedule.schedule(0, start).batches

    def start(self) -> Delivery:
        """Start the next epoch, or the rest of the epoch of a loaded state."""
        self.abandon()
        start = self._next
        with explained():
            found = self.ahead.begin(start)
            if found is not None:
                self._caches, delivery = found.caches, found.delivery
            else:
                self._forget_discarded()
                cache_plan = self._caches.epoch(start, self._fidelity.at(start.epoch))
                self._make_room(cache_plan)
                delivery = self._delivery(start, cache_plan)
            self._cache_order = self._caches.order
            self.delivered = start.delivered
            self.delivery = delivery.begin()
        # After a break comes the next epoch, unless a state is loaded.
        self._next = self._beginning(start.epoch + 1)
        return delivery

    def take(self, delivery: Delivery) -> BatchDict | None:
        """Return the next batch of the current epoch; None at its end.

        Once all batches of the epoch are requested, those of the next one are.
        """
        delivery.request()
        if delivery.room_ahead and self.ahead.is_wanted and not self.is_closed:
            if self.ahead.found is None:
                self.ahead.found = self._epoch_after(delivery)
            if self.ahead.found is not None:
                self.ahead.found.delivery.request_ahead(delivery)
        return next(delivery, None)

    def end(self, delivery: Delivery) -> None:
        """Record that an epoch has ended."""
        if delivery is self.delivery:
            self.delivery = None

    def set_epoch(self, epoch: int) -> None:
        """Start the next iteration at this epoch. An epoch resumed from a state continues where it is."""
        if self._next.epoch != epoch:
            self._next = replace(self._beginning(epoch), cache_order=None)
            self.ahead.discard()

    def set_fidelity(self, fidelity: int | None) -> None:
        """Set the number of scans from the next epoch on."""
        self._fidelity.set(self._next.epoch, as_fidelity(fidelity, self.plan.samples).at(0))
        self._next = replace(self._next, fidelity=self._fidelity.at(self._next.epoch))
        if self.ahead.found is not None and self.ahead.found.start != self._next:
            self.ahead.discard()

    def state(self) -> State:
        """Return the state: delivered batches count, those read ahead do not."""
        delivery = self.delivery
        if delivery is None:
            return self._next
        if self.delivered >= delivery.batches.edge(delivery.batches.num_batches):
            return self._beginning(delivery.epoch + 1)
        return self.plan.state(delivery.epoch, self.delivered, delivery.fidelity, self._cache_order)

    def load_state(self, values: Mapping[str, object]) -> None:
        """Resume from a state: the next epoch is the rest of its epoch."""
        found, samples = State.from_json(values), self.plan.samples
        check_cache_order(found, owns_order=self.plan.policy.owns_order)
        order = found.resume(self.plan.order, samples.fingerprint)
        needs_places = order.window is not None or found.cache_order is not None
        blocks = None if samples.blocks is None else samples.blocks.of_sample
        order = order.on_disk(samples.places if needs_places else None, blocks)
        self.abandon()
        self.ahead.discard()
        another_window = order.window != self.plan.order.window
        self.plan = self.plan.with_order(order, "state")
        self._caches = CacheSession(self.plan)
        self._next = found.after(found.delivered)
        if samples.blocks is not None:
            self._fidelity.resume(self._next.epoch, self._next.fidelity)
        if another_window:
            self.reading.update(self.plan.reading)
            self.pipeline.close()
            self.pipeline = self._open_pipeline()

    def limit_cache(self, cache_bytes: int) -> None:
        """Limit the bytes of the cache; only before the first epoch."""
        if self._caches.is_open:
            fix = "call it before the first iter()"
            raise ArgumentError("an epoch has planned its cache", where="keep_at_most", fix=fix, code=100)
        memory = self.plan.memory
        self.plan = replace(self.plan, memory=replace(memory, cache_bytes=min(memory.cache_bytes, cache_bytes)))
        self._caches = CacheSession(self.plan)

    def look_at_reads(self) -> None:
        """Look at the counters of reads once, if the consumer has waited long enough and no window is set."""
        if self.read_watch.is_time(self.progress.wait_seconds, self.progress.run_seconds):
            self.read_watch.look(self.pipeline.stats(), self.progress.run_seconds)

    def check_open(self) -> None:
        """Raise if the loader was closed, because an epoch must not end early silently."""
        if self.is_closed:
            raise PenstockError("the loader is closed", where="loader", fix="make a new one", code=CANCELLED)

    def abandon(self) -> None:
        """Give up the current epoch, if there is one that is not delivered to its end."""
        if self.leave():
            # An epoch that was left is not what the cache planned: it begins anew.
            self._caches.forget()

    def leave(self) -> bool:
        """Cancel the current epoch, and return whether batches of it are left. Another thread may be at its end."""
        delivery, self.delivery = self.delivery, None
        return delivery is not None and self._cancel(delivery)

    def stop(self, delivery: Delivery) -> None:
        """Cancel an epoch, and what was requested after it if it is the current one and batches of it are left."""
        delivery.cancel()
        if delivery is self.delivery:
            self._cancel(delivery)

    def close(self) -> None:
        """Stop the threads, and wait for the work that each is doing."""
        self.is_closed = True
        self.leave()
        self.ahead.discard()
        self.pipeline.close()

    def _cancel(self, delivery: Delivery) -> bool:
        """Cancel an epoch, and what was requested after it; return whether batches of it are left."""
        delivery.cancel()
        is_left = self.delivered < delivery.batches.edge(delivery.batches.num_batches)
        if is_left:
            self.ahead.discard()
        return is_left

    def _beginning(self, epoch: int) -> State:
        return self.plan.state(epoch, 0, self._fidelity.at(epoch), self._cache_order)

    def native_stats(self) -> dict[str, Any]:
        """Return the pipeline's counters, without the work for an epoch that has not begun."""
        with explained():
            return self.pipeline.stats(self.ahead.tally)

    def _epoch_after(self, delivery: Delivery) -> AheadEpoch | None:
        """Return the epoch to request ahead; None if what the cache finds there depends on more than this epoch."""
        start, caches = self._next, self._caches
        is_next = start.epoch == delivery.epoch + 1 and self._fidelity.at(start.epoch) == delivery.fidelity
        if caches.is_open and not is_next:
            return None
        caches = caches.copy()
        cache_plan = caches.epoch(start, self._fidelity.at(start.epoch))
        return AheadEpoch(start, self._delivery(start, cache_plan), caches)

    def _forget_discarded(self) -> None:
        """Wait for discarded batches that change the cache's memory, and drop the samples that they left there."""
        batches, self.ahead.unfinished = self.ahead.unfinished, []
        if not batches or not self._caches.is_open:
            return
        for batch in batches:
            self.pipeline.wait(batch)
        if self._caches.resident is not None:
            self.pipeline.retain_cache(np.flatnonzero(self._caches.resident).astype(np.uint64))

    def _delivery(self, start: State, cache_plan: EpochCachePlan | None) -> Delivery:
        plan = self.plan
        part = EpochPart(
            plan.order,
            start.epoch,
            self.batches(start.delivered),
            cache_plan,
            program=plan.chain.program(),
            fidelity=self._fidelity.at(start.epoch),
            draws_anew=plan.policy.owns_order,
            open_limit_bytes=plan.memory.open_bytes,
        )
        return Delivery(self.pipeline, plan.samples, part, plan.memory.depth, self.log, self.progress)

    def _make_room(self, cache_plan: EpochCachePlan | None) -> None:
        """Drop samples from memory that the epoch does not expect there."""
        if cache_plan is None:
            return
        if cache_plan.resident_bytes[0] == 0:
            self.pipeline.clear_cache()
        elif self.plan.samples.blocks is not None:
            self.pipeline.retain_cache(cache_plan.ids[cache_plan.hits].astype(np.uint64))

    def _open_pipeline(self) -> _native.Pipeline:
        plan = self.plan
        memory, options = plan.memory, native_options(plan.options, plan.resources.cache, plan.samples.store)
        options.layout = LAYOUTS[self._pixel_layout]
        options.num_threads = plan.resources.threads
        options.read_bytes = memory.read_bytes
        options.scratch_bytes = memory.scratch_bytes
        options.idle_bytes = memory.idle_bytes
        # Batches under way keep samples before earlier ones have dropped theirs: the arena has that room as well.
        kept = plan.resources.memory_bytes - memory.working_bytes if memory.cache_bytes else 0
        options.cache_bytes = kept + memory.open_bytes
        plan.cache_layout.apply(plan.samples.table)
        return _native.Pipeline(plan.samples.table, plan.chain.program(), options)


def check_cache_order(state: State, *, owns_order: bool) -> None:
    """Refuse a state with another order than this loader's cache has."""
    saved = state.cache_order
    if (saved is not None) == owns_order or not (state.delivered or saved is not None):
        return
    has, wants = (saved.policy, "another") if saved is not None else ("another", "one with an order of its own")
    raise ArgumentError(
        f"the state was saved with {has} cache, this loader has {wants}: their orders differ",
        where="state",
        fix="make the loader with " + (f'cache="{saved.policy}"' if saved is not None else "that cache"),
        code=100,
    )
