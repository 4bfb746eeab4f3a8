"""Python transforms of a chain, prepared: checks which fields they handle, and refuses wrong combinations."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any

from penstock.functions.forms import Arrays, Forms
from penstock.functions.keywords import check_keywords
from penstock.functions.sample import SampleFunctions
from penstock.load.batch_columns import Boxes, Lists, Points
from penstock.load.engine_table import EngineTable
from penstock.load.failures import FailureLog
from penstock.load.plan_values import PlanValues
from penstock.load.python_stage import PythonStage, choose_place
from penstock.transforms.functions import Takes, is_of_torchvision, refuse_partial, takes

TENSORS = "penstock.torch.python_transforms"
JOINT = (Takes.TENSORS, Takes.SAMPLE, Takes.KEYWORDS)

Function = Callable[[Any], Any]


def open_stage(plan: PlanValues, roles: dict[str, str], forms: Forms) -> PythonStage | None:
    """Open the stage for transforms that run in Python; None if all are native.

    Refuses functions that would change the image and leave its masks, boxes or points behind.
    """
    chain, output = plan.chain, plan.options.output
    if not chain.python_transforms:
        return None
    refuse_partial(chain.python_transforms, [name for name, role in roles.items() if role != "list"])
    joint = [function for function in chain.python_transforms if takes(function) in JOINT]
    for function in joint:
        if takes(function) is Takes.KEYWORDS:
            check_keywords(function, roles)
    moved = roles if joint else {}
    functions = SampleFunctions(chain.python_transforms, moved, forms, output.layout, converted=chain.converted)
    place = choose_place(functions, chain.python_transforms, output.python_workers, plan.resources.threads)
    return PythonStage(functions, place, FailureLog(plan.options.errors))


def roles_of(samples: EngineTable, delivered: Sequence[str] | None) -> dict[str, str]:
    """Return the roles of delivered fields except the image: images, masks, boxes, points, lists of numbers."""
    roles: dict[str, str] = {}
    for name in samples.image_fields[1:]:
        roles[name] = "mask" if name in samples.masks else "image"
    for name, column in samples.lists.items():
        if isinstance(column, Boxes):
            roles[name] = "boxes"
        elif isinstance(column, Lists):
            is_point = isinstance(column, Points) and column.values.shape[1:] == (2,)
            roles[name] = "points" if is_point else "list"
    return roles if delivered is None else {name: role for name, role in roles.items() if name in delivered}


def forms_of(functions: Sequence[Function]) -> Forms:
    """Return the forms of a loader that delivers arrays; tensors are only for torchvision's objects."""
    if any(takes(function) is Takes.TENSORS or is_of_torchvision(function) for function in functions):
        # By name: this folder knows no torch, and there are no such objects without it.
        found: Forms = importlib.import_module(TENSORS).Tensors(own_arrays=True)
        return found
    return Arrays()
