"""`penstock lab`: the experiments of the four systems, on your data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from penstock.cli import lab_import
from penstock.cli.group import add_command, new_group
from penstock.cli.output import JsonOption, Output, new_table
from penstock.lab import (
    RECIPES,
    Progress,
    conclude,
    find_recipe,
    is_unfinished,
    load_run,
    run_page,
    run_recipe,
    settings_text,
    with_settings,
)
from penstock.storage import write_file
from penstock.units import count_text

PAGE = "report.html"

RecipeName = Annotated[str, typer.Argument(metavar="RECIPE", help="A name of `penstock lab list`.")]
DataOption = Annotated[Path, typer.Option("--data", metavar="DIR", help="A folder of images.")]
OutOption = Annotated[
    Path, typer.Option("--out", metavar="RUN", help="A folder for the run; called again, it goes on.")
]
SetOption = Annotated[list[str], typer.Option("--set", metavar="KEY=VALUE", help="Change a setting; may be repeated.")]
RunFolders = Annotated[list[Path], typer.Argument(metavar="RUN", help="Folders of runs.")]


def register(app: typer.Typer) -> None:
    """Add the group."""
    group = new_group("lab", "The experiments of the four systems, on your data; and what published ones say.")
    add_command(group, "list", list_recipes, examples=("penstock lab list",))
    add_command(
        group,
        "run",
        run,
        examples=(
            "penstock lab run codecs --data photos --out runs/codecs",
            "penstock lab run thrash --data photos --out runs/thrash --set disk=100MB/s --set seeds=3",
        ),
    )
    add_command(group, "report", report, examples=("penstock lab report runs/codecs runs/thrash",))
    lab_import.register(group)
    app.add_typer(group)


def list_recipes(json: JsonOption = False) -> None:
    """Show the experiments there are, what each asks, and its settings."""
    out = Output(json=json)
    table = new_table("recipe", "question", "published counterpart")
    for recipe in RECIPES.values():
        table.add_row(recipe.name, recipe.question, recipe.published.partition(". ")[0])
    out.show(table)
    out.result(
        {
            "recipes": [
                {
                    "name": kind.name,
                    "question": kind.question,
                    "published": kind.published,
                    "settings": settings_text(kind()),
                }
                for kind in RECIPES.values()
            ]
        }
    )


def run(recipe: RecipeName, data: DataOption, out: OutOption, set_: SetOption = [], json: JsonOption = False) -> None:  # noqa: B006  # typer copies it
    """Run an experiment and write its page.

    Each cell is a line of RUN/lines.jsonl once it is done; a killed run goes on with the next one. At the end there are
    RUN/lines.parquet and RUN/report.html. Datasets made on the way are in RUN/data and may be deleted.
    """
    told = Output(json=json)
    chosen = with_settings(find_recipe(recipe), set_)
    with told.bars(2) as (cells, inside):
        lines = run_recipe(chosen, data, out, Progress(cells, inside))
    _publish(told, [out])
    left_out = sum(bool(line.left_out) for line in lines)
    if left_out:
        told.warn(f"{left_out} of {len(lines)} cells could not be measured here; the report says why")


def report(runs: RunFolders, json: JsonOption = False) -> None:
    """Draw the pages of runs again, from their lines alone."""
    _publish(Output(json=json), runs)


def _publish(out: Output, runs: list[Path]) -> None:
    pages = []
    for folder in runs:
        recipe, data, lines = load_run(folder)
        findings = conclude(recipe, lines, folder)
        if is_unfinished(folder):
            out.warn(
                f"this run is not finished, {count_text(len(lines), 'cell')} done: `penstock lab run` goes on with it"
            )
        write_file(folder / PAGE, run_page(recipe, data, lines))
        out.show(f"{recipe.name}: {findings.answer}", *findings.advice, f"  {folder / PAGE}")
        pages.append(
            {
                "recipe": recipe.name,
                "page": str(folder / PAGE),
                "num_lines": len(lines),
                "answer": findings.answer,
                "advice": list(findings.advice),
                "values": findings.values,
            }
        )
    out.result({"runs": pages})
