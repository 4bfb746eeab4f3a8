"""`--set name=value`: changes fields of a recipe, by the type they are declared with."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import fields, replace
from typing import Any, TypeVar

from penstock.errors import ArgumentError
from penstock.lab.recipe import Recipe

R = TypeVar("R", bound=Recipe)


def with_settings(recipe: R, settings: Iterable[str]) -> R:
    """The recipe with some fields changed. Lists are separated by commas.

    >>> from penstock.lab.recipes.codecs import Codecs
    >>> with_settings(Codecs(), ["seeds=1", "formats=png,jpeg:q=50"]).formats
    ('png', 'jpeg:q=50')
    """
    known = {field.name: field.type for field in fields(recipe)}
    changed: dict[str, Any] = {}
    for item in settings:
        name, equals, text = item.partition("=")
        if not equals or name not in known:
            told = ", ".join(f"{key}={_text(getattr(recipe, key))}" for key in known)
            raise ArgumentError(f"{item!r} sets nothing", where=f"recipe {recipe.name}", fix=f"it has {told}", code=100)
        changed[name] = _value(str(known[name]), text, f"{recipe.name}, --set {item}")
    return replace(recipe, **changed)


def settings_text(recipe: Recipe) -> dict[str, str]:
    """Every setting as `--set` would take it."""
    return {field.name: _text(getattr(recipe, field.name)) for field in fields(recipe)}


def _value(kind: str, text: str, where: str) -> Any:  # noqa: ANN401  # of the field's type
    item = kind.removeprefix("tuple[").removesuffix(", ...]")
    readers: dict[str, Callable[[str], Any]] = {"int": int, "float": float, "str": str, "bool": _flag}
    reader = readers[item]
    try:
        if kind != item:
            return tuple(reader(part.strip()) for part in text.split(",") if part.strip())
        return reader(text)
    except ValueError:
        raise ArgumentError(f"{text!r} is no {item}", where=where, fix=f"give a {kind}", code=100) from None


def _flag(text: str) -> bool:
    if text not in ("yes", "no"):
        raise ValueError(text)
    return text == "yes"


def _text(value: object) -> str:
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    return {True: "yes", False: "no"}.get(value, str(value)) if isinstance(value, bool) else str(value)
