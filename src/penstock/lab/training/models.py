"""Models by name: our small ones, the user's `module:function`, or one of torchvision or timm if they are installed."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from torch import nn

from penstock.errors import ArgumentError
from penstock.lab.training.plain_networks import alexnet, mobilenet
from penstock.lab.training.residual_networks import resnet8, resnet18
from penstock.lab.training.segmenting_networks import unet

MODELS: dict[str, Callable[[int], nn.Module]] = {
    "alexnet": alexnet,
    "mobilenet": mobilenet,
    "resnet8": resnet8,
    "resnet18": resnet18,
    "unet": unet,
}


def make_model(name: str, num_classes: int) -> nn.Module:
    """Make a model. `module:function` is called with the number of classes; `torchvision/NAME`, `timm/NAME` also work.

    >>> sum(weights.numel() for weights in make_model("resnet8", 10).parameters())
    78042
    """
    if name in MODELS:
        return MODELS[name](num_classes)
    library, slash, model = name.partition("/")
    if slash and library in ("torchvision", "timm"):
        return _from_library(library, model, num_classes)
    module, colon, function = name.partition(":")
    if colon:
        return _from_module(module, function, num_classes)
    known = ", ".join(MODELS)
    fix = f"choose among {known}; or write module:function, torchvision/NAME, timm/NAME"
    raise ArgumentError(f"there is no model {name!r}", where="model", fix=fix, code=100)


def _from_module(module: str, function: str, num_classes: int) -> nn.Module:
    """Make a user's model; modules of the working directory work too, as with `python -m`."""
    if str(Path.cwd()) not in sys.path:
        sys.path.append(str(Path.cwd()))
    try:
        found = import_module(module)
    except ModuleNotFoundError as missing:
        if not f"{module}.".startswith(f"{missing.name}."):
            raise  # of something that it imports
        raise ArgumentError(
            f"there is no module {missing.name!r}",
            where=f"model {module}:{function}",
            fix="start in its folder, install it, or put its folder on PYTHONPATH",
            code=100,
        ) from missing
    make = getattr(found, function, None)
    if not callable(make):
        raise ArgumentError(
            f"{module} has no function {function!r}",
            where=f"model {module}:{function}",
            fix="name a function that takes the number of classes and gives a torch module",
            code=100,
        )
    made: nn.Module = make(num_classes)
    return made


def _from_library(library: str, model: str, num_classes: int) -> nn.Module:
    if find_spec(library) is None:
        raise ArgumentError(
            f"{library} is not installed", where=f"model {library}/{model}", fix=f"pip install {library}"
        )
    maker = (
        import_module("torchvision.models").get_model
        if library == "torchvision"
        else import_module("timm").create_model
    )
    made: nn.Module = maker(model, num_classes=num_classes)
    return made
