"""Command `penstock`: its own options and the list of its verbs.

A verb is one small file: it parses, calls one function of the verb's folder, and prints through `Output`. It takes
`--json` (`JsonOption`), lets `PenstockError` through (`run.py` prints it), and raises `typer.Exit(1)` after printing a
result that counts as failed. Its `register(app)` names it and gives its examples.
"""

from __future__ import annotations

from typing import Annotated

import typer

import penstock
from penstock.cli import (
    auto_command,
    bench_command,
    build_command,
    codec_command,
    doctor_command,
    export_command,
    info_command,
    lab_command,
    plan_command,
    profile_command,
    synth_command,
    verify_command,
)
from penstock.cli.group import new_group, show_help_if_alone

HELP = """Keep accelerators fed with images: measure, choose formats, rewrite, load.

Every command has --help with examples, and --json for one JSON object on stdout.
Exit status: 0 done, 1 the job failed, 2 wrong usage.
"""

app = new_group("penstock", HELP)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"penstock {penstock.__version__}")
        raise typer.Exit(0)


@app.callback(help=HELP)
def root(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and exit.")
    ] = False,
    traceback: Annotated[bool, typer.Option("--traceback", help="Show the Python traceback of an error.")] = False,
) -> None:
    """Handle the options of `penstock` itself; `run.py` handles `--traceback`."""
    show_help_if_alone(context)


auto_command.register(app)
bench_command.register(app)
build_command.register(app)
codec_command.register(app)
doctor_command.register(app)
export_command.register(app)
info_command.register(app)
lab_command.register(app)
plan_command.register(app)
profile_command.register(app)
synth_command.register(app)
verify_command.register(app)
