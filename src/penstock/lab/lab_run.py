"""Run of a recipe, cell by cell: interleaved, with each line written at once, and continued after a kill."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from penstock.documents import Document, Json, read_document
from penstock.errors import ArgumentError
from penstock.lab.circumstances import circumstances
from penstock.lab.jobs import LeftOut, Order, run_job
from penstock.lab.jobs.contract import Measures
from penstock.lab.lines import Line, add_line, load_lines, write_parquet
from penstock.lab.recipes.contract import Cell, Recipe
from penstock.lab.recipes.table import find_recipe
from penstock.lab.settings import settings_text, with_settings
from penstock.lab.work_folder import Work
from penstock.limits import NO_LIMITS, Enforcement, call_worker
from penstock.storage import exists, locked, make_folders, read_file, write_file
from penstock.types import OnProgress, no_progress

RUN_FILE, PARQUET_FILE, LOCK_FILE = "run.json", "lines.parquet", "run.lock"
RUN_KIND = "penstock lab run"
TASK = "lab job"
VARIANTS = ("variant", "validation", "stages")
"""Settings that name variants of the data."""


@dataclass(frozen=True, slots=True)
class Progress:
    """Callbacks for progress: finished cells, and the work of the current cell."""

    cells: OnProgress = no_progress
    inside: OnProgress = no_progress


def run_recipe(recipe: Recipe, data: Path, out: Path, progress: Progress = Progress()) -> list[Line]:  # noqa: B008  # frozen
    """Measure all cells of a recipe that `out` has no line of yet, and return all lines.

    All cells of one seed come before those of the next, and each seed starts with another cell, so that a drift of the
    machine affects all variants equally. A folder with another run, and invalid settings, are refused.
    """
    recipe.check()
    work = Work(data, out / "data", progress.inside)
    work.check()
    make_folders(out)
    with locked(out / LOCK_FILE):
        _claim(recipe, data, out)
        lines = load_lines(out)
        while True:
            cells = recipe.cells(work.facts, lines)
            known = {line.key for line in lines}
            waiting = [cell for cell in interleaved(cells) if cell.key not in known]
            if not waiting:
                break
            for number, cell in enumerate(waiting):
                progress.cells(str(cell), len(cells) - len(waiting) + number, len(cells))
                line = measure(recipe.name, cell, work)
                add_line(out, line)
                lines.append(line)
        write_parquet(lines, out / PARQUET_FILE)
        _write_down(recipe, data, out, is_finished=True)
        return lines


def is_finished(out: Path) -> bool:
    """Return whether all cells of a run are measured or left out; for an older run, whether it was not killed."""
    was_killed = exists(out / LOCK_FILE) and not exists(out / PARQUET_FILE)
    return _told(out).flag("is_finished", not was_killed)


def load_run(out: Path) -> tuple[Recipe, str, list[Line]]:
    """Load the recipe of a run with its settings, the name of its data, and its lines."""
    told = _told(out)
    settings = told.child("settings").members
    recipe = with_settings(find_recipe(told.text("recipe")), [f"{name}={value}" for name, value in settings.items()])
    return recipe, told.text("data"), load_lines(out)


def _told(out: Path) -> Document:
    path = out / RUN_FILE
    if not exists(path):
        raise ArgumentError(
            "this is not a folder of a run", where=str(out), fix="give what `lab run` had as --out", code=100
        )
    return read_document(read_file(path), kind=RUN_KIND, version=1, where=str(path))


def interleaved(cells: Sequence[Cell]) -> list[Cell]:
    """Order cells seed by seed, each seed starting with another cell.

    >>> cells = [Cell("load", {"variant": name}, seed) for name in "abc" for seed in (0, 1)]
    >>> "".join(str(cell.settings["variant"]) for cell in interleaved(cells))
    'abcbca'
    """
    ordered: list[Cell] = []
    for turn, seed in enumerate(sorted({cell.seed for cell in cells})):
        group = [cell for cell in cells if cell.seed == seed]
        ordered += group[turn % len(group) :] + group[: turn % len(group)]
    return ordered


def measure(recipe: str, cell: Cell, work: Work) -> Line:
    """Run one cell in this process, or under limits in its own process."""
    order = Order(cell.job, dict(cell.settings), _paths(cell, work), cell.seed)
    enforced_by, left_out = Enforcement(), ""
    measures: Measures = {}
    try:
        if cell.limits == NO_LIMITS and not cell.is_alone:
            measures = run_job(order, work.on_progress)
        else:
            measures, enforced_by = _run_limited(order, cell, work)
    except LeftOut as reason:
        left_out = str(reason)
    return Line(
        key=cell.key,
        recipe=recipe,
        job=cell.job,
        settings=dict(cell.settings),
        seed=cell.seed,
        limits=str(cell.limits),
        enforced_by=enforced_by.as_dict(),
        measures=measures,
        left_out=left_out,
        circumstances=circumstances(),
    )


def _run_limited(order: Order, cell: Cell, work: Work) -> tuple[Measures, Enforcement]:
    reads_itself = order.text("loader", "penstock") in ("penstock", "synthetic")
    work.forget(path for name, path in order.paths.items() if name != "data" or not reads_itself)
    reply = call_worker(TASK, asdict(order), cell.limits, on=work.folder, on_progress=work.on_progress)
    enforced_by = reply.enforced_by
    if reply.was_killed_for_memory:
        raise LeftOut(f"it was killed at its memory limit ({cell.limits})")
    if "nothing" in enforced_by.as_dict().values() or (enforced_by.disk == "readers" and not reads_itself):
        raise LeftOut(f"no control group holds its limits here ({enforced_by})")
    result = reply.result()
    if "left_out" in result:
        raise LeftOut(result["left_out"])
    return result["measures"] | {"peak_memory_bytes": reply.completed.peak_memory_bytes or 0}, enforced_by


def _paths(cell: Cell, work: Work) -> dict[str, str]:
    """Return the paths of the variants that a cell names; missing ones are made."""
    named: list[str] = []
    for name in VARIANTS:
        value = cell.settings.get(name)
        if isinstance(value, str) and value:
            named.append(value)
        elif isinstance(value, list):  # stages: [variant, epochs] each
            named += [str(stage[0]) for stage in value if isinstance(stage, list)]
    return {"data": str(work.data)} | {variant: str(work.dataset(variant)) for variant in named}


def _claim(recipe: Recipe, data: Path, out: Path) -> None:
    """Record the identity of this run, or check that it is the same as before. A run without lines may change."""
    if not exists(out / RUN_FILE) or not load_lines(out):
        _write_down(recipe, data, out, is_finished=False)
        return
    before, data_before, _ = load_run(out)
    compared = {
        "recipe": before.name != recipe.name,
        "data": data_before != data.name,
        "settings": before != recipe,  # one that there was not when the run began has its default
    }
    changed = ", ".join(name for name, is_other in compared.items() if is_other)
    if changed:
        raise ArgumentError(
            f"this folder holds a run that differs in {changed}",
            where=str(out / RUN_FILE),
            fix="give another --out, or the settings it was begun with",
            code=100,
        )


def _write_down(recipe: Recipe, data: Path, out: Path, *, is_finished: bool) -> None:
    told: dict[str, Json] = {"kind": RUN_KIND, "version": 1, "recipe": recipe.name, "data": data.name}
    told |= {"settings": dict(settings_text(recipe)), "is_finished": is_finished}
    write_file(out / RUN_FILE, json.dumps(told, indent=2).encode())
