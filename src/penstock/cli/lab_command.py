"""`penstock lab`: the experiments of four published systems, on your data."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from penstock.cli import lab_import_command
from penstock.cli.group import add_command, new_group
from penstock.cli.output import JsonOption, Output, new_table
from penstock.lab import (
    RECIPES,
    Progress,
    find_recipe,
    findings_of,
    is_finished,
    load_run,
    run_page,
    run_recipe,
    settings_help,
    settings_text,
    with_settings,
)
from penstock.storage import write_file
from penstock.units import count_text

PAGE = "report.html"

ListedName = Annotated[str, typer.Argument(metavar="[RECIPE]", help="Recipe whose settings to show.")]
RecipeName = Annotated[str, typer.Argument(metavar="RECIPE", help="Recipe name, from `penstock lab list`.")]
DataOption = Annotated[Path, typer.Option("--data", metavar="DIR", help="Folder of images.")]
OutOption = Annotated[
    Path, typer.Option("--out", metavar="RUN", help="Folder of the run; the same command continues it.")
]
SetOption = Annotated[list[str], typer.Option("--set", metavar="KEY=VALUE", help="Change a setting; may be repeated.")]
RunFolders = Annotated[list[Path], typer.Argument(metavar="RUN", help="Folders of runs.")]


def register(app: typer.Typer) -> None:
    """Add the group to the application."""
    group = new_group("lab", "The experiments of the four systems, on your data; and what published ones say.")
    add_command(group, "list", list_recipes, examples=("penstock lab list", "penstock lab list dropin"))
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
    lab_import_command.register(group)
    app.add_typer(group)


def list_recipes(recipe: ListedName = "", json: JsonOption = False) -> None:
    """List the experiments and their questions; with a name, its settings."""
    out = Output(json=json)
    chosen = [find_recipe(recipe)] if recipe else [kind() for kind in RECIPES.values()]
    if recipe:
        meanings = settings_help(chosen[0])
        out.show(f"{recipe}: {chosen[0].question}", chosen[0].published, "", "What can be set:")
        for name, value in settings_text(chosen[0]).items():
            out.show(f"  {name}={value}", *([f"      {meanings[name]}"] if meanings[name] else []))
    else:
        table = new_table("recipe", "question", "published counterpart")
        for one in chosen:
            table.add_row(one.name, one.question, re.split(r"[.:] ", one.published)[0])
        out.show(table, "`penstock lab list RECIPE` shows what can be set in it.")
    out.result(
        {
            "recipes": [
                {
                    "name": one.name,
                    "question": one.question,
                    "published": one.published,
                    "settings": settings_text(one),
                    "meanings": settings_help(one),
                }
                for one in chosen
            ]
        }
    )


def run(recipe: RecipeName, data: DataOption, out: OutOption, set_: SetOption = [], json: JsonOption = False) -> None:  # noqa: B006  # typer copies it
    """Run an experiment and write its report.

    Each cell becomes a line of RUN/lines.jsonl when it is done; a killed run continues with the next one. At the end,
    there are RUN/lines.parquet and RUN/report.html. Datasets made on the way are in RUN/data and may be deleted.
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
    """Draw the reports of runs again, from their lines alone."""
    _publish(Output(json=json), runs)


def _publish(out: Output, runs: list[Path]) -> None:
    pages = []
    for folder in runs:
        recipe, data, lines = load_run(folder)
        is_whole = is_finished(folder)
        findings = findings_of(recipe, lines, is_finished=is_whole)
        if not is_whole:
            out.warn(
                f"this run is not finished, {count_text(len(lines), 'cell')} done: `penstock lab run` goes on with it"
            )
        write_file(folder / PAGE, run_page(recipe, data, lines, is_finished=is_whole))
        out.show(f"{recipe.name}: {findings.answer}", *findings.advice, f"  {folder / PAGE}")
        pages.append(
            {
                "recipe": recipe.name,
                "page": str(folder / PAGE),
                "is_finished": is_whole,
                "num_lines": len(lines),
                "answer": findings.answer,
                "advice": list(findings.advice),
                "values": findings.values,
            }
        )
    out.result({"runs": pages})
