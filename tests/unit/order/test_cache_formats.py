"""What samples should be in memory: weighed by what each form costs, and turned by what turns it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.order.cache_formats import WORTH_IT, CacheRoom, FormatCost, FormatSamples, choose_cache_formats, forecast

ENCODED = FormatCost(bytes=100_000, hit_seconds=0.010, enter_seconds=0.010)
PIXELS = FormatCost(bytes=300_000, hit_seconds=0.001, enter_seconds=0.012)
WEIR = FormatCost(bytes=110_000, hit_seconds=0.003, enter_seconds=0.014)
PNG = FormatSamples(1000, 0.0, {"encoded": ENCODED, "pixels": PIXELS, "weir:fast": WEIR})
ROOM = CacheRoom(threads=2, free_bytes=60_000_000)


def chosen(source: FormatSamples, room: CacheRoom) -> str:
    return choose_cache_formats({"png": source}, room)["png"]


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
        (replace(PNG, forms={"encoded": FormatCost(100_000, 0.001, 0.001), "pixels": PIXELS}), ROOM, "encoded"),
    ],
)
def test_the_choice_turns_with_what_it_depends_on(source: FormatSamples, room: CacheRoom, expected: str) -> None:
    assert chosen(source, room) == expected


def test_a_little_faster_is_no_reason() -> None:
    slightly = replace(ENCODED, hit_seconds=ENCODED.hit_seconds / (WORTH_IT - 0.02))
    clearly = replace(ENCODED, hit_seconds=ENCODED.hit_seconds / (WORTH_IT + 0.02))
    for form, expected in ((slightly, "encoded"), (clearly, "pixels")):
        source = FormatSamples(1000, 0.0, {"encoded": ENCODED, "pixels": form})
        assert chosen(source, CacheRoom(threads=1, free_bytes=10**9)) == expected


def test_sources_share_memory_and_are_chosen_together() -> None:
    jpeg = FormatSamples(
        1000, 0.0, {"encoded": FormatCost(20_000, 0.002, 0.002), "pixels": FormatCost(300_000, 0.001, 0.004)}
    )
    sources = {"png": PNG, "jpeg": jpeg}

    assert choose_cache_formats(sources, replace(ROOM, free_bytes=140_000_000)) == {
        "png": "weir:fast",
        "jpeg": "encoded",
    }
    assert choose_cache_formats(sources, replace(ROOM, free_bytes=10**9)) == {"png": "pixels", "jpeg": "pixels"}


seconds = st.floats(1e-5, 0.1)
forms = st.builds(FormatCost, bytes=st.floats(1e3, 1e7), hit_seconds=seconds, enter_seconds=seconds)
sources = st.dictionaries(
    st.sampled_from(["png", "jpeg", "webp"]),
    st.builds(
        FormatSamples,
        num_samples=st.integers(1, 10**6),
        read_seconds=st.floats(0, 0.1),
        forms=st.fixed_dictionaries({"encoded": forms}, optional={"pixels": forms, "weir:fast": forms}),
    ),
    min_size=1,
)
rooms = st.builds(
    CacheRoom,
    threads=st.integers(1, 64),
    free_bytes=st.integers(0, 10**12),
    num_passing=st.integers(0, 10**4),
    stays=st.booleans(),
)


@given(sources=sources, room=rooms)
def test_no_choice_is_expected_to_be_slower_than_encoded(sources: dict[str, FormatSamples], room: CacheRoom) -> None:
    found = choose_cache_formats(sources, room)

    expected = forecast(sources, found, room)
    assert set(found) == set(sources)
    assert expected.seconds <= forecast(sources, dict.fromkeys(sources, "encoded"), room).seconds
    assert 0 <= expected.share <= 1
