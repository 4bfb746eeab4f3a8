"""Appearance of commands: plain help that reads the same in a terminal, a pipe and a log, always with examples."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import wraps
from typing import Any, get_type_hints

import typer


def new_group(name: str, text: str) -> typer.Typer:
    """Make a group of commands that shows its help when it is called alone."""
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
    group.command(name, help=f"{text}\n\n\b\nExamples:\n{shown}")(with_option_groups(command))


def with_option_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command that takes the fields of its dataclass parameters as options of their own.

    Typer makes an option of each parameter. A command with many options takes frozen dataclasses instead, whose fields
    are annotated as parameters are; they are filled from the options before the command is called.
    """
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {}
    spread: list[inspect.Parameter] = []
    for parameter in inspect.signature(command).parameters.values():
        kind = hints[parameter.name]
        if is_dataclass(kind):
            groups[parameter.name] = kind
            own = get_type_hints(kind, include_extras=True)
            spread += [_parameter(field.name, own[field.name], field.default) for field in fields(kind)]
        else:
            spread.append(_parameter(parameter.name, kind, parameter.default))

    @wraps(command)
    def call(**given: object) -> None:
        for name, kind in groups.items():
            given[name] = kind(**{field.name: given.pop(field.name) for field in fields(kind)})
        command(**given)

    call.__signature__ = inspect.Signature(spread)  # type: ignore[attr-defined]  # typer reads it
    call.__annotations__ = {parameter.name: parameter.annotation for parameter in spread}
    return call


def _parameter(name: str, annotation: object, default: object) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def show_help_if_alone(context: typer.Context) -> None:
    """Show the help if no command is given, and exit with the status for wrong usage."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help(), err=True)
        raise typer.Exit(2)
