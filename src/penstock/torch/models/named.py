"""Models by name: our small ones, the user's `module:function`, or one of torchvision or timm if they are installed."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec

from torch import nn

from penstock.errors import ArgumentError
from penstock.torch.models.plain import alexnet, mobilenet
from penstock.torch.models.residual import resnet8, resnet18
from penstock.torch.models.segmenting import unet

MODELS: dict[str, Callable[[int], nn.Module]] = {
    "alexnet": alexnet,
    "mobilenet": mobilenet,
    "resnet8": resnet8,
    "resnet18": resnet18,
    "unet": unet,
}


def make_model(name: str, num_classes: int) -> nn.Module:
    """A new model. `module:function` is called with the number of classes; `torchvision/NAME`, `timm/NAME` are theirs.

    >>> sum(weights.numel() for weights in make_model("resnet8", 10).parameters())
    78042
    """
    if name in MODELS:
        return MODELS[name](num_classes)
    library, slash, model = name.partition("/")
    if slash and library in ("torchvision", "timm"):
        return _from_library(library, model, num_classes)
    module, colon, function = name.partition(":")
    if colon and find_spec(module) is not None:
        made: nn.Module = getattr(import_module(module), function)(num_classes)
        return made
    known = ", ".join(MODELS)
    fix = f"choose among {known}; or write module:function, torchvision/NAME, timm/NAME"
    raise ArgumentError(f"there is no model {name!r}", where="model", fix=fix, code=100)


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
