"""What a caller sees of an order: ends, selections, refusals."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.errors import ArgumentError
from penstock.order import Batches, Order, Schedule, choose_lanes


def test_without_shuffling_samples_come_in_their_order() -> None:
    order = Order(np.zeros(100, np.uint8), selection=np.arange(0, 100, 7), shuffle=False)

    assert order.epoch(3).take(range(2, 5)).tolist() == [14, 21, 28]


def test_a_selection_is_ordered_alone() -> None:
    selection = np.arange(1, 3000, 3)
    order = Order(np.arange(3000) % 2, seed=1, selection=selection)

    assert sorted(order.epoch(0).take(range(len(selection)))) == selection.tolist()


def test_seeds_and_epochs_differ() -> None:
    formats = np.zeros(2000, np.uint8)
    orders = [Order(formats, seed=seed).epoch(epoch).take(range(2000)) for seed in (0, 1) for epoch in (0, 1)]

    for first in range(4):
        for second in range(first):
            assert (orders[first] == orders[second]).mean() < 0.03


def test_a_rare_sample_changes_its_place() -> None:
    formats = np.zeros(20_000, np.uint8)
    formats[123] = 1
    order = Order(formats, seed=4)

    places = {int(np.flatnonzero(order.epoch(epoch).take(range(20_000)) == 123)[0]) for epoch in range(8)}

    assert len(places) > 4


def test_an_empty_set_has_no_batches() -> None:
    order = Order(np.zeros(0, np.uint8))

    assert Schedule(order.epoch(0), Batches(0, 4)).batch_range().ids.size == 0
    assert Batches(0, 4, world_size=8).num_batches == 0


def test_the_remainder_is_shared_when_there_is_less_than_one_a_rank() -> None:
    shares = [Batches(19, batch_size=4, rank=rank, world_size=4) for rank in range(4)]

    assert [[len(share.positions(index)) for index in range(share.num_batches)] for share in shares] == [
        [3, 2],
        [3, 2],
        [3, 2],
        [3, 1],
    ]


def test_dropping_says_how_many() -> None:
    assert Batches(1000, batch_size=64, world_size=3, drop_last=True).num_dropped == 1000 - 5 * 192


def test_too_few_samples_for_the_ranks_are_refused() -> None:
    with pytest.raises(ArgumentError, match="3 samples remain for 4 ranks"):
        Batches(3, batch_size=1, world_size=4)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Order(np.zeros(5, np.uint8), seed=-1),
        lambda: Order(np.zeros(5, np.uint8), lanes=0),
        lambda: Order(np.zeros(5, np.uint8), selection=np.array([1, 1])),
        lambda: Order(np.zeros(5, np.uint8), selection=np.array([3, 5])),
        lambda: Order(np.zeros(5, np.uint8)).epoch(-1),
        lambda: Order(np.zeros(5, np.uint8)).epoch(0).take(range(3, 6)),
        lambda: Batches(5, batch_size=0),
        lambda: Batches(5, batch_size=1, rank=1),
        lambda: Batches(5, batch_size=1, start=6),
        lambda: Batches(5, batch_size=1).edge(6),
    ],
)
def test_wrong_arguments_are_refused_with_a_way_out(wrong: object) -> None:
    with pytest.raises(ArgumentError) as error:
        wrong()  # type: ignore[operator]
    assert error.value.fix


def test_a_recorded_number_of_lanes_is_kept_where_the_set_is_large_enough() -> None:
    assert [choose_lanes(10**6, most) for most in (960, 100, 1)] == [960, 100, 1]
    assert choose_lanes(500, 100) == 4


def test_a_batch_costs_its_own_lanes_and_not_the_epoch() -> None:
    epoch = Order(np.zeros(200_000, np.uint8)).epoch(5)

    Schedule(epoch, Batches(200_000, 64)).ids_of(2_000)

    assert epoch.num_lanes_computed == 64
