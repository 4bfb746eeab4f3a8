"""What samples should be in memory: weighed by what each form costs, and turned by what turns it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.order.forms import WORTH_IT, Form, Room, Source, choose_forms, outlook

ENCODED = Form(bytes=100_000, hit_seconds=0.010, enter_seconds=0.010)
PIXELS = Form(bytes=300_000, hit_seconds=0.001, enter_seconds=0.012)
WEIR = Form(bytes=110_000, hit_seconds=0.003, enter_seconds=0.014)
PNG = Source(1000, 0.0, {"encoded": ENCODED, "pixels": PIXELS, "weir:fast": WEIR})
ROOM = Room(threads=2, free_bytes=60_000_000)


def chosen(source: Source, room: Room) -> str:
    return choose_forms({"png": source}, room)["png"]


@pytest.mark.parametrize(
    ("source", "room", "expected"),
    [
        (PNG, replace(ROOM, free_bytes=10**9), "pixels"),  # all of it fits
        (PNG, ROOM, "weir:fast"),  # more of it fits
        (replace(PNG, read_seconds=0.1), ROOM, "encoded"),  # the disk is slow: hits are what counts
        (replace(PNG, forms={"encoded": ENCODED, "pixels": PIXELS}), replace(ROOM, stays=True), "pixels"),
        (replace(PNG, forms={"encoded": ENCODED}), ROOM, "encoded"),
        # What enters again and again costs more than it saves; what enters once does not.
        (replace(PNG, forms={"encoded": ENCODED, "weir:fast": replace(WEIR, enter_seconds=0.1)}), ROOM, "encoded"),
        (
            replace(PNG, forms={"encoded": ENCODED, "weir:fast": replace(WEIR, enter_seconds=0.1)}),
            replace(ROOM, stays=True),
            "weir:fast",
        ),
        (replace(PNG, forms={"encoded": Form(100_000, 0.001, 0.001), "pixels": PIXELS}), ROOM, "encoded"),
    ],
)
def test_the_choice_turns_with_what_it_depends_on(source: Source, room: Room, expected: str) -> None:
    assert chosen(source, room) == expected


def test_a_little_faster_is_no_reason() -> None:
    slightly = replace(ENCODED, hit_seconds=ENCODED.hit_seconds / (WORTH_IT - 0.02))
    clearly = replace(ENCODED, hit_seconds=ENCODED.hit_seconds / (WORTH_IT + 0.02))
    for form, expected in ((slightly, "encoded"), (clearly, "pixels")):
        source = Source(1000, 0.0, {"encoded": ENCODED, "pixels": form})
        assert chosen(source, Room(threads=1, free_bytes=10**9)) == expected


def test_sources_share_memory_and_are_chosen_together() -> None:
    jpeg = Source(1000, 0.0, {"encoded": Form(20_000, 0.002, 0.002), "pixels": Form(300_000, 0.001, 0.004)})
    sources = {"png": PNG, "jpeg": jpeg}

    assert choose_forms(sources, replace(ROOM, free_bytes=140_000_000)) == {"png": "weir:fast", "jpeg": "encoded"}
    assert choose_forms(sources, replace(ROOM, free_bytes=10**9)) == {"png": "pixels", "jpeg": "pixels"}


seconds = st.floats(1e-5, 0.1)
forms = st.builds(Form, bytes=st.floats(1e3, 1e7), hit_seconds=seconds, enter_seconds=seconds)
sources = st.dictionaries(
    st.sampled_from(["png", "jpeg", "webp"]),
    st.builds(
        Source,
        num_samples=st.integers(1, 10**6),
        read_seconds=st.floats(0, 0.1),
        forms=st.fixed_dictionaries({"encoded": forms}, optional={"pixels": forms, "weir:fast": forms}),
    ),
    min_size=1,
)
rooms = st.builds(
    Room,
    threads=st.integers(1, 64),
    free_bytes=st.integers(0, 10**12),
    num_passing=st.integers(0, 10**4),
    stays=st.booleans(),
)


@given(sources=sources, room=rooms)
def test_no_choice_is_expected_to_be_slower_than_encoded(sources: dict[str, Source], room: Room) -> None:
    found = choose_forms(sources, room)

    expected = outlook(sources, found, room)
    assert set(found) == set(sources)
    assert expected.seconds <= outlook(sources, dict.fromkeys(sources, "encoded"), room).seconds
    assert 0 <= expected.share <= 1
