"""Page of a run: its answer, its figures, its advice, how it was measured, and the lines."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from penstock.errors import ArgumentError
from penstock.lab.draw import circumstances_section
from penstock.lab.lines import FILE_NAME, Line
from penstock.lab.recipes.contract import Findings, Recipe
from penstock.report import Attachment, Page, Section, render
from penstock.units import count_text


def findings_of(recipe: Recipe, lines: Sequence[Line], *, is_finished: bool = True) -> Findings:
    """Draw findings from the lines, or report missing cells. Raise ArgumentError without any line."""
    if not lines:
        raise ArgumentError(
            "this run has measured nothing yet", where=recipe.name, fix="start it again: it goes on", code=100
        )
    found = _found(recipe, lines, is_finished=is_finished)
    return found if is_finished else replace(found, answer=f"Not finished, cells are missing. {found.answer}")


def _found(recipe: Recipe, lines: Sequence[Line], *, is_finished: bool) -> Findings:
    reasons = [line.left_out for line in lines if line.left_out]
    try:
        if len(reasons) < len(lines):
            return recipe.findings(lines)
    except (ArithmeticError, AssertionError, LookupError, StopIteration, TypeError, ValueError):
        if is_finished and not reasons:
            raise  # all was measured: the mistake is ours
    told = f"{count_text(len(lines) - len(reasons), 'cell')} measured"
    if reasons:
        told += f", {len(reasons)} left out, because {reasons[0]}"
    return Findings(f"Too little for an answer: {told}.")


def run_page(recipe: Recipe, data: str, lines: Sequence[Line], *, is_finished: bool = True) -> bytes:
    """Make one self-contained HTML page; the lines are embedded and can be saved from it."""
    findings = findings_of(recipe, lines, is_finished=is_finished)
    return render(
        Page(
            title=f"Penstock lab: {recipe.name}",
            subtitle=f"{recipe.question} · {data}",
            sections=sections_of(recipe, findings, lines),
            answer=findings.answer,
            attachment=Attachment(
                "The lines", FILE_NAME, "\n".join(json.dumps(line.as_dict()) for line in lines) + "\n"
            ),
        )
    )


def sections_of(recipe: Recipe, findings: Findings, lines: Sequence[Line]) -> tuple[Section, ...]:
    """Return the sections between the answer and the lines."""
    advice = (Section("Advice", findings.advice),) if findings.advice else ()
    published = Section("What was published", (recipe.published,))
    return (*findings.sections, *advice, published, circumstances_section(lines))
