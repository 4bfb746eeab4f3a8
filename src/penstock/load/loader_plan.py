"""`plan_loader`: decide order, cache, memory and reading of a loader before it exists. Starts no thread.

A plan is a frozen value. `Loader` executes one; `print(plan)` shows it; `plan.predict()` runs its caches without I/O.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from penstock.errors import ArgumentError
from penstock.index import Ids, SampleIndex
from penstock.load.budget import CacheRequest, MemoryRequest, memory_for_cache, plan_budget
from penstock.load.cache_layout import CacheLayout, check_cache_format
from penstock.load.cache_prediction import EpochPrediction, predict_epochs
from penstock.load.engine_table import EngineTable
from penstock.load.fidelity_schedule import as_fidelity
from penstock.load.header_probe import probe_headers, some_of
from penstock.load.loader_keywords import signature_with_keywords
from penstock.load.loader_options import LoaderOptions, check_count, options_of
from penstock.load.memory_needs import HeaderReads, PlanBasis, memory_request
from penstock.load.open_samples import open_samples
from penstock.load.plan_page import page_of
from penstock.load.plan_values import PlanValues
from penstock.load.resources import choose_resources, local_world_size
from penstock.load.windows import AUTO, FoundWindow, find_window, reading_of
from penstock.order import MOST_LANES, WINDOW_LANES, Order, Window
from penstock.order.cache_formats import ENCODED
from penstock.order.caches import OWN_CACHES, policy_of
from penstock.storage import AnyPlace
from penstock.transforms import split as split_transforms

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from penstock.load.loader_keywords import LoaderKeywords

MOST_EPOCHS = 10_000
GENEROUS = 1.25  # times what is estimated: samples that hardly compress take more than their pixels


@dataclass(frozen=True, repr=False)
class LoaderPlan(PlanValues):
    """Describe what a loader does: order, cache, memory and reading. Made by `plan_loader`; printable.

    >>> import pathlib, tempfile, penstock
    >>> import numpy as np
    >>> folder = tempfile.TemporaryDirectory()
    >>> for number in range(3):
    ...     data = penstock.encode(np.full((4, 5, 3), number, np.uint8), "png")
    ...     _ = pathlib.Path(folder.name, f"{number}.png").write_bytes(data)
    >>> plan = penstock.plan_loader(folder.name, batch_size=2, memory="256MiB", cache="rolling")
    >>> plan.num_batches, [epoch.num_hits for epoch in plan.predict(epochs=2)]
    (2, [0, 3])
    >>> folder.cleanup()
    """

    def __str__(self) -> str:
        return page_of(self)

    def __repr__(self) -> str:
        shown = f"{self.order.num_samples} samples of {self.samples.place}"
        return f"LoaderPlan({shown}, batch_size={self.options.ordering.batch_size}, {self.resources})"

    def predict(self, epochs: int = 2, start: int = 0) -> tuple[EpochPrediction, ...]:
        """Predict hits and bytes read of some epochs, by running the loader's caches without I/O.

        Equal to the loader's counters where samples stay in memory as they are stored (`cache_format="encoded"`);
        otherwise within the prediction's `error`. `start` is the first epoch; the cache is empty before it.
        """
        check_count("epochs", epochs, 1)
        return predict_epochs(self, range(start, start + min(epochs, MOST_EPOCHS)))

    def with_cache_bytes(self, cache_bytes: int) -> LoaderPlan:
        """Return the plan of a loader whose cache holds this many bytes: its `memory` follows from that."""
        return self._with_cache(memory=self.memory_for(cache_bytes), cache_limit_bytes=cache_bytes)

    def memory_for(self, cache_bytes: int) -> int:
        """Return the `memory` keyword that leaves the cache this many bytes, for all ranks of the node."""
        check_count("cache_bytes", cache_bytes, 0)
        if self.request.cache is None:
            raise ArgumentError(
                f'cache="{self.resources.cache}" keeps no samples',
                where="cache",
                fix=f"choose among {', '.join(OWN_CACHES)}",
                code=100,
            )
        requests = [self.request]
        if "cache_format" in self.unmeasured:  # what is chosen in the end may take more memory to make
            wanted = self.options.caching.cache_format
            requests.append(memory_request(self, CacheLayout.at_most(wanted, self.samples)))
            requests = [_generous(request) for request in requests]
        return max(memory_for_cache(request, cache_bytes) for request in requests) * local_world_size()

    def with_depth(self, depth: int) -> LoaderPlan:
        """Return the same plan with this many batches under way at most."""
        check_count("depth", depth, 1)
        return replace(self, memory=replace(self.memory, depth=depth))

    def with_order(self, order: Order, reason: str) -> LoaderPlan:
        """Return the plan of a loader that goes on in another order, such as that of a loaded state."""
        plan = replace(self, order=order)
        if order.window == self.order.window:
            return plan
        return replace(divided(plan, plan.cache_layout), reading=reading_of(order.window, reason))

    def _with_cache(self, **changes: Any) -> LoaderPlan:  # noqa: ANN401  # fields of CacheOptions
        options = replace(self.options, caching=replace(self.options.caching, **changes))
        layout = None if "cache_format" in self.unmeasured else self.cache_layout
        return make_plan(self.samples, options, window=FoundWindow(self.order.window, self.reading), layout=layout)


def plan_loader(source: AnyPlace | SampleIndex | LoaderPlan, **keywords: Unpack[LoaderKeywords]) -> LoaderPlan:
    """Plan a loader: order, cache, memory and reading, without starting it.

    Takes what `Loader` takes, and gives the plan that this loader would execute. It opens the index of `source` and,
    for a folder beside a cache, reads at most 64 image headers (`plan.header_ids`); no thread starts and no image is
    decoded. What a loader has to measure first (`window="auto"`, a `cache_format` other than "encoded") is estimated,
    and named in `plan.unmeasured`.

    Returns:
        A `LoaderPlan`: `print` it, ask it to `predict()` hits and reads, size its cache with `with_cache_bytes`, and
        pass it to `Loader`.

    """
    if isinstance(source, LoaderPlan):
        if keywords:
            raise ArgumentError(
                f"a plan has its options already, {next(iter(keywords))} among them",
                where=next(iter(keywords)),
                fix="give keywords to plan_loader when the plan is made",
                code=100,
            )
        return source
    options = options_of(keywords)
    return make_plan(open_source(source, options), options)


plan_loader.__signature__ = signature_with_keywords("source")  # type: ignore[attr-defined]  # for help()


def open_source(source: AnyPlace | SampleIndex, options: LoaderOptions) -> EngineTable:
    """Open the samples at a path, or those of an index, as a loader reads them."""
    return open_samples(source, options.output.fields, options.reading.on_progress)


def make_plan(
    samples: EngineTable,
    options: LoaderOptions,
    *,
    window: FoundWindow | None = None,
    layout: CacheLayout | None = None,
) -> LoaderPlan:
    """Make the plan; `window` and `layout` are what a loader has measured, if it has."""
    chosen = options.ordering
    as_fidelity(options.reading.fidelity, samples)  # refuses what is not stored
    samples = replace(samples, selection=samples.select(chosen.split, chosen.subset))
    is_measured = window is not None
    window = window or find_window(chosen.window, samples, options.caching.cache)
    order = order_of(samples, samples.selection, chosen.seed, shuffle=chosen.shuffle, window=window.window)
    samples.refuse_unloadable()
    check_fields(samples, options.output.as_tuple, may_replace=options.errors.on_error == "replace")
    resources = choose_resources(options, int(samples.sizes[order.selection].sum()))
    policy = policy_of(resources.cache)
    policy.refuse_options(order, drop_last=chosen.drop_last)
    if policy.owns_order:
        order = order.on_disk(samples.places, order.blocks)
    basis = PlanBasis(samples, options, split_transforms(options.output.transform), order, resources, None)
    basis.rank_schedule.schedule(0)  # refuses ranks that would get no sample
    if samples.read_head is not None and policy.keeps_samples:
        ids = some_of(samples, order.selection)
        basis = replace(basis, headers=HeaderReads(ids, probe_headers(samples, order.selection)))
    wanted = options.caching.cache_format
    check_cache_format(wanted, samples, options, resources.cache)
    unmeasured = ["window"] if chosen.window == AUTO and not is_measured and samples.records is not None else []
    if wanted != ENCODED and resources.memory_bytes != 0 and layout is None:
        unmeasured.append("cache_format")
    plan = LoaderPlan(**_members(basis), reading=window.reading, unmeasured=tuple(unmeasured))
    return divided(plan, layout if layout is not None else _assumed(plan))


def divided(plan: LoaderPlan, layout: CacheLayout) -> LoaderPlan:
    """Return the plan with its memory divided for a layout. Raises `ArgumentError` if memory is too small."""
    request = memory_request(plan, layout)
    memory = plan_budget(request, plan.resources.memory_bytes)
    limit = plan.options.caching.cache_limit_bytes
    if limit is not None:
        memory = replace(memory, cache_bytes=min(memory.cache_bytes, limit))
    return replace(plan, cache_layout=layout, request=request, memory=memory)


def _assumed(plan: LoaderPlan) -> CacheLayout:
    """Return the layout to plan with before anything is measured."""
    wanted = plan.options.caching.cache_format
    if "cache_format" not in plan.unmeasured:
        return CacheLayout(wanted)
    return CacheLayout.estimated(wanted, plan.samples)


def _generous(request: MemoryRequest) -> MemoryRequest:
    """Return the request with room for samples that turn out larger than estimated."""
    assert request.cache is not None, "there is one"
    cache = request.cache
    scaled = (int(GENEROUS * part) for part in (cache.all_bytes, cache.wanted_bytes, cache.passing_bytes))
    return replace(request, cache=CacheRequest(*scaled))


def _members(basis: PlanBasis) -> dict[str, Any]:
    return {member.name: getattr(basis, member.name) for member in fields(basis)}


def order_of(samples: EngineTable, selection: Ids | None, seed: int, *, shuffle: bool, window: Window | None) -> Order:
    """Return the order of the selected samples."""
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


def check_fields(samples: EngineTable, names: Sequence[str] | None, *, may_replace: bool) -> None:
    """Refuse fields in `as_tuple` that batches do not have."""
    known = [*samples.image_fields, *samples.scalars, *samples.lists, "id", *(["valid"] if may_replace else [])]
    for name in names or ():
        if name not in known:
            raise ArgumentError(
                f"batches have no {name!r}", where="as_tuple", fix=f"choose among {', '.join(known)}", code=100
            )
