"""Settings of a recipe from `--set name=value`, by the declared types of its fields."""

from __future__ import annotations

import ast
import inspect
import itertools
import textwrap
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields, is_dataclass, replace
from difflib import get_close_matches
from typing import Any, TypeVar

from penstock.errors import ArgumentError
from penstock.lab.recipes.contract import Recipe

KINDS = {"int": "a whole number", "float": "a number", "str": "a text", "bool": "yes or no"}

R = TypeVar("R", bound=Recipe)


def with_settings(recipe: R, settings: Iterable[str]) -> R:
    """Return the recipe with some fields changed. Lists are separated by commas.

    >>> from penstock.lab.recipes.codecs_recipe import Codecs
    >>> with_settings(Codecs(), ["seeds=1", "formats=png,jpeg:q=50"]).formats
    ('png', 'jpeg:q=50')
    """
    known = {field.name: field.type for field in fields(recipe)}
    changed: dict[str, Any] = {}
    for item in settings:
        name, equals, text = item.partition("=")
        if not equals or name not in known:
            raise _no_setting(recipe, item, known)
        changed[name] = _value(str(known[name]), text, f"{recipe.name}, --set {item}")
    return replace(recipe, **changed)


def _no_setting(recipe: Recipe, item: str, known: Iterable[str]) -> ArgumentError:
    name = item.partition("=")[0]
    near = get_close_matches(name, known, n=1)
    meant = f"did you mean {near[0]}? " if near and near[0] != name else ""
    fix = meant + f"write NAME=VALUE; `penstock lab list {recipe.name}` shows them: {', '.join(known)}"
    return ArgumentError(f"{item!r} sets nothing", where=f"recipe {recipe.name}", fix=fix, code=100)


def settings_text(recipe: Recipe) -> dict[str, str]:
    """Return every setting as `--set` takes it."""
    return {field.name: _text(getattr(recipe, field.name)) for field in fields(recipe)}


def settings_help(recipe: Recipe) -> dict[str, str]:
    """Return the meaning of each setting, from the text below its field; empty if it has no text.

    >>> from penstock.lab.recipes.codecs_recipe import Codecs
    >>> settings_help(Codecs())["images"]
    'Evenly spread over the data; 0: all.'
    """
    said = {field.name: "" for field in fields(recipe)}
    for kind in reversed(type(recipe).__mro__):
        if is_dataclass(kind):
            body = ast.parse(textwrap.dedent(inspect.getsource(kind))).body[0]
            said |= {name: text for name, text in _texts_below(body) if name in said}
    return said


def _texts_below(kind: ast.stmt) -> Iterator[tuple[str, str]]:
    """Yield (field, text below it) of a class."""
    assert isinstance(kind, ast.ClassDef)
    for node, after in itertools.pairwise(kind.body):
        if not (isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)):
            continue
        if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) and isinstance(after.value.value, str):
            yield node.target.id, " ".join(after.value.value.split())


def _value(kind: str, text: str, where: str) -> Any:  # noqa: ANN401  # of the field's type
    item = kind.removeprefix("tuple[").removesuffix(", ...]")
    readers: dict[str, Callable[[str], Any]] = {"int": int, "float": float, "str": str, "bool": _flag}
    reader = readers[item]
    try:
        if kind != item:
            return tuple(reader(part.strip()) for part in text.split(",") if part.strip())
        return reader(text)
    except ValueError:
        raise ArgumentError(
            f"{text!r} is not {KINDS[item]}", where=where, fix=f"give {KINDS[item]}", code=100
        ) from None


def _flag(text: str) -> bool:
    if text not in ("yes", "no"):
        raise ValueError(text)
    return text == "yes"


def _text(value: object) -> str:
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    return {True: "yes", False: "no"}.get(value, str(value)) if isinstance(value, bool) else str(value)
