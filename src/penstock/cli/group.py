"""How commands look: plain help that reads the same in a terminal, a pipe and a log, always with examples."""

from __future__ import annotations

import inspect
from collections.abc import Callable

import typer


def new_group(name: str, text: str) -> typer.Typer:
    """A group of commands that shows its help when it is called alone."""
    group = typer.Typer(
        name=name,
        help=text,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        invoke_without_command=True,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    group.callback()(show_help_if_alone)
    return group


def add_command(group: typer.Typer, name: str, command: Callable[..., None], *, examples: tuple[str, ...]) -> None:
    """Add a command; its docstring, first line first, and the examples are its help."""
    text = inspect.cleandoc(command.__doc__ or "")
    shown = "\n".join(f"  {example}" for example in examples)
    group.command(name, help=f"{text}\n\n\b\nExamples:\n{shown}")(command)


def show_help_if_alone(context: typer.Context) -> None:
    """Without a command there is nothing to do: show what there is, and say by the exit status that nothing ran."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help(), err=True)
        raise typer.Exit(2)
