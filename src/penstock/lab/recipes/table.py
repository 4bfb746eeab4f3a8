"""Table of recipes by name, in the order of the guide."""

from __future__ import annotations

from penstock.errors import ArgumentError
from penstock.lab.recipes.bottleneck import Bottleneck
from penstock.lab.recipes.codecs_recipe import Codecs
from penstock.lab.recipes.contract import Recipe
from penstock.lab.recipes.dropin import DropIn
from penstock.lab.recipes.fidelity_recipe import Fidelity
from penstock.lab.recipes.lossless import Lossless
from penstock.lab.recipes.mix import Mix
from penstock.lab.recipes.orthogonal import Orthogonal
from penstock.lab.recipes.regimen import Regimen
from penstock.lab.recipes.storage_budget import StorageBudget
from penstock.lab.recipes.thrash import Thrash
from penstock.lab.recipes.time_budget import TimeBudget
from penstock.lab.recipes.train_recipe import Train
from penstock.lab.recipes.whatif import WhatIf

KINDS: tuple[type[Recipe], ...] = (
    Bottleneck,
    Thrash,
    Mix,
    Train,
    Lossless,
    Codecs,
    DropIn,
    TimeBudget,
    StorageBudget,
    Regimen,
    Orthogonal,
    Fidelity,
    WhatIf,
)
RECIPES: dict[str, type[Recipe]] = {kind.name: kind for kind in KINDS}


def find_recipe(name: str) -> Recipe:
    """Return a recipe with its default settings."""
    if name not in RECIPES:
        raise ArgumentError(
            f"there is no recipe {name!r}", where="lab", fix=f"choose among {', '.join(RECIPES)}", code=100
        )
    return RECIPES[name]()
