"""The page of a run: its answer, its figures, its advice, how it was measured, and the lines themselves."""

from __future__ import annotations

import json
from collections.abc import Sequence

from penstock.lab.draw import circumstances_section
from penstock.lab.lines import FILE_NAME, Line
from penstock.lab.recipe import Findings, Recipe
from penstock.report import Attachment, Page, Section, render


def run_page(recipe: Recipe, data: str, lines: Sequence[Line]) -> bytes:
    """One HTML page that stands alone; the lines are inside, to be saved from it."""
    findings = recipe.findings(lines)
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
    """What stands between the answer and the lines."""
    advice = (Section("Advice", findings.advice),) if findings.advice else ()
    published = Section("What was published", (recipe.published,))
    return (*findings.sections, *advice, published, circumstances_section(lines))
