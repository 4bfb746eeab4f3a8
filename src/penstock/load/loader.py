"""`Loader`: from a folder or dataset to batches of NumPy arrays."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from types import TracebackType
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from penstock import _native
from penstock.codecs.contract import DEFAULT_MAX_PIXELS
from penstock.errors import ArgumentError, PenstockError
from penstock.functions.forms import Forms
from penstock.functions.sample import Drawing
from penstock.index import Ids, SampleIndex, Subset
from penstock.load.budget import Budget, CacheRequest, MemoryRequest, depth_for, memory_for_cache, plan_budget
from penstock.load.cache_layout import CacheLayout, check_cache_format, plan_cache_layout
from penstock.load.delivery import BatchDict, Delivery, EpochPart, Progress
from penstock.load.disk_probe import SlowDiskWatch
from penstock.load.failures import FailureLog
from penstock.load.fidelity_schedule import FidelityLike, as_fidelity
from penstock.load.format_trial import Bench
from penstock.load.header_probe import SizeEstimate, probe_headers
from penstock.load.liquid import check_liquid, open_liquid, order_of, passing_bytes, refuse_with_liquid
from penstock.load.loader_options import (
    LAYOUTS,
    OWN_CACHES,
    ErrorPolicy,
    ReadPolicy,
    check_count,
    take_foreign_keywords,
)
from penstock.load.process import CANCELLED, FORKED, explained, refuse_worker
from penstock.load.python_part import forms_of, open_stage, roles_of
from penstock.load.random_batches import chosen_samples, look_at
from penstock.load.resources import choose_resources, local_world_size
from penstock.load.samples import Samples
from penstock.load.source import open_samples
from penstock.load.stats import stats_of
from penstock.load.windows import WindowLike, as_window, open_bytes, reading_of, window_stats
from penstock.machine import memory as machine_memory
from penstock.order import MOST_LANES, WINDOW_LANES, Batches, LiquidOrder, Order, RankSchedule, State, Window
from penstock.order.cache_formats import CacheRoom
from penstock.order.caches import Cache, EpochCachePlan, LiquidCache, open_cache
from penstock.transforms import split as split_transforms
from penstock.transforms.apply import Transforms
from penstock.types import OnProgress, no_progress

LARGEST_FILE_SHARE = 4  # of the memory: one part in so many is the most that a file may take
L = TypeVar("L", bound="Loader")


class Loader:
    """Batches of a dataset or of a plain image folder, epoch after epoch.

    A batch is a dict of arrays: `image`, `id` (the sample's row in the index), `label` and what else there is. Images
    of different sizes give a list of arrays: add a transform that resizes. Every `iter()` starts the next epoch. The
    order is a function of (seed, epoch, dataset, window): the same on any number of threads and ranks. Threads and
    memory are the node's, shared by its ranks; what is not given is chosen, and logged once (logger "penstock").

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

    _undecoded = _native.Undecoded.NONE
    """Which images batches hold as they are stored: none, those that an adapter decodes on a device, or all."""

    def __init__(
        self,
        path: str | os.PathLike[str] | SampleIndex,
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
        cache: str | None = None,
        cached: str = "encoded",
        window: WindowLike = None,
        fidelity: FidelityLike = None,
        decode: str = "exact",
        channels: str = "RGB",
        layout: str = "NHWC",
        verify: str = "first",
        max_pixels: int = DEFAULT_MAX_PIXELS,
        on_error: str = "raise",
        max_errors: int = 100,
        rank: int = 0,
        world_size: int = 1,
        fields: Sequence[str] | None = None,
        as_tuple: Sequence[str] | None = None,
        on_progress: OnProgress = no_progress,
        python_workers: int | None = None,
        **foreign: object,
    ) -> None:
        take_foreign_keywords(foreign)
        check_count("batch_size", batch_size, 1)
        check_count("threads", threads, 0)
        refuse_worker()
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.rank = rank
        self.world_size = world_size
        self._log = FailureLog(ErrorPolicy(on_error, max_errors))
        self._progress = Progress()
        self._delivery: Delivery | None = None
        self._delivered = 0
        self._is_closed = False
        self._cache: Cache | None = None
        self._liquid: LiquidOrder | None = None
        self._measured: tuple[Order, dict[str, Any] | None] | None = None
        self._seen: tuple[SizeEstimate | None] | None = None
        self._samples = open_samples(path, fields, on_progress)
        self._fidelity = as_fidelity(fidelity, self._samples)
        self._cached_fidelity: int | None = None
        self._held: npt.NDArray[np.int64] | None = None
        selection = self._samples.select(split, subset)
        self._samples = replace(self._samples, selection=selection)
        chosen, self._reading = as_window(window, self._samples, cache)
        self._seeking = SlowDiskWatch(self._samples, self._reading)
        self._order = _order_of(self._samples, selection, seed, shuffle, chosen)
        self._samples.refuse_unloadable()
        self._as_tuple = self._checked_fields(as_tuple)
        self._next = self._beginning(0)
        self._batches(0)  # refuses ranks that would get no sample
        self._chain = split_transforms(transform)
        dataset_bytes = int(self._samples.sizes[self._order.selection].sum())
        keeps_decoded = cached != "encoded"
        self._resources = choose_resources(memory, threads, cache, dataset_bytes, keeps_decoded=keeps_decoded)
        self._policy = ReadPolicy(self._resources.cache, verify, decode, channels, layout, max_pixels)
        self._stage = open_stage(
            self._chain,
            roles_of(self._samples, self._as_tuple),
            self._forms(),
            layout,
            self._python_workers(python_workers),
            self._resources.threads,
            self._log,
        )
        if self._policy.cache == "liquid":
            refuse_with_liquid(self._order, drop_last=drop_last)
            self._order.places = self._samples.places
        self._kept = CacheLayout(cached)
        self._kept = self._plan_kept(cached)
        self._budget = self._share_out()
        self._pipeline = self._open_pipeline()

    def __iter__(self) -> Iterator[Any]:
        """Start the next epoch, or go on where a loaded state stands. Which one is decided with the first batch."""
        delivery = self._start()
        names = self._as_tuple
        try:
            for batch, delivered in self._ahead(self._finished(delivery)):
                if delivery is not self._delivery:
                    self._check_open()
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
        delivery = self._delivery
        return delivery.epoch if delivery is not None else self._next.epoch

    @property
    def dataset(self) -> SampleIndex:
        """The samples that are loaded, as `penstock.open` gives them, with the chosen split and subset selected.

        Its length is the number of those samples over all ranks; `dataset[i]` is a sample with its images decoded;
        `classes`, `class_to_idx` and `targets` are as in torchvision's datasets.
        """
        assert self._samples.index is not None
        return self._samples.index.selected(self._samples.selection)

    @property
    def sampler(self) -> Sampler:
        """What trainers call `set_epoch` on."""
        return Sampler(self)

    def set_epoch(self, epoch: int) -> None:
        """Let the next iteration be of this epoch. One that a loaded state stands in goes on where it is."""
        if self._next.epoch != epoch:
            self._next = replace(self._beginning(epoch), liquid=None)

    @property
    def fidelity(self) -> int | None:
        """Scans that images are decoded from in the epoch under way, or the next one; None is all they have."""
        delivery = self._delivery
        return delivery.fidelity if delivery is not None else self._fidelity.at(self._next.epoch)

    def set_fidelity(self, fidelity: int | None) -> None:
        """Let images have so many scans from the next epoch on, whatever `fidelity` planned: what a tuner calls."""
        self._fidelity.set(self._next.epoch, as_fidelity(fidelity, self._samples).at(0))
        self._next = replace(self._next, fidelity=self._fidelity.at(self._next.epoch))

    def look(self, batches: int, fidelity: int | None = None) -> Iterator[Any]:
        """Some batches of random samples of this rank, outside of any epoch; the same ones at every fidelity.

        Samples and the draws of transforms depend on the seed alone. Nothing that an epoch does changes by it.
        """
        check_count("batches", batches, 1)
        wanted = as_fidelity(fidelity, self._samples).at(0)
        order = self._order
        ids = chosen_samples(order.selection, batches * self.batch_size, order.seed, self.rank, self.world_size)
        with explained():
            found = look_at(self._pipeline, self._samples, ids, self.batch_size, order.seed, wanted)
            decoded: Iterator[tuple[BatchDict, int]] = ((self._decoded(batch, 0), 0) for batch in found)
            if self._stage is not None:
                decoded = self._stage.run(decoded, Drawing(order.seed, 0))
            for batch, _ in self._ahead((self._finish(batch), number) for batch, number in decoded):
                yield batch

    def state_dict(self) -> dict[str, object]:
        """Where the loader stands, as a small JSON object: batches handed out count, those read ahead do not.

        It is the same on every rank, and loads at another thread count, memory, batch size or world size.
        """
        return dict(self._state().to_json())

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        """Go on from a state: the next `iter()` gives the rest of its epoch, exactly once."""
        found = State.from_json(state)
        check_liquid(found, is_liquid=self._policy.cache == "liquid")
        order = found.resume(self._order, self._samples.fingerprint)
        order.places = self._samples.places if order.window is not None or found.liquid is not None else None
        order.blocks = None if self._samples.blocks is None else self._samples.blocks.of_sample
        self._abandon()
        another_window = order.window != self._order.window
        self._order = order
        self._cache = None
        self._next = found.after(found.delivered)
        if self._samples.blocks is not None:
            self._fidelity.resume(self._next.epoch, self._next.fidelity)
        if another_window:
            self._reading.update(reading_of(order.window, "state"))
            self._pipeline.close()
            self._budget = self._share_out()
            self._pipeline = self._open_pipeline()

    def stats(self) -> dict[str, Any]:
        """Where the time and the bytes went so far, over all epochs."""
        with explained():
            native = self._pipeline.stats()
        python = None if self._stage is None else self._stage.as_stats()
        found = stats_of(native, self._progress, self._log, self._budget, python)
        found["window"] = self._window_stats()
        found["reading"] = self._reading
        found["fidelity"] = self.fidelity
        found["cached"] = self._kept.as_stats(native)
        found["resources"] = asdict(self._resources)
        return found

    def memory_for(self, cache_bytes: int) -> int:
        """The `memory` to give, so that a loader like this one has so many bytes for samples that stay in memory.

        What it works with and what batches under way pass through memory come on top, as the loader divides it, for
        all ranks of this node. Of a small dataset it may leave more: memory that lets batches pass holds all of it.
        """
        check_count("cache_bytes", cache_bytes, 0)
        demand = self._demand()
        if demand.cache is None:
            raise ArgumentError(
                f'cache="{self._policy.cache}" keeps no samples',
                where="cache",
                fix=f"choose among {', '.join(OWN_CACHES)}",
                code=100,
            )
        return memory_for_cache(demand, cache_bytes) * local_world_size()

    def keep_at_most(self, cache_bytes: int) -> None:
        """Let no more than so many bytes stay in memory, however many there are: to compare caches of one size.

        To be called before the first epoch.
        """
        check_count("cache_bytes", cache_bytes, 0)
        if self._cache is not None:
            fix = "call it before the first iter()"
            raise ArgumentError("an epoch has planned its cache", where="keep_at_most", fix=fix, code=100)
        self._budget = replace(self._budget, cache_bytes=min(self._budget.cache_bytes, cache_bytes))

    def close(self) -> None:
        """Stop the threads and wait for what each of them is at. Batches handed out stay valid.

        Any thread may close a loader; one that iterates over it gets a PenstockError.
        """
        self._is_closed = True
        self._leave()
        if self._stage is not None:
            self._stage.close()
        self._pipeline.close()

    def _start(self) -> Delivery:
        self._abandon()
        start = self._next
        fidelity = self._fidelity.at(start.epoch)
        with explained():
            cache_plan = self._cache_plan(start, fidelity)
            if isinstance(self._cache, LiquidCache):
                self._liquid = order_of(self._cache, self._rank_schedule())
            part = EpochPart(
                self._order,
                start.epoch,
                self._batches(start.delivered),
                cache_plan,
                program=self._chain.program(),
                fidelity=fidelity,
                draws_anew=isinstance(self._cache, LiquidCache),
            )
            delivery = Delivery(self._pipeline, self._samples, part, self._budget.depth, self._log, self._progress)
            self._delivery = delivery
        self._delivered = start.delivered
        # What comes after a break is the next epoch, unless a state is loaded.
        self._next = self._beginning(start.epoch + 1)
        return delivery

    def _beginning(self, epoch: int) -> State:
        """Before the first sample of an epoch."""
        state = State.of(self._order, epoch, 0, self._samples.fingerprint, self._fidelity.at(epoch))
        return replace(state, liquid=self._liquid)

    def _cache_plan(self, start: State, fidelity: int | None) -> EpochCachePlan | None:
        """What the cache does in the epoch that starts; None without a cache of our own."""
        is_liquid = self._policy.cache == "liquid"
        if self._budget.cache_bytes == 0 and not self._order.reads_runs and not is_liquid:
            return None
        if is_liquid and self._cache is None:
            sizes = self._samples.sizes_at(self._fidelity.most())
            self._cache = open_liquid(start, self._rank_schedule(), sizes, self._budget.cache_bytes)
        elif self._cache is None or (fidelity != self._cached_fidelity and not is_liquid):
            self._cache = self._cache_at(fidelity)
            self._cached_fidelity = fidelity
        cache_plan = self._cache.epoch(start.epoch, start.delivered)
        if cache_plan.resident_bytes[0] == 0:
            self._pipeline.clear_cache()
        elif self._samples.blocks is not None:
            self._pipeline.retain_cache(cache_plan.ids[cache_plan.hits].astype(np.uint64))
        return cache_plan

    def _cache_at(self, fidelity: int | None) -> Cache:
        """A cache for samples of this fidelity. What is in memory stays: raising it reads only what is missing."""
        read_sizes = self._samples.sizes_at(fidelity)
        sizes = read_sizes if self._kept.sizes is None else self._kept.sizes
        resident = None if self._cache is None else self._cache.resident
        if resident is not None and self._held is not None:
            sizes = np.where(resident, np.maximum(sizes, self._held), sizes)
        self._held = sizes
        cache = open_cache(self._policy.cache, self._rank_schedule(), sizes, self._budget.cache_bytes, read_sizes)
        if resident is not None:
            cache.carry(resident)
        return cache

    def _finished(self, delivery: Delivery) -> Iterator[tuple[BatchDict, int]]:
        """Batches as they are handed out, each with how many samples of the epoch are out once it is."""
        batches = self._deliver(delivery)
        if self._stage is not None:
            batches = self._stage.run(batches, Drawing(self._order.seed, delivery.epoch), delivery)
        for batch, delivered in batches:
            yield self._finish(batch), delivered

    def _deliver(self, delivery: Delivery) -> Iterator[tuple[BatchDict, int]]:
        """Batches as the native part leaves them."""
        while delivery is self._delivery:
            with explained():
                batch = next(delivery, None)
            if batch is None:
                break
            if self._seeking.is_time(self._progress.wait_seconds, self._progress.run_seconds):
                delivery.settle()
                self._seeking.look(self._pipeline.stats())
            yield self._decoded(batch, delivery.epoch), delivery.delivered
        self._check_open()

    def _check_open(self) -> None:
        """An epoch that ends early is no epoch."""
        if self._is_closed:
            raise PenstockError("the loader is closed", where="loader", fix="make a new one", code=CANCELLED)

    def _ahead(self, batches: Iterator[tuple[BatchDict, int]]) -> Iterator[tuple[BatchDict, int]]:
        """A place for adapters that take batches before their turn."""
        return batches

    def _decoded(self, batch: BatchDict, epoch: int) -> BatchDict:
        """A place for adapters that decode by themselves, before functions in Python; drawn for `epoch`."""
        return batch

    def _finish(self, batch: BatchDict) -> BatchDict:
        """The last step of a batch, on the consumer's thread."""
        return batch

    def _forms(self) -> Forms:
        """What functions in Python get: arrays, and tensors where they are torchvision's."""
        return forms_of(self._chain.python_transforms)

    def _python_workers(self, asked: int | None) -> int | None:
        """A place for adapters whose samples cannot go to another process."""
        return asked

    @property
    def _pixel_layout(self) -> str:
        """Of pixels as the native part leaves them: as the first function needs them, or as batches have them."""
        return self._policy.layout if self._stage is None else self._stage.functions.layout

    def _state(self) -> State:
        delivery = self._delivery
        if delivery is None:
            return self._next
        left = delivery.batches
        if self._delivered >= left.edge(left.num_batches):
            return self._beginning(delivery.epoch + 1)
        fingerprint, fidelity = self._samples.fingerprint, delivery.fidelity
        state = State.of(self._order, delivery.epoch, self._delivered, fingerprint, fidelity)
        return replace(state, liquid=self._liquid)

    def _abandon(self) -> None:
        if self._leave():
            # An epoch that was left is not what the cache planned: it begins anew.
            self._cache = None

    def _leave(self) -> bool:
        """Give up the epoch under way, if there is one: another thread may be at its end."""
        delivery, self._delivery = self._delivery, None
        if delivery is not None:
            delivery.cancel()
        return delivery is not None

    def _batches(self, start: int) -> Batches:
        return Batches(
            self._order.num_samples, self.batch_size, self.rank, self.world_size, self.drop_last, start=start
        )

    def _rank_schedule(self) -> RankSchedule:
        return RankSchedule(self._order, self.batch_size, self.rank, self.world_size, self.drop_last)

    def _plan_kept(self, cached: str) -> CacheLayout:
        """What samples are while they stay in memory; measures, unless they stay as they are."""
        check_cache_format(
            cached, self._samples, self._policy, is_undecoded=self._undecoded is not _native.Undecoded.NONE
        )
        if cached == "encoded" or self._resources.memory_bytes == 0:
            return CacheLayout(cached)
        try:
            self._kept = CacheLayout.at_most(cached, self._samples)
            budget, may_encode = self._share_out(), True
        except ArgumentError:
            if cached != "decoded":
                raise
            self._kept = CacheLayout(cached)
            budget, may_encode = self._share_out(), False
        free_bytes = self._resources.memory_bytes - budget.working_bytes
        stays = self._policy.cache == "pinned"
        room = CacheRoom(self._resources.threads, free_bytes, self._num_passing(budget.depth), stays=stays)
        bench = Bench(self._chain.program(), self._policy, self.batch_size, budget, free_bytes)
        return plan_cache_layout(cached, self._samples, self._rank_schedule(), room, bench, may_encode=may_encode)

    def _num_passing(self, depth: int) -> int:
        """How many samples of the batches under way may come into memory before others leave it.

        What is pinned takes nobody's place; fresh samples of `liquid` have room of their own (`_open_bytes`); runs of a
        window come into memory whatever stays there.
        """
        is_steady = self._policy.cache in ("pinned", "liquid") and not self._order.reads_runs
        return 0 if is_steady else depth * self.batch_size

    def _share_out(self) -> Budget:
        return plan_budget(self._demand(), self._resources.memory_bytes)

    def _demand(self) -> MemoryRequest:
        samples = self._samples
        sizes = samples.sizes_at(self._fidelity.most())
        return MemoryRequest(
            self.batch_size,
            self._resources.threads,
            self._sample_bytes(),
            self._largest_read_bytes(),
            samples.largest_pixel_bytes,
            samples.working_bytes + self._between_bytes() + self._kept.scratch_bytes(samples),
            self._open_bytes(sizes),
            self._foreseen_bytes(),
            self._cache_wish(sizes) if self._policy.cache in OWN_CACHES else None,
        )

    def _largest_read_bytes(self) -> int:
        """Of one sample, or one block. Where bad samples may fail, no file takes all memory: a larger one is bad."""
        largest = self._samples.largest_read_bytes
        if self._samples.read_head is None or self._log.policy.on_error == "raise":
            return largest
        return min(largest, (self._resources.memory_bytes or machine_memory().available_bytes) // LARGEST_FILE_SHARE)

    def _foreseen_bytes(self) -> int | None:
        """What a thread takes to decode a file, by some headers: looked at once, where a cache wants what is left."""
        if self._samples.read_head is None or self._policy.cache not in OWN_CACHES:
            return None
        if self._seen is None:
            self._seen = (probe_headers(self._samples, self._order.selection),)
        seen = self._seen[0]
        passes = 2 if len(self._chain.native) > 1 else 1
        return None if seen is None else seen.pixel_bytes * passes + seen.working_bytes

    def _cache_wish(self, sizes: npt.NDArray[np.int64]) -> CacheRequest:
        kept = self._kept.sizes_of(self._samples, sizes)[self._order.selection]
        all_bytes = int(kept.sum())
        passing_bytes = min(all_bytes, int(self._num_passing(1) * float(kept.mean())))
        return CacheRequest(all_bytes, -(-all_bytes // self.world_size), passing_bytes)

    def _open_bytes(self, sizes: npt.NDArray[np.int64]) -> int:
        """Of encoded samples that come into memory before their batches do."""
        depth = depth_for(self.batch_size)
        if self._policy.cache == "liquid":
            return passing_bytes(sizes, depth * self.batch_size)
        return open_bytes(self._rank_schedule(), sizes, depth)

    def _open_pipeline(self) -> _native.Pipeline:
        budget, options = self._budget, self._policy.native()
        options.layout = LAYOUTS[self._pixel_layout]
        options.undecoded = self._undecoded
        options.num_threads = self._resources.threads
        options.read_bytes = budget.read_bytes
        options.scratch_bytes = budget.scratch_bytes
        options.idle_bytes = budget.idle_bytes
        # Batches under way keep samples before earlier ones have dropped theirs: the arena has that room as well.
        kept = self._resources.memory_bytes - budget.working_bytes if budget.cache_bytes else 0
        options.cache_bytes = kept + budget.open_bytes
        return _native.Pipeline(self._samples.table, self._chain.program(), options)

    def _window_stats(self) -> dict[str, Any] | None:
        """Measured once for an order: it takes as long as sorting an epoch."""
        if self._measured is None or self._measured[0] is not self._order:
            self._measured = self._order, window_stats(self._order, self.batch_size * self.world_size)
        return self._measured[1]

    def _sample_bytes(self) -> int | None:
        """What a sample takes in a batch, at most; None if only decoding will tell."""
        largest = int(self._samples.sizes.max())
        if self._undecoded is _native.Undecoded.ALL:
            return largest
        decoded = self._decoded_bytes()
        return max(decoded, largest) if self._undecoded is _native.Undecoded.FOR_DEVICE and decoded else decoded

    def _decoded_bytes(self) -> int | None:
        program = self._chain.program()
        if program.fixed_size is None or self._policy.channels == "unchanged":
            return self._samples.largest_pixel_bytes
        height, width = program.fixed_size
        channels = 3 if self._policy.channels == "RGB" else 1
        item_bytes = np.dtype(program.output_type or np.uint16).itemsize
        masks = 2 * (len(self._samples.image_fields) - 1)
        return height * width * (channels * item_bytes + masks)

    def _between_bytes(self) -> int:
        """What transforms hold between their passes, where there is more than one."""
        return (self._samples.largest_pixel_bytes or 0) if len(self._chain.native) > 1 else 0

    def _checked_fields(self, names: Sequence[str] | None) -> tuple[str, ...] | None:
        if names is None:
            return None
        known = [*self._samples.image_fields, *self._samples.scalars, *self._samples.lists, "id"]
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


def _order_of(samples: Samples, selection: Ids | None, seed: int, shuffle: bool, window: Window | None) -> Order:
    if selection is not None and len(selection) == 0:
        raise ArgumentError("no sample is left", where="subset", fix="choose at least one sample", code=100)
    lanes = samples.lanes or MOST_LANES
    if window is None:
        return Order(samples.formats, seed=seed, selection=selection, lanes=lanes, shuffle=shuffle)
    blocks = samples.blocks
    return Order(
        samples.formats,
        seed=seed,
        selection=selection,
        lanes=min(lanes, WINDOW_LANES if blocks is None else blocks.lanes()),
        window=window,
        shuffle=shuffle,
        places=samples.places,
        blocks=None if blocks is None else blocks.of_sample,
    )
