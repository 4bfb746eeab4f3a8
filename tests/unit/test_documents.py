"""Documents say where they are wrong."""

from __future__ import annotations

import pytest

from penstock.documents import read_document, write_document
from penstock.errors import ArgumentError

GOOD = b'{"kind": "penstock plan", "version": 1, "name": "a", "n": 3, "inner": {"x": 1.5}, "list": [{"y": true}]}'


def test_members_come_back_by_type() -> None:
    document = read_document(GOOD, kind="penstock plan", version=1)
    assert (document.text("name"), document.integer("n"), document.child("inner").number("x")) == ("a", 3, 1.5)
    assert [item.flag("y") for item in document.items("list")] == [True]
    assert document.text("missing", default="so") == "so"


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"", "no JSON"),
        (b"\xff\xfe", "no JSON"),
        (b"[" * 100_000, "no JSON"),
        (b"[1]", "not an object"),
        (b"{}", "a document without a kind"),
        (b'{"kind": "other", "version": 1}', "'other', not 'penstock plan'"),
        (b'{"kind": "penstock plan"}', "version is missing"),
        (b'{"kind": "penstock plan", "version": 2}', "has version 2"),
        (b'{"kind": "penstock plan", "version": NaN}', "not a JSON number"),
    ],
)
def test_what_is_no_document_of_the_kind_is_refused(data: bytes, what: str) -> None:
    with pytest.raises(ArgumentError, match=what):
        read_document(data, kind="penstock plan", version=1)


@pytest.mark.parametrize(
    ("method", "name", "where"),
    [
        ("text", "n", "penstock plan.n"),
        ("integer", "name", "penstock plan.name"),
        ("number", "list", "penstock plan.list"),
        ("flag", "n", "penstock plan.n"),
        ("child", "list", "penstock plan.list"),
        ("values", "inner", "penstock plan.inner"),
    ],
)
def test_a_member_of_another_type_is_refused_with_its_place(method: str, name: str, where: str) -> None:
    document = read_document(GOOD, kind="penstock plan", version=1)
    with pytest.raises(ArgumentError) as refusal:
        getattr(document, method)(name)
    assert refusal.value.where == where


@pytest.mark.parametrize("method", ["integer", "number"])
@pytest.mark.parametrize("digits", ["1" + 400 * "0", "1e999"])
def test_a_number_that_no_machine_holds_is_refused(method: str, digits: str) -> None:
    data = f'{{"kind": "penstock plan", "version": 1, "n": {digits}}}'.encode()
    with pytest.raises(ArgumentError, match="n is "):
        getattr(read_document(data, kind="penstock plan", version=1), method)("n")


def test_written_documents_are_read_back() -> None:
    data = write_document({"kind": "penstock plan", "version": 1, "n": 3})
    assert read_document(data, kind="penstock plan", version=1).integer("n") == 3
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_document({"x": float("nan")})
