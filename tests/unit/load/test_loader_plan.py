"""A plan is what the loader does: asked without threads, printed, and true to the counters."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import penstock
from penstock import ArgumentError, BatchSink, Loader, LoaderStats, plan_loader
from penstock.functions.sample import Drawing
from penstock.load.loader_keywords import LoaderKeywords
from penstock.load.loader_options import keyword_defaults
from penstock.order.caches import CACHES, OWN_CACHES
from penstock.transforms import CenterCrop
from tests.unit.load.counted import make_dataset, run_epochs
from tests.unit.load.witness import OPENED, FolderWatch

COUNT = 200
CHAIN = [CenterCrop(8)]


@pytest.fixture(scope="module")
def datasets(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Path]:
    """Datasets of one and of three formats, and a plain folder as number 0."""
    made = {count: make_dataset(tmp_path_factory.mktemp("planned"), COUNT, count) for count in (1, 3)}
    return made | {0: made[1].parent / "images"}


def planned(path: Path, cache: str, part: float, **options: Any) -> penstock.LoaderPlan:  # noqa: ANN401
    """Plan a loader whose cache holds a part of its rank's samples."""
    plan = plan_loader(path, transform=CHAIN, threads=2, cache=cache, memory=0, **options)
    if cache not in OWN_CACHES:
        return plan
    return plan.with_cache_bytes(int(plan.samples.sizes.sum() * part / plan.options.ordering.world_size))


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    kind=st.sampled_from([0, 1, 3]),
    cache=st.sampled_from(["rolling", "pinned", "liquid", "none"]),
    part=st.sampled_from([0.0, 0.1, 0.35, 0.8, 1.0]),
    batch_size=st.sampled_from([1, 7, 16, 64, 250]),
    world_size=st.sampled_from([1, 1, 2, 3]),
    seed=st.integers(0, 2**32),
    subset=st.sampled_from([None, slice(0, 120), slice(3, 150, 2)]),
    shuffle=st.booleans(),
    overlap_epochs=st.sampled_from([None, True]),
)
def test_predicted_hits_and_bytes_are_the_loaders_counters(datasets: dict[int, Path], **case: Any) -> None:  # noqa: ANN401
    kind, cache, part, world_size = (case.pop(name) for name in ("kind", "cache", "part", "world_size"))
    if cache == "liquid":
        case["shuffle"] = True
    plan = planned(datasets[kind], cache, part, rank=case["seed"] % world_size, world_size=world_size, **case)

    predicted = plan.predict(epochs=3)
    with Loader(plan) as loader:
        found = run_epochs(loader, 3)

    assert [epoch.error for epoch in predicted] == [0.0] * 3
    assert [list(epoch.hits) for epoch in predicted] == [epoch.hits for epoch in found]
    assert [epoch.bytes_read for epoch in predicted] == [epoch.bytes_read for epoch in found]
    assert [epoch.num_samples for epoch in predicted] == [sum(map(len, epoch.ids)) for epoch in found]


@pytest.mark.parametrize("cache", ["rolling", "pinned", "none"])
def test_predictions_hold_where_runs_are_read(datasets: dict[int, Path], cache: str) -> None:
    plan = planned(datasets[1], cache, 0.4, batch_size=16, window=4)
    predicted = plan.predict(epochs=3)
    with Loader(plan) as loader:
        found = run_epochs(loader, 3)
    assert [list(epoch.hits) for epoch in predicted] == [epoch.hits for epoch in found]
    assert [epoch.bytes_read for epoch in predicted] == [epoch.bytes_read for epoch in found]


@pytest.mark.parametrize("cache_format", ["pixels", "weir:fast", "decoded"])
@pytest.mark.parametrize("cache", ["rolling", "pinned"])
def test_predictions_of_other_formats_lie_within_their_error(
    datasets: dict[int, Path], cache: str, cache_format: str
) -> None:
    plan = plan_loader(
        datasets[3], batch_size=16, transform=CHAIN, threads=2, cache=cache, cache_format=cache_format, memory="64MiB"
    )
    assert plan.unmeasured == ("cache_format",)
    sized = plan.with_cache_bytes(memory_of_half(plan))
    before = sized.predict(epochs=3)
    with Loader(sized) as loader:
        after = loader.plan.predict(epochs=3)
        found = run_epochs(loader, 3)
        assert loader.stats()["cache_limit_bytes"] == memory_of_half(plan)
    ratios = [sum(epoch.hits) / COUNT for epoch in found]
    assert loader.plan.unmeasured == ()
    for ratio, measured in zip(ratios, after, strict=True):
        assert measured.error is not None
        assert ratio == pytest.approx(measured.hit_ratio, abs=measured.error)
    if cache_format == "decoded":  # what it will choose is not known before
        assert before[0].error is None
    elif cache_format == "pixels":
        assert ratios[2] == pytest.approx(before[2].hit_ratio, abs=before[2].error)


def memory_of_half(plan: penstock.LoaderPlan) -> int:
    assert plan.cache_layout.sizes is not None
    return int(plan.cache_layout.sizes.sum()) // 2


def num_threads() -> int:
    return len(list(Path("/proc/self/task").iterdir()))


@pytest.mark.parametrize("kind", [0, 1])
def test_asking_a_plan_starts_no_thread_and_opens_only_the_headers_that_it_names(
    datasets: dict[int, Path], kind: int
) -> None:
    folder = datasets[0] if kind == 0 else datasets[1] / "shards"
    plan_loader(datasets[kind], cache="rolling", memory="512MiB")  # lists the folder
    watch, threads = FolderWatch(folder, OPENED), num_threads()
    try:
        plan = plan_loader(datasets[kind], cache="rolling", memory="512MiB")
        plan.predict(epochs=2)
        page = str(plan)
        opened = {name for name in watch.names() if name}
        assert num_threads() == threads
        with Loader(plan) as loader:
            next(iter(loader))
        assert watch.names(), "nothing is seen here"
    finally:
        watch.close()

    files = sorted(path.name for path in datasets[0].iterdir())
    assert opened == ({files[sample] for sample in plan.header_ids.tolist()} if kind == 0 else set())
    assert len(opened) == (64 if kind == 0 else 0)
    assert ("64 image headers read" in page) == (kind == 0)


def test_a_plan_prints_as_a_page(datasets: dict[int, Path]) -> None:
    page = str(planned(datasets[3], "rolling", 0.5, batch_size=16))
    for name in ("samples", "order", "batches", "cache", "predicted", "memory", "reading"):
        assert any(line.startswith(name) for line in page.splitlines()), page
    assert f"{COUNT} from" in page
    assert all(len(line) < 200 for line in page.splitlines())


def test_a_plan_is_frozen(datasets: dict[int, Path]) -> None:
    plan = planned(datasets[1], "rolling", 0.5)
    for value, name in (
        (plan, "memory"),
        (plan.order, "seed"),
        (plan.options.ordering, "seed"),
        (plan.memory, "depth"),
    ):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(value, name, 1)


def test_equal_keywords_make_the_same_loader_with_and_without_a_plan(datasets: dict[int, Path]) -> None:
    options: dict[str, Any] = {"batch_size": 16, "seed": 5, "cache": "rolling", "memory": "64MiB", "threads": 1}
    with Loader(datasets[1], **options) as direct, Loader(plan_loader(datasets[1], **options)) as by_plan:
        assert direct.plan.memory == by_plan.plan.memory
        assert [batch["id"].tolist() for batch in direct] == [batch["id"].tolist() for batch in by_plan]


def test_a_plan_takes_no_further_keywords(datasets: dict[int, Path]) -> None:
    with pytest.raises(ArgumentError, match="a plan has its options already"):
        Loader(planned(datasets[1], "rolling", 0.5), batch_size=3)


@pytest.mark.parametrize("part", [0.2, 0.5])
@pytest.mark.parametrize("cache", OWN_CACHES)
def test_a_cache_is_sized_without_a_loader(
    datasets: dict[int, Path], cache: str, part: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = int(plan_loader(datasets[1]).samples.sizes.sum() * part)
    with monkeypatch.context() as without:
        without.setattr("penstock._native.Pipeline", None)
        plan = plan_loader(datasets[1], batch_size=8, cache=cache, memory=0, transform=CHAIN).with_cache_bytes(wanted)
    assert plan.memory.cache_bytes == wanted
    with Loader(plan) as loader:
        assert loader.stats()["cache_limit_bytes"] == wanted


def test_every_keyword_is_typed_and_documented() -> None:
    keywords = set(keyword_defaults())
    assert set(LoaderKeywords.__annotations__) == keywords
    documented = {
        line.split(":")[0].strip() for line in (Loader.__doc__ or "").splitlines() if line.startswith(" " * 8)
    }
    assert keywords <= documented
    for shown in (Loader, plan_loader):
        assert keywords <= set(inspect.signature(shown).parameters)


def test_old_names_work_and_say_the_new_ones(datasets: dict[int, Path]) -> None:
    path = datasets[1]
    old: dict[str, Any] = {"cached": "pixels"}
    with pytest.warns(DeprecationWarning, match="cached is called cache_format now") as told:
        loader = Loader(path, cache="pinned", memory="64MiB", threads=1, **old)
    assert told[0].filename == __file__
    with loader:
        assert loader.plan.options.caching.cache_format == "pixels"
        with pytest.warns(DeprecationWarning, match="sample_batches"):
            assert len(next(iter(loader.look(1)))["id"]) == 1
        with pytest.warns(DeprecationWarning, match="plan_loader"):
            assert loader.memory_for(1000) > 1000
        with pytest.warns(DeprecationWarning, match="cache_limit_bytes"):
            loader.keep_at_most(5000)
        assert loader.stats()["cache_limit_bytes"] == 5000
    with pytest.raises(ArgumentError, match="same keyword"), pytest.warns(DeprecationWarning, match="cache_format"):
        Loader(path, cache_format="encoded", **old)


def test_stats_are_frozen_and_read_like_a_mapping(datasets: dict[int, Path]) -> None:
    with Loader(datasets[1], batch_size=16, threads=1) as loader:
        list(loader)
        stats = loader.stats()
    assert isinstance(stats, LoaderStats)
    assert stats.num_samples == stats["num_samples"] == stats.get("num_samples") == COUNT
    assert "bottleneck" in stats
    assert set(stats) == set(stats.keys())
    assert set(LoaderStats.__annotations__) <= set(stats)
    assert json.loads(json.dumps(stats))["num_batches"] == stats.num_batches
    assert pickle.loads(pickle.dumps(stats)) == copy.deepcopy(stats) == stats
    for change, arguments in (
        ("update", ({},)),
        ("pop", ("io",)),
        ("__setitem__", ("io", 1)),
        ("__setattr__", ("io", 1)),
    ):
        with pytest.raises(TypeError, match="cannot be changed"):
            getattr(stats, change)(*arguments)
    with pytest.raises(AttributeError, match="no 'speed'"):
        _ = stats.speed


class Halved(BatchSink):
    """Mix each image with the next one of its batch, as MixUp does, by numbers of (seed, epoch)."""

    def finish(self, batch: dict[str, Any], drawing: Drawing) -> dict[str, Any]:
        share = np.random.default_rng([drawing.seed, drawing.epoch, *batch["id"]]).uniform()
        image = batch["image"].astype(np.float32)
        return batch | {"image": share * image + (1 - share) * np.roll(image, 1, axis=0), "share": share}


def test_a_sink_transforms_whole_batches_by_seed_and_epoch(datasets: dict[int, Path]) -> None:
    def shares(seed: int) -> list[list[float]]:
        with Loader(datasets[1], batch_size=16, seed=seed, threads=1, transform=CHAIN, sink=Halved()) as loader:
            return [[batch["share"] for batch in loader] for _ in range(2)]

    first, second = shares(1)
    assert [first, second] == shares(1) != shares(2)
    assert first != second


@pytest.mark.parametrize("name", CACHES)
def test_a_policy_declares_what_a_loader_must_know(name: str) -> None:
    policy = CACHES[name]
    assert policy.keeps_samples == (name in OWN_CACHES)
    assert not (policy.buffered and policy.keeps_samples)
    assert policy.num_passing(64) in (0, 64)
    assert policy.num_passing(64) == 64 or policy.is_permanent or policy.owns_order
