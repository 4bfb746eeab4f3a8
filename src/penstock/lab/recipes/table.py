"""The recipes by name."""

from __future__ import annotations

from penstock.errors import ArgumentError
from penstock.lab.recipe import Recipe
from penstock.lab.recipes.codecs import Codecs
from penstock.lab.recipes.thrash import Thrash

RECIPES: dict[str, type[Recipe]] = {kind.name: kind for kind in (Codecs, Thrash)}


def find_recipe(name: str) -> Recipe:
    """A recipe with its own settings."""
    if name not in RECIPES:
        raise ArgumentError(
            f"there is no recipe {name!r}", where="lab", fix=f"choose among {', '.join(RECIPES)}", code=100
        )
    return RECIPES[name]()
