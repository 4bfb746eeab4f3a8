"""`Loader`: from a folder or dataset to batches of NumPy arrays."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, TypeVar

import numpy as np

from penstock import _native
from penstock.errors import ArgumentError, PenstockError
from penstock.load.budget import Budget, Demand, plan_budget, with_cache
from penstock.load.delivery import BatchDict, Delivery, EpochPart, Progress
from penstock.load.failures import FailureLog
from penstock.load.options import ErrorPolicy, ReadPolicy, check_count, refuse_fidelity, take_foreign_keywords
from penstock.load.process import FORKED, explained, refuse_worker
from penstock.load.rest import Rest, stack
from penstock.load.samples import Ids, Samples, Subset
from penstock.load.source import open_samples
from penstock.load.stats import stats_of
from penstock.machine import memory as machine_memory
from penstock.order import MOST_LANES, Batches, Order, State
from penstock.order.caches import Cache, Traffic, open_cache
from penstock.order.share import Share
from penstock.transforms import split as split_transforms
from penstock.transforms.apply import Transforms
from penstock.types import OnProgress, no_progress
from penstock.units import parse_bytes

L = TypeVar("L", bound="Loader")


class Loader:
    """Batches of a dataset or of a plain image folder, epoch after epoch.

    A batch is a dict of arrays: `image`, `id` (the sample's row in the index), `label` and what else there is. Images
    of different sizes give a list of arrays: add a transform that resizes. Every `iter()` starts the next epoch. The
    order is a function of (seed, epoch, dataset): the same on any number of threads and ranks. Threads and memory are
    the node's, shared by its ranks.

    >>> import pathlib, tempfile, penstock
    >>> import numpy as np
    >>> folder = tempfile.TemporaryDirectory()
    >>> for number in range(3):
    ...     data = penstock.encode(np.full((4, 5, 3), number, np.uint8), "png")
    ...     _ = pathlib.Path(folder.name, f"{number}.png").write_bytes(data)
    >>> with Loader(folder.name, batch_size=2, seed=0) as loader:
    ...     [batch["image"].shape for batch in loader]
    [(2, 4, 5, 3), (1, 4, 5, 3)]
    >>> folder.cleanup()
    """

    _takes_encoded = False
    """Whether batches hold encoded images, for an adapter that decodes them."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        batch_size: int = 1,
        seed: int = 0,
        memory: int | str | None = None,
        transform: Transforms = None,
        split: str | None = None,
        subset: Subset | None = None,
        shuffle: bool = True,
        drop_last: bool = False,
        threads: int = 0,
        cache: str = "system",
        fidelity: None = None,
        decode: str = "exact",
        channels: str = "RGB",
        layout: str = "NHWC",
        verify: str = "first",
        on_error: str = "raise",
        max_errors: int = 100,
        rank: int = 0,
        world_size: int = 1,
        fields: Sequence[str] | None = None,
        as_tuple: Sequence[str] | None = None,
        on_progress: OnProgress = no_progress,
        **foreign: object,
    ) -> None:
        take_foreign_keywords(foreign)
        check_count("batch_size", batch_size, 1)
        check_count("threads", threads, 0)
        refuse_fidelity(fidelity)
        refuse_worker()
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.rank = rank
        self.world_size = world_size
        self._log = FailureLog(ErrorPolicy(on_error, max_errors))
        self._progress = Progress()
        self._delivery: Delivery | None = None
        self._delivered = 0
        self._cache: Cache | None = None
        self._samples = open_samples(path, fields, on_progress)
        self._order = _order_of(self._samples, self._samples.select(split, subset), seed, shuffle)
        self._as_tuple = self._checked_fields(as_tuple)
        self._next = State.of(self._order, 0, 0, self._samples.fingerprint)
        self._batches(0)  # refuses ranks that would get no sample
        self._chain = split_transforms(transform)
        self._policy = ReadPolicy(cache, verify, decode, channels, layout)
        options = self._policy.native()
        options.encoded = self._takes_encoded
        options.num_threads = threads or max(1, _native.usable_cores() // _local_world_size())
        self._budget = self._share_out(memory, options)
        self._pipeline = _native.Pipeline(self._samples.table, self._chain.program(), options)
        self._rest = Rest(self._chain.rest, options.num_threads) if self._chain.rest else None

    def __iter__(self) -> Iterator[Any]:
        """Start the next epoch, or go on where a loaded state stands. Which one is decided with the first batch."""
        delivery = self._start()
        names = self._as_tuple
        try:
            for batch, delivered in self._ahead(self._deliver(delivery)):
                if delivery is not self._delivery:
                    return  # another iteration has begun
                self._delivered = delivered
                yield batch if names is None else tuple(batch[name] for name in names)
        finally:
            delivery.cancel()
        if delivery is self._delivery:
            self._delivery = None

    def __len__(self) -> int:
        """Batches of a whole epoch, the same on every rank."""
        return self._batches(0).num_batches

    def __enter__(self: L) -> L:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        shown = f"{self._order.num_samples} samples of {self._samples.place}"
        return f"Loader({shown}, batch_size={self.batch_size}, epoch={self.epoch}, transform={self._chain!r})"

    def __reduce__(self) -> tuple[object, ...]:
        raise PenstockError(
            "a Loader cannot be sent to another process: its threads live in this one",
            where="Loader",
            fix="make one Loader per rank, in the rank's own process; it needs no DataLoader and no workers around it",
            code=FORKED,
        )

    @property
    def epoch(self) -> int:
        """The epoch under way, or the one that the next `iter()` starts."""
        return self._delivery.epoch if self._delivery is not None else self._next.epoch

    @property
    def dataset(self) -> Samples:
        """What is loaded from; its `num_samples` counts all splits."""
        return self._samples

    @property
    def sampler(self) -> Sampler:
        """What trainers call `set_epoch` on."""
        return Sampler(self)

    def set_epoch(self, epoch: int) -> None:
        """Let the next iteration be of this epoch. One that a loaded state stands in goes on where it is."""
        if self._next.epoch != epoch:
            self._next = State.of(self._order, epoch, 0, self._samples.fingerprint)

    def state_dict(self) -> dict[str, object]:
        """Where the loader stands, as a small JSON object: batches handed out count, those read ahead do not.

        It is the same on every rank, and loads at another thread count, memory, batch size or world size.
        """
        return dict(self._state().to_json())

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        """Go on from a state: the next `iter()` gives the rest of its epoch, exactly once."""
        found = State.from_json(state)
        order = found.resume(self._order, self._samples.fingerprint)
        self._abandon()
        self._order = order
        self._cache = None
        self._next = found.after(found.delivered)

    def stats(self) -> dict[str, Any]:
        """Where the time and the bytes went so far, over all epochs."""
        with explained():
            native = self._pipeline.stats()
        return stats_of(native, self._progress, self._log, self._budget)

    def close(self) -> None:
        """Stop the threads and wait for what each of them is at. Batches handed out stay valid."""
        self._abandon()
        self._pipeline.close()

    def _start(self) -> Delivery:
        self._abandon()
        start = self._next
        with explained():
            traffic = self._traffic(start)
            part = EpochPart(self._order, start.epoch, self._batches(start.delivered), traffic)
            self._delivery = Delivery(
                self._pipeline, self._samples, part, self._budget.depth, self._log, self._progress
            )
        self._delivered = start.delivered
        # What comes after a break is the next epoch, unless a state is loaded.
        self._next = start.after(start.num_samples)
        return self._delivery

    def _traffic(self, start: State) -> Traffic | None:
        """What the cache does in the epoch that starts; None without a cache of our own."""
        if self._budget.cache_bytes == 0:
            return None
        if self._cache is None:
            share = Share(self._order, self.batch_size, self.rank, self.world_size, self.drop_last)
            self._cache = open_cache(self._policy.cache, share, self._samples.sizes, self._budget.cache_bytes)
        traffic = self._cache.epoch(start.epoch, start.delivered)
        if traffic.resident_bytes[0] == 0:
            self._pipeline.clear_cache()
        return traffic

    def _deliver(self, delivery: Delivery) -> Iterator[tuple[BatchDict, int]]:
        """Finished batches, each with how many samples of the epoch are out once it is."""
        while delivery is self._delivery:
            with explained():
                batch = next(delivery, None)
            if batch is None:
                return
            yield self._finish(batch), delivery.delivered

    def _ahead(self, batches: Iterator[tuple[BatchDict, int]]) -> Iterator[tuple[BatchDict, int]]:
        """A place for adapters that take batches before their turn."""
        return batches

    def _finish(self, batch: BatchDict) -> BatchDict:
        """The last step of a batch, on the consumer's thread."""
        if self._rest is not None:
            batch["image"] = stack(self._rest(list(batch["image"])))
        return batch

    def _state(self) -> State:
        if self._delivery is None:
            return self._next
        state = State.of(self._order, self._delivery.epoch, 0, self._samples.fingerprint)
        left = self._delivery.batches
        is_over = self._delivered >= left.edge(left.num_batches)
        return state.after(state.num_samples if is_over else self._delivered)

    def _abandon(self) -> None:
        if self._delivery is not None:
            self._delivery.cancel()
            self._delivery = None
            # An epoch that was left is not what the cache planned: it begins anew.
            self._cache = None

    def _batches(self, start: int) -> Batches:
        return Batches(
            self._order.num_samples, self.batch_size, self.rank, self.world_size, self.drop_last, start=start
        )

    def _share_out(self, memory: int | str | None, options: _native.PipelineOptions) -> Budget:
        given = machine_memory().available_bytes // 2 if memory is None else parse_bytes(memory)
        demand = Demand(
            self.batch_size,
            options.num_threads,
            self._sample_bytes(),
            self._samples.largest_read_bytes,
            self._samples.largest_pixel_bytes,
        )
        given //= _local_world_size()
        budget = plan_budget(demand, given)
        if self._policy.cache in ("rolling", "pinned"):
            budget = with_cache(budget, given, float(self._samples.sizes.mean()), self.batch_size)
            options.cache_bytes = given - budget.working_bytes if budget.cache_bytes else 0
        options.read_bytes = budget.read_bytes
        options.scratch_bytes = budget.scratch_bytes
        options.idle_bytes = budget.idle_bytes
        return budget

    def _sample_bytes(self) -> int | None:
        """What a sample takes in a batch, at most; None if only decoding will tell."""
        program = self._chain.program()
        if program.fixed_size is None or self._policy.channels == "unchanged":
            return self._samples.largest_pixel_bytes
        height, width = program.fixed_size
        channels = 3 if self._policy.channels == "RGB" else 1
        item_bytes = np.dtype(program.output_type or np.uint16).itemsize
        masks = 2 * (len(self._samples.image_fields) - 1)
        return height * width * (channels * item_bytes + masks)

    def _checked_fields(self, names: Sequence[str] | None) -> tuple[str, ...] | None:
        if names is None:
            return None
        known = [*self._samples.image_fields, *self._samples.scalars, "id"]
        for name in names:
            if name not in known and not (name == "valid" and self._log.policy.on_error == "replace"):
                raise ArgumentError(
                    f"batches have no {name!r}", where="as_tuple", fix=f"choose among {', '.join(known)}", code=100
                )
        return tuple(names)


class Sampler:
    """What trainers look for on a loader: its `set_epoch` is the loader's."""

    def __init__(self, loader: Loader) -> None:
        self._loader = loader

    def set_epoch(self, epoch: int) -> None:
        """Let the next `iter()` start this epoch."""
        self._loader.set_epoch(epoch)

    def __len__(self) -> int:
        """Samples of this rank in an epoch."""
        batches = self._loader._batches(0)
        return len(batches.positions(0, batches.num_batches))


def _order_of(samples: Samples, selection: Ids | None, seed: int, shuffle: bool) -> Order:
    if selection is not None and len(selection) == 0:
        raise ArgumentError("no sample is left", where="subset", fix="choose at least one sample", code=100)
    return Order(samples.formats, seed=seed, selection=selection, lanes=samples.lanes or MOST_LANES, shuffle=shuffle)


def _local_world_size() -> int:
    """Ranks of this node, as torchrun and its like tell them."""
    text = os.environ.get("LOCAL_WORLD_SIZE", "")
    return int(text) if text.isdigit() and int(text) > 0 else 1
