"""The language of docstrings, help texts, messages and pages follows the rules of scripts/language_rules.py."""

from __future__ import annotations

import pytest

from scripts.language import (
    UNFINISHED,
    Problem,
    header_problems,
    is_unfinished,
    page_problems,
    problems,
    python_problems,
    term_problems,
)


@pytest.fixture(scope="module")
def found() -> list[Problem]:
    return problems()


def test_finished_files_are_plain_language(found: list[Problem]) -> None:
    assert [str(problem) for problem in found if not is_unfinished(problem.file)] == []


@pytest.mark.parametrize("path", UNFINISHED)
def test_a_clean_path_leaves_the_list_of_unfinished_ones(path: str, found: list[Problem]) -> None:
    assert any(problem.file == path or problem.file.startswith(f"{path}/") for problem in found)


@pytest.mark.parametrize(
    ("source", "complaint"),
    [
        ('def size():\n    """Of one sample of a batch."""', "begins with 'Of'"),
        ('def size():\n    """Bytes of one sample."""', "not a verb in the imperative"),
        ('def size():\n    """Return it."""', "too few to stand alone"),
        ('def size():\n    """Return the bytes of a sample"""', "does not end with a period"),
        ('def size():\n    """Return a size.\n\n    Nobody knows it.\n    """', "'Nobody'"),
        (f'"""Sizes of all samples.\n\n{"word " * 50}end.\n"""', "sentence of 51 words"),
        ('Option(help="As weir:fast=0.6.")', "begins with 'As'"),
        ('Option(help="number of threads")', "capital"),
        ('raise CodecError(f"{name} is no image")', "'is no image'"),
        ('raise CodecError("cannot read it", fix="whoever wrote it must repair it")', "'whoever'"),
    ],
)
def test_a_bad_python_text_is_found(source: str, complaint: str) -> None:
    assert any(complaint in problem.text for problem in python_problems("x.py", source))


def test_a_property_may_be_a_noun_phrase() -> None:
    source = 'class Size:\n    @property\n    def area(self):\n        """Number of pixels."""'
    assert list(python_problems("x.py", source)) == []


def test_a_header_comment_that_does_not_stand_alone_is_found() -> None:
    found = list(header_problems("x.h", "#pragma once\n/// Whether it is full.\nbool full() const;\n"))
    assert [(problem.line, "begins with 'Whether'" in problem.text) for problem in found] == [(2, True)]


def test_code_and_tables_of_a_page_are_told_apart_from_prose() -> None:
    source = f"# Page\n\n```\nnobody {'x ' * 50}\n```\n\n| {'a ' * 30} | {'b ' * 30} |\n\nWhoever `nobody` is.\n"
    assert [(problem.line, problem.text[:9]) for problem in page_problems("x.md", source)] == [(9, "'Whoever'")]


def test_a_term_without_an_entry_in_the_glossary_is_found() -> None:
    source = "A flume holds *pinned slots* of a weir."
    found = [problem.text.split("'")[1] for problem in term_problems("x.md", source, frozenset({"weir"}))]
    assert found == ["flume", "pinned slots"]
