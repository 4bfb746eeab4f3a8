"""The `penstock` command and its verbs."""

from __future__ import annotations

import typer

app = typer.Typer(name="penstock", no_args_is_help=True, add_completion=False)


def run() -> None:
    """Run the command line."""
    app()
