"""The order equals a plain twin, written from its description with nothing but Python's integers."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.counter_rng import Purpose, words
from penstock.order.lanes import ANY_TURN, GOLDEN, WHOLE_TURNS
from tests.unit.order.cases import Case, cases, property_of_order

WORD = 2**64


def philox(counter: list[int], key: list[int]) -> list[int]:
    """Philox 4x64 with ten rounds (Salmon et al., SC 2011)."""
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in range(10):
        first, second = 0xD2E7470EE14C6C93 * c0, 0xCA5A826395121157 * c2
        c0, c1, c2, c3 = second // WORD ^ c1 ^ k0, second % WORD, first // WORD ^ c3 ^ k1, first % WORD
        k0, k1 = (k0 + 0x9E3779B97F4A7C15) % WORD, (k1 + 0xBB67AE8584CAA73B) % WORD
    return [c0, c1, c2, c3]


def plain_words(num: int, seed: int, purpose: Purpose, epoch: int = 0, item: int = 0) -> list[int]:
    """Blocks from counter 1 on; the seed and the purpose are the key."""
    blocks = [philox([1 + block, item, epoch, 0], [seed, int(purpose)]) for block in range(-(-num // 4))]
    return [word for block in blocks for word in block][:num]


def plain_order(keys: list[int], groups: list[int], num_groups: int) -> list[int]:
    """Indices sorted by group, then by what the group and the index leave of the key's bits, then by index."""
    index_bits = max(len(keys) - 1, 0).bit_length()
    group_bits = (num_groups - 1).bit_length()
    return sorted(range(len(keys)), key=lambda index: (groups[index], keys[index] >> group_bits >> index_bits, index))


def plain_epoch(formats: list[int], seed: int, epoch: int, num_lanes: int) -> list[int]:
    """Every sample of an epoch, lane by lane, put to its position."""
    numbers = sorted(set(formats))
    members = [[sample for sample, of in enumerate(formats) if of == number] for number in numbers]
    dealt = [
        (number, ids[index])
        for number, ids in enumerate(members)
        for index in plain_order(plain_words(len(ids), seed, Purpose.DEAL, item=number), [0] * len(ids), 1)
    ]
    sequence = [-1] * len(formats)
    for lane in range(num_lanes):
        rows = plain_rows(dealt[lane::num_lanes], (seed, epoch, lane), len(numbers))
        positions = plain_positions(dealt[lane::num_lanes], (seed, epoch, lane), num_lanes)
        for position, sample in zip(positions, rows, strict=True):
            sequence[position] = sample
    return sequence


def plain_rows(column: list[tuple[int, int]], key: tuple[int, int, int], num_formats: int) -> list[int]:
    """The samples of a lane, format after format, each format shuffled."""
    seed, epoch, lane = key
    groups = [number for number, _ in column]
    keys = plain_words(len(column), seed, Purpose.SHUFFLE, epoch, lane)
    return [column[row][1] for row in plain_order(keys, groups, num_formats)]


def plain_positions(column: list[tuple[int, int]], key: tuple[int, int, int], num_lanes: int) -> list[int]:
    """The positions of a lane that are due to its first format, then to its second, and so on."""
    seed, epoch, lane = key
    whole = WHOLE_TURNS.get(num_lanes)
    turn = round((ANY_TURN if whole is None else (whole + GOLDEN) / num_lanes) * WORD)
    offset = plain_words(1, seed, Purpose.TURN, epoch)[0]
    positions = [lane + step * num_lanes for step in range(len(column))]
    turns = [(position * turn + offset) % WORD for position in positions]
    by_turn = plain_order(turns, [0] * len(turns), 1)
    due = {positions[step]: column[rank][0] for rank, step in enumerate(by_turn)}
    return sorted(positions, key=lambda position: (due[position], position))


@property_of_order
@given(
    num=st.integers(0, 40),
    seed=st.integers(0, WORD - 1),
    purpose=st.sampled_from(Purpose),
    epoch=st.integers(0, WORD - 1),
    item=st.integers(0, WORD - 1),
)
def test_random_words_are_those_of_the_published_algorithm(
    num: int, seed: int, purpose: Purpose, epoch: int, item: int
) -> None:
    assert words(num, seed, purpose, epoch, item).tolist() == plain_words(num, seed, purpose, epoch, item)


@settings(property_of_order, max_examples=25)
@given(case=cases(windows=False), epoch=st.integers(0, 5))
def test_an_epoch_equals_its_plain_twin(case: Case, epoch: int) -> None:
    order = case.order()

    taken = order.epoch(epoch).take(range(case.num_samples)).tolist()

    assert taken == plain_epoch(case.formats.tolist(), case.seed, epoch, order.lanes)


@pytest.mark.parametrize("num_samples", [7_681, 61_440])  # 120 and 960 lanes
def test_a_larger_epoch_equals_its_plain_twin(num_samples: int) -> None:
    case = Case(
        counts=(num_samples // 2, num_samples - num_samples // 2), lanes=960, seed=9, batch_size=1, world_size=1
    )
    order = case.order()

    taken = order.epoch(2).take(range(num_samples)).tolist()

    assert taken == plain_epoch(case.formats.tolist(), 9, 2, order.lanes)
