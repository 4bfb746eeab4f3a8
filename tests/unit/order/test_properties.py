"""What every order promises, over generated cases."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from penstock.order import Batches, Schedule, State
from tests.unit.order.cases import Case, cases, property_of_order


@property_of_order
@given(case=cases(), epoch=st.integers(0, 3), drop_last=st.booleans())
def test_every_sample_comes_exactly_once(case: Case, epoch: int, drop_last: bool) -> None:
    schedules = case.schedules(epoch, drop_last=drop_last)

    delivered = np.concatenate([schedule.batch_range().ids for schedule in schedules])

    dropped = schedules[0].batches.num_dropped
    assert len(np.unique(delivered)) == len(delivered) == case.num_samples - dropped
    assert dropped < case.batch_size * case.world_size if drop_last else dropped == 0


@property_of_order
@given(case=cases(), drop_last=st.booleans())
def test_ranks_get_equal_batches_and_none_is_empty(case: Case, drop_last: bool) -> None:
    schedules = case.schedules(0, drop_last=drop_last)

    sizes = np.array(
        [np.diff(schedule.batch_range().starts) for schedule in schedules]
    )  # as many batches on every rank

    assert (sizes > 0).all()
    assert (np.ptp(sizes, axis=0) <= 1).all()
    assert sizes.max(initial=0) <= schedules[0].batches.largest <= max(case.batch_size, 2)
    assert np.ptp(sizes.sum(axis=1)) <= 1


@property_of_order
@given(case=cases(), split=st.sampled_from([2, 3, 4, 8]))
def test_global_batches_are_the_same_for_every_world_size(case: Case, split: int) -> None:
    whole = Schedule(case.order().epoch(1), Batches(case.num_samples, case.batch_size * split, drop_last=True))
    shares = [
        Schedule(case.order().epoch(1), Batches(case.num_samples, case.batch_size, rank, split, drop_last=True))
        for rank in range(split)
    ]

    for index in range(whole.num_batches):
        together = np.concatenate([share.ids_of(index) for share in shares])
        assert sorted(together) == sorted(whole.ids_of(index))


@property_of_order
@given(case=cases(), epoch=st.integers(0, 2))
def test_a_batch_is_the_same_alone_and_in_a_stretch(case: Case, epoch: int) -> None:
    schedule = case.schedules(epoch)[-1]
    batch_range = schedule.batch_range()

    fresh = case.schedules(epoch)[-1]
    for index in range(0, schedule.num_batches, 5):
        assert (fresh.ids_of(index) == batch_range.ids[batch_range.starts[index] : batch_range.starts[index + 1]]).all()


@property_of_order
@given(case=cases(), epoch=st.integers(1, 3))
def test_a_sample_keeps_its_rank_where_ranks_divide_lanes(case: Case, epoch: int) -> None:
    order = case.order()
    first, later = (order.epoch(number).take(range(case.num_samples)) for number in (0, epoch))

    assert (np.argsort(first) % order.lanes == np.argsort(later) % order.lanes).all()


@property_of_order
@given(case=cases(), stop=st.floats(0, 1), batch_size=st.integers(1, 70), world_size=st.integers(1, 16))
def test_the_rest_comes_once_after_a_stop_at_any_other_shape(
    case: Case, stop: float, batch_size: int, world_size: int
) -> None:
    before = case.schedules(1)
    stopped = round(stop * before[0].num_batches)
    delivered = [schedule.batch_range(0, stopped).ids for schedule in before]
    state = State.from_json(State.of(case.order(), 1, before[0].batches.edge(stopped)).to_json())

    remaining = case.num_samples - state.delivered
    epoch_order = state.resume(case.order()).epoch(state.epoch)
    world_size = min(world_size, max(remaining, 1))
    rest = [
        Schedule(epoch_order, Batches(case.num_samples, batch_size, rank, world_size, start=state.delivered))
        for rank in range(world_size)
    ]

    everything = np.concatenate([*delivered, *(schedule.batch_range().ids for schedule in rest)])
    assert sorted(everything) == list(range(case.num_samples))


@property_of_order
@given(case=cases(), stop=st.floats(0, 1))
def test_resumed_equals_straight(case: Case, stop: float) -> None:
    straight = case.schedules(2)
    stopped = round(stop * straight[0].num_batches)

    resumed = case.schedules(2, start=straight[0].batches.edge(stopped))

    for whole, rest in zip(straight, resumed, strict=True):
        assert rest.num_batches == whole.num_batches - stopped
        for index in range(rest.num_batches):
            assert (rest.ids_of(index) == whole.ids_of(stopped + index)).all()


@property_of_order
@given(case=cases(windows=False))
def test_each_batch_of_each_rank_has_the_mix_of_the_dataset(case: Case) -> None:
    shares = np.array(case.counts) / case.num_samples
    for schedule in case.schedules(1, drop_last=True):
        formats = case.formats[schedule.batch_range().ids].reshape(-1, case.batch_size)
        counts = np.stack([(formats == number).sum(axis=1) for number in range(len(case.counts))], axis=1)
        assert np.abs(counts - shares * case.batch_size).max(initial=0) < 8
