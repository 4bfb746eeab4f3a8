"""The order of samples never changes from version to version."""

from __future__ import annotations

import json

import pytest

from tests.golden.orders import FILE, ORDERS, samples

FROZEN: dict[str, list[int]] = json.loads(FILE.read_text())


@pytest.mark.parametrize("name", sorted(FROZEN))
def test_an_order_stays_as_it_is(name: str) -> None:
    assert samples(name) == FROZEN[name]


def test_every_order_is_frozen() -> None:
    assert FROZEN.keys() == ORDERS.keys()
