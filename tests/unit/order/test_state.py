"""States: small, the same on every rank, and refused where they do not belong."""

from __future__ import annotations

import json

import numpy as np
import pytest

from penstock.errors import ArgumentError
from penstock.order import Order, State, Window

FORMATS = np.arange(5000, dtype=np.uint8) % 3


def test_a_state_is_a_few_hundred_bytes_of_json() -> None:
    order = Order(FORMATS, seed=2**63, window=Window(run=32))
    state = State.of(order, epoch=12, delivered=640, dataset="0123456789abcdef")

    text = json.dumps(state.to_json())

    assert len(text) < 400
    assert State.from_json(json.loads(text)) == state


def test_a_state_brings_its_own_order() -> None:
    saved = Order(FORMATS, seed=5, lanes=12, window=Window(run=16, runs=3))
    state = State.of(saved, epoch=1, delivered=0)

    resumed = state.resume(Order(FORMATS, seed=99))

    assert (resumed.epoch(1).take(range(5000)) == saved.epoch(1).take(range(5000))).all()


def test_an_unshuffled_state_stays_unshuffled() -> None:
    state = State.of(Order(FORMATS, shuffle=False), epoch=0, delivered=10)

    assert State.from_json(state.to_json()).resume(Order(FORMATS)).epoch(0).take(range(10, 13)).tolist() == [10, 11, 12]


@pytest.mark.parametrize(
    "other",
    [
        Order(FORMATS[:4999]),
        Order((FORMATS + 1) % 3),
        Order(np.zeros(6000, np.uint8), selection=np.arange(5000)),
        Order(np.tile(FORMATS, 2), selection=np.arange(1, 5001)),
    ],
    ids=["fewer samples", "another mix", "one format", "another subset"],
)
def test_other_samples_are_refused(other: Order) -> None:
    state = State.of(Order(FORMATS), epoch=0, delivered=64)

    with pytest.raises(ArgumentError, match="state") as error:
        state.resume(other)
    assert error.value.fix


def test_another_dataset_is_refused_by_its_fingerprint() -> None:
    state = State.of(Order(FORMATS), epoch=0, delivered=64, dataset="one")

    with pytest.raises(ArgumentError, match="dataset one, this one is two"):
        state.resume(Order(FORMATS), dataset="two")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("version", 2),
        ("version", None),
        ("seed", "0"),
        ("epoch", -1),
        ("delivered", 5001),
        ("lanes", True),
        ("window", 3),
        ("window", {"run": 8}),
        ("selection", None),
    ],
)
def test_what_is_not_a_state_is_refused(field: str, value: object) -> None:
    values = {**State.of(Order(FORMATS), epoch=0, delivered=64).to_json(), field: value}

    with pytest.raises(ArgumentError) as error:
        State.from_json(values)
    assert error.value.where.startswith("state")
    assert error.value.fix


def test_after_a_whole_epoch_comes_the_next() -> None:
    state = State.of(Order(FORMATS), epoch=3, delivered=0)

    assert state.after(64).delivered == 64
    assert (state.after(5000).epoch, state.after(5000).delivered) == (4, 0)
