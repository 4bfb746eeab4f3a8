"""`Loader`: from a folder or dataset to batches of NumPy arrays. It executes a `LoaderPlan`."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from inspect import Parameter
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from penstock.errors import PenstockError
from penstock.functions.sample import Drawing
from penstock.index import SampleIndex
from penstock.load.batch_sink import BatchSink, Delivered
from penstock.load.delivery import Delivery
from penstock.load.epoch_runner import EpochRunner
from penstock.load.fidelity_schedule import as_fidelity
from penstock.load.loader_keywords import signature_with_keywords
from penstock.load.loader_options import check_count, options_of
from penstock.load.loader_plan import LoaderPlan, make_plan, open_source, plan_loader
from penstock.load.loader_stats import LoaderStats, plan_stats, stats_of
from penstock.load.plan_measuring import measured
from penstock.load.process import FORKED, explained, refuse_worker
from penstock.load.python_part import open_stage, roles_of
from penstock.load.random_batches import chosen_samples, read_samples
from penstock.load.resources import log_choice
from penstock.load.windows import window_stats
from penstock.order import Order
from penstock.storage import AnyPlace

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from penstock.load.loader_keywords import LoaderKeywords

L = TypeVar("L", bound="Loader")


class Loader:
    """Load batches of a dataset or of a plain image folder, epoch after epoch.

    A batch is a dict of arrays: `image`, `id` (the sample's row in the index), `label` and other fields. Images of
    different sizes give a list of arrays: add a transform that resizes. Every `iter()` starts the next epoch. The order
    is a function of (seed, epoch, dataset, window): the same on any number of threads and ranks.

    Args:
        path: Path or place in a store, an opened index, or a plan made by `plan_loader` (then without keywords).
        batch_size: Samples of a batch, on each rank.
        seed: Seed of the order and of random transforms.
        memory: Memory of the node, in bytes or as text ("8GiB"), for everything the loader allocates. Default: half of
            what is free. 0: working memory only, no cache.
        transform: Transforms, or a torchvision Compose; what is not native runs in Python.
        split: Load this split only.
        subset: Load these samples only: a slice of the split, a mask, or ids.
        shuffle: False gives samples in ascending order.
        drop_last: Leave out the last, smaller batch.
        threads: Threads of the node that decode. 0: all usable cores.
        cache: What stays in memory between epochs: "rolling", "pinned", "liquid", "system" (the page cache) or "none".
            Default: "system" if the dataset fits half of the free memory, else "rolling".
        cache_format: How samples stay in memory: "encoded", "decoded" (measured), "pixels" or "weir:fast".
        cache_limit_bytes: Keep at most this many bytes of samples, even if `memory` leaves more.
        window: Read runs of neighbouring records: samples of a run, bytes as text, a `Window`, "auto" (measure the
            disk) or False. Default: what the dataset records.
        fidelity: Scans to decode of images stored with several fidelities, or a schedule [(epoch, scans), …].
        overlap_epochs: Read the next epoch's first batches during the last ones. Default: from the second epoch on.
        decode: "exact", or "approximate" where a codec can decode faster.
        channels: "RGB", "L" or "unchanged".
        layout: "NHWC" or "NCHW".
        verify: Check checksums at the "first" read of a sample, "always" or "never".
        max_pixels: Refuse images with more pixels.
        readers: Threads that wait for reads through a store, or of separate files. Default: as the store asks for.
        on_error: "raise", "skip" or "replace" samples that fail to load.
        max_errors: Raise after this many different samples failed.
        rank: Rank of this process.
        world_size: Number of ranks.
        fields: Fields to load; default all.
        as_tuple: Give batches as tuples of these fields.
        on_progress: Called while a folder is listed, with (what, done, total).
        python_workers: Processes that run transforms in Python. 0: run them in `next()`.
        sink: Finishes batches, for a framework of your own; see `BatchSink`.

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

    def __init__(
        self,
        path: AnyPlace | SampleIndex | LoaderPlan,
        *,
        sink: BatchSink | None = None,
        **keywords: Unpack[LoaderKeywords],
    ) -> None:
        self._sink = sink or BatchSink()
        refuse_worker()
        plan = measured(_planned(path, self._sink, keywords))
        chosen = plan.options.ordering
        self.batch_size, self.drop_last = chosen.batch_size, chosen.drop_last
        self.rank, self.world_size = chosen.rank, chosen.world_size
        self._measured: tuple[Order, dict[str, Any] | None] | None = None
        roles = roles_of(plan.samples, plan.options.output.as_tuple)
        self.python_stage = open_stage(plan, roles, self._sink.forms(plan.chain))
        stage, layout = self.python_stage, plan.options.output.layout
        self._sink.prepare(plan, stage)
        self.runner = EpochRunner(plan, layout if stage is None else stage.functions.layout)
        if stage is not None:
            stage.log = self.runner.log
        log_choice(plan.resources, plan.options, int(plan.samples.sizes[plan.order.selection].sum()))

    def __iter__(self) -> Iterator[Any]:
        """Start the next epoch, or resume the epoch of a loaded state. The choice is made at the first batch."""
        runner = self.runner
        delivery = runner.start()
        names = self.plan.options.output.as_tuple
        try:
            for batch, delivered in self._sink.ahead(self._finished(delivery)):
                if delivery is not runner.delivery:
                    runner.check_open()
                    return  # another iteration has begun
                runner.delivered = delivered
                yield batch if names is None else tuple(batch[name] for name in names)
        finally:
            runner.stop(delivery)
        runner.end(delivery)

    def __len__(self) -> int:
        """Return the number of batches of a whole epoch, the same on every rank."""
        return self.plan.num_batches

    def __enter__(self: L) -> L:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        plan = self.plan
        shown = f"{plan.order.num_samples} samples of {plan.samples.place}"
        return f"Loader({shown}, batch_size={self.batch_size}, epoch={self.epoch}, transform={plan.chain!r})"

    def __reduce__(self) -> tuple[object, ...]:
        raise PenstockError(
            "a Loader cannot be sent to another process: its threads live in this one",
            where="Loader",
            fix="make one Loader per rank, in the rank's own process; it needs no DataLoader and no workers around it",
            code=FORKED,
        )

    @property
    def plan(self) -> LoaderPlan:
        """Plan that this loader executes."""
        return self.runner.plan

    @property
    def epoch(self) -> int:
        """Current epoch, or the one that the next `iter()` starts."""
        return self.runner.epoch

    @property
    def dataset(self) -> SampleIndex:
        """Samples that are loaded, as `penstock.open` returns them, with the chosen split and subset selected.

        Its length is the number of those samples over all ranks; `dataset[i]` is a sample with its images decoded;
        `classes`, `class_to_idx` and `targets` are as in torchvision's datasets.
        """
        samples = self.plan.samples
        assert samples.index is not None
        return samples.index.selected(samples.selection)

    @property
    def sampler(self) -> Sampler:
        """Object on which trainers call `set_epoch`."""
        return Sampler(self)

    def set_epoch(self, epoch: int) -> None:
        """Start the next iteration at this epoch. An epoch resumed from a state continues where it is."""
        self.runner.set_epoch(epoch)

    @property
    def fidelity(self) -> int | None:
        """Scans that images are decoded from in the current epoch, or the next one; None means all."""
        return self.runner.fidelity

    def set_fidelity(self, fidelity: int | None) -> None:
        """Set the number of scans from the next epoch on, instead of `fidelity`. For tuners."""
        self.runner.set_fidelity(fidelity)

    def sample_batches(self, batches: int, fidelity: int | None = None) -> Iterator[Any]:
        """Load some batches of random samples of this rank, outside any epoch; the same ones at every fidelity.

        Samples and random transforms depend only on the seed. Epochs are not affected.
        """
        check_count("batches", batches, 1)
        samples, order = self.plan.samples, self.plan.order
        wanted = as_fidelity(fidelity, samples).at(0)
        ids = chosen_samples(order.selection, batches * self.batch_size, order.seed, self.rank, self.world_size)
        drawing = Drawing(order.seed, 0)
        with explained():
            found = read_samples(self.runner.pipeline, samples, ids, self.batch_size, order.seed, wanted)
            decoded: Iterator[Delivered] = ((self._sink.decoded(batch, drawing), 0) for batch in found)
            if self.python_stage is not None:
                decoded = self.python_stage.run(decoded, drawing)
            for batch, _ in self._sink.ahead((self._sink.finish(batch, drawing), number) for batch, number in decoded):
                yield batch

    def state_dict(self) -> dict[str, object]:
        """Return the state as a small JSON object: delivered batches count, those read ahead do not.

        It is the same on every rank, and loads with another thread count, memory, batch size or world size.
        """
        return dict(self.runner.state().to_json())

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        """Resume from a state: the next `iter()` delivers the rest of its epoch, exactly once."""
        self.runner.load_state(state)

    def stats(self) -> LoaderStats:
        """Return statistics of time and bytes over all epochs."""
        runner, stage, plan = self.runner, self.python_stage, self.plan
        native = runner.native_stats()
        python = None if stage is None else stage.as_stats()
        found = stats_of(native, runner.progress, runner.log, plan.memory, python) | plan_stats(plan, native)
        found |= {"window": self._window_stats(), "reading": runner.reading, "fidelity": self.fidelity}
        return LoaderStats(found | {"discarded_bytes": runner.ahead.discarded_bytes})

    def close(self) -> None:
        """Stop the threads, and wait for the work that each is doing. Delivered batches stay valid.

        Any thread may close a loader; a thread that iterates over it gets a PenstockError.
        """
        self.runner.is_closed = True
        self.runner.leave()
        if self.python_stage is not None:
            self.python_stage.close()
        self.runner.close()

    def look(self, batches: int, fidelity: int | None = None) -> Iterator[Any]:
        """Call `sample_batches`, the name of this method now."""
        warnings.warn("look() is called sample_batches() now", DeprecationWarning, stacklevel=2)
        return self.sample_batches(batches, fidelity)

    def memory_for(self, cache_bytes: int) -> int:
        """Call `plan.memory_for`, where this is asked now."""
        warnings.warn("ask plan_loader(…).memory_for(), which needs no loader", DeprecationWarning, stacklevel=2)
        return self.plan.memory_for(cache_bytes)

    def keep_at_most(self, cache_bytes: int) -> None:
        """Limit the cache before the first epoch; `cache_limit_bytes` does it now."""
        warnings.warn("use the keyword cache_limit_bytes", DeprecationWarning, stacklevel=2)
        check_count("cache_bytes", cache_bytes, 0)
        self.runner.limit_cache(cache_bytes)

    def _finished(self, delivery: Delivery) -> Iterator[Delivered]:
        """Yield batches as they are delivered, each with the number of the epoch's samples delivered by then."""
        drawing = Drawing(self.plan.order.seed, delivery.epoch)
        batches = self._deliver(delivery, drawing)
        if self.python_stage is not None:
            batches = self.python_stage.run(batches, drawing, delivery)
        for batch, delivered in batches:
            yield self._sink.finish(batch, drawing), delivered

    def _deliver(self, delivery: Delivery, drawing: Drawing) -> Iterator[Delivered]:
        """Yield batches of the native part."""
        runner = self.runner
        while delivery is runner.delivery:
            with explained():
                batch = runner.take(delivery)
            if batch is None:
                break
            runner.look_at_reads()
            yield self._sink.decoded(batch, drawing), delivery.delivered
        runner.check_open()

    def _window_stats(self) -> dict[str, Any] | None:
        """Measure the shuffle quality once per order, because it takes as long as sorting an epoch."""
        order = self.plan.order
        if self._measured is None or self._measured[0] is not order:
            self._measured = order, window_stats(order, self.batch_size * self.world_size)
        return self._measured[1]


Loader.__init__.__signature__ = signature_with_keywords(  # type: ignore[attr-defined]  # for help() and editors
    "path", Parameter("sink", Parameter.KEYWORD_ONLY, default=None)
)


class Sampler:
    """Stand-in for the sampler that trainers look for on a loader; its `set_epoch` is the loader's."""

    def __init__(self, loader: Loader) -> None:
        self._loader = loader

    def set_epoch(self, epoch: int) -> None:
        """Start the next `iter()` at this epoch."""
        self._loader.set_epoch(epoch)

    def __len__(self) -> int:
        """Return the number of samples of this rank in an epoch."""
        batches = self._loader.runner.batches()
        return len(batches.positions(0, batches.num_batches))


def _planned(source: AnyPlace | SampleIndex | LoaderPlan, sink: BatchSink, keywords: LoaderKeywords) -> LoaderPlan:
    """Return the plan of a loader with this sink."""
    if isinstance(source, LoaderPlan):
        plan = plan_loader(source, **keywords)
        wanted = sink.options(plan.options)
        return plan if wanted == plan.options else make_plan(plan.samples, wanted)
    options = sink.options(options_of(keywords))
    return make_plan(open_source(source, options), options)
