"""The text of formats and mixes: one spelling each, and an error that helps for whatever does not exist."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.codecs import Format, find, parse_format, parse_formats, parse_mix
from penstock.codecs.parameters import Choice, Counts, Flag, Integer, Parameter
from penstock.codecs.table import BUILTIN
from penstock.errors import ArgumentError


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ("raw", "raw"),
        ("  raw ", "raw"),
        ("jpeg", "jpeg"),
        ("jpeg:q=85", "jpeg:q=85"),
        ("jpeg:q=085", "jpeg:q=85"),
        ("jpeg:subsampling=420:q=85", "jpeg:q=85:subsampling=420"),
        ("jpeg:restart:progressive", "jpeg:progressive:restart"),
        ("jpeg:progressive=true", "jpeg:progressive"),
        ("webp:q=90", "webp"),
        ("webp:method=6:lossless", "webp:lossless:method=6"),
        ("webp:q=lossless", "webp:lossless"),
    ],
)
def test_a_format_has_one_spelling(written: str, canonical: str) -> None:
    assert str(parse_format(written)) == canonical
    assert parse_format(written) == parse_format(canonical)


def test_parameters_carry_defaults_and_leave_out_what_is_absent() -> None:
    assert parse_format("webp:q=30").parameters == (("q", "30"), ("method", "4"))
    assert parse_format("jpeg:restart").parameters == (("restart", "true"),)
    assert parse_format("jpeg:q=7").get("q") == "7"
    assert parse_format("jpeg").get("q") is None


@pytest.mark.parametrize(
    ("written", "what", "fix"),
    [
        ("jpg:q=85", "there is no codec 'jpg'", "did you mean 'jpeg'? known: "),
        ("pgn", "there is no codec 'pgn'", "did you mean 'png'? known: "),
        ("", "there is no codec ''", "known: "),
        ("raw:q=3", "codec 'raw' has no parameter 'q=3'", "raw takes no parameters"),
        ("raw:", "codec 'raw' has no parameter ''", "raw takes no parameters"),
        ("jpeg:quality=85", "codec 'jpeg' has no parameter 'quality=85'", "q=…"),
        ("jpeg:q", "codec 'jpeg' has no parameter 'q'", "q=…"),
        ("jpeg:fast", "codec 'jpeg' has no parameter 'fast'", "progressive"),
        ("jpeg:q=85:q=90", "format 'jpeg:q=85:q=90' sets q twice", "keep one q"),
        ("webp:lossless:q=3", "format 'webp:lossless:q=3' sets q twice", "keep one q"),
        ("jpeg:q=0", "q=0 is not a whole number from 1 to 100", "for example q=100"),
        ("webp:q=", "q= is not a whole number from 0 to 100", "for example q=90 or lossless"),
        ("webp:q=-1", "q=-1 is not a whole number from 0 to 100", "for example q=90 or lossless"),
        ("webp:q=8.5", "q=8.5 is not a whole number", "for example q=90 or lossless"),
        ("webp:q=٣", "q=٣ is not a whole number", "for example q=90 or lossless"),
        ("webp:q=" + "9" * 5000, "is not a whole number", "for example q=90 or lossless"),
        ("jpeg:subsampling=411", "subsampling=411 does not exist", "choose one of 444, 422, 420"),
        ("jpeg:progressive=no", "progressive=no: 'progressive' is a flag", "write just 'progressive'"),
    ],
)
def test_what_does_not_exist_is_named(written: str, what: str, fix: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        parse_format(written)
    assert what in caught.value.what
    assert fix in caught.value.fix
    assert caught.value.where == "format"
    assert caught.value.code == 130


def test_formats_are_separated_by_commas() -> None:
    assert [str(format) for format in parse_formats("raw, jpeg:q=85:restart,webp:lossless")] == [
        "raw",
        "jpeg:q=85:restart",
        "webp:lossless",
    ]
    assert parse_formats("") == []


def test_a_mix_item_is_split_at_its_last_equals_sign() -> None:
    mix = parse_mix("jpeg:q=85=0.25, webp:lossless=0.5,raw=.25")
    assert {str(format): share for format, share in mix.items()} == {
        "jpeg:q=85": 0.25,
        "webp:lossless": 0.5,
        "raw": 0.25,
    }


def test_shares_may_be_rounded_thirds() -> None:
    assert sum(parse_mix("raw=0.3333333,jpeg=0.3333333,webp=0.3333334").values()) == pytest.approx(1)


@pytest.mark.parametrize(
    ("written", "what", "fix"),
    [
        ("", "mix item '' is not FORMAT=SHARE", "for example weir:fast=0.6,jpeg=0.4"),
        ("raw", "mix item 'raw' is not FORMAT=SHARE", "for example"),
        ("=1", "mix item '=1' is not FORMAT=SHARE", "for example"),
        ("raw=1,", "mix item '' is not FORMAT=SHARE", "for example"),
        ("raw=half", "mix item 'raw=half' is not FORMAT=SHARE", "for example"),
        ("raw=nan", "mix item 'raw=nan' is not FORMAT=SHARE", "for example"),
        ("raw=0", "mix item 'raw=0' is not FORMAT=SHARE with a share above 0", "for example"),
        ("raw=-1,jpeg=2", "mix item 'raw=-1' is not FORMAT=SHARE", "for example"),
        ("jpeg:q=85", "mix item 'jpeg:q=85' is not FORMAT=SHARE", "for example"),
        ("raw=0.5,raw=0.5", "mix names raw twice", "add its shares up"),
        ("webp=0.5,webp:q=90=0.5", "mix names webp twice", "add its shares up"),
        ("raw=0.5,jpeg=0.4", "shares add up to 0.9, not 1", "adjust a share"),
    ],
)
def test_a_wrong_mix_is_explained(written: str, what: str, fix: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        parse_mix(written)
    assert what in caught.value.what
    assert fix in caught.value.fix
    assert caught.value.where == "mix"


def test_an_unknown_format_in_a_mix_is_named() -> None:
    with pytest.raises(ArgumentError, match="there is no codec 'pgn'"):
        parse_mix("pgn=1")


def spellings(key: str, parameter: Parameter) -> st.SearchStrategy[str]:
    """Every way to write one parameter."""
    words = (
        [st.sampled_from([*parameter.bare, *(f"{key}={word}" for word in parameter.bare)])] if parameter.bare else []
    )
    if isinstance(parameter, Integer):
        numbers = st.integers(parameter.minimum, parameter.maximum)
        written = st.builds(lambda number, zeros: f"{key}={'0' * zeros}{number}", numbers, st.integers(0, 3))
        return st.one_of(written, *words)
    if isinstance(parameter, Choice):
        return st.one_of(st.sampled_from([f"{key}={choice}" for choice in parameter.choices]), *words)
    if isinstance(parameter, Counts):
        counts = st.sets(st.integers(1, parameter.maximum), min_size=1).map(
            lambda some: "+".join(map(str, sorted(some)))
        )
        return st.one_of(st.just(parameter.word), counts).map(lambda text: f"{key}={text}")
    assert isinstance(parameter, Flag)
    return st.one_of(st.just(f"{key}=true"), *words)


@st.composite
def format_items(draw: st.DrawFn) -> tuple[str, list[str]]:
    """A codec and some of its parameters, in any order and spelling."""
    codec = draw(st.sampled_from(BUILTIN))
    keys = draw(st.permutations(sorted(codec.parameters)))
    chosen = keys[: draw(st.integers(0, len(keys)))]
    return codec.name, [draw(spellings(key, codec.parameters[key])) for key in chosen]


@given(format_items(), st.randoms())
def test_canonical_text_reads_back_and_ignores_order(written: tuple[str, list[str]], random: Random) -> None:
    codec, items = written
    format = parse_format(":".join([codec, *items]))
    random.shuffle(items)
    assert parse_format(":".join([codec, *items])) == format
    assert parse_format(str(format)) == format
    assert str(parse_format(str(format))) == str(format)


@given(format_items(), format_items())
def test_formats_are_equal_exactly_if_their_texts_are(one: tuple[str, list[str]], other: tuple[str, list[str]]) -> None:
    first, second = (parse_format(":".join([codec, *items])) for codec, items in (one, other))
    assert (first == second) == (str(first) == str(second))
    assert (first == second) == ((first.codec, first.parameters) == (second.codec, second.parameters))


@given(st.text(max_size=30))
def test_any_text_is_a_format_or_an_argument_error(text: str) -> None:
    for parse in (parse_format, parse_formats, parse_mix):
        try:
            parse(text)
        except ArgumentError as error:
            assert error.fix  # noqa: PT017  # a format is as good


@given(st.lists(st.integers(1, 1000), min_size=1, max_size=3))
def test_a_mix_reads_back(weights: list[int]) -> None:
    formats = ["raw", "jpeg:q=85", "webp:lossless"][: len(weights)]
    shares = [weight / sum(weights) for weight in weights]
    mix = parse_mix(",".join(f"{format}={share!r}" for format, share in zip(formats, shares, strict=True)))
    assert mix == {parse_format(format): share for format, share in zip(formats, shares, strict=True)}


def test_every_parameter_says_what_it_means() -> None:
    for codec in BUILTIN:
        for key, parameter in codec.parameters.items():
            assert parameter.meaning, f"{codec.name}:{key}"


def test_a_format_is_a_value() -> None:
    format = parse_format("jpeg:q=85")
    assert {format: 1}[parse_format("jpeg:q=85")] == 1
    assert format != Format("jpeg")
    assert find(format.codec).name == "jpeg"
