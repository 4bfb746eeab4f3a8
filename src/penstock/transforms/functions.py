"""Classification of Python transforms: the input of each, and whether it moves pixels.

Objects of torchvision, timm and albumentations are recognised by their classes, without importing these packages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from typing import Any

from penstock.errors import ArgumentError

TORCHVISION = "torchvision.transforms"
V2 = f"{TORCHVISION}.v2"
ALBUMENTATIONS = "albumentations"
CONVERSIONS = frozenset(
    {"MaybePILToTensor", "MaybeToTensor", "PILToTensor", "ToImage", "ToImageTensor", "ToNumpy", "ToTensor"}
)
"""Classes, of any package, that convert a Pillow image to numbers."""
TO_PILLOW = "ToPILImage"
STILL = frozenset(
    {
        "ColorJitter",
        "ConvertImageDtype",
        "GaussianBlur",
        "Grayscale",
        "LinearTransformation",
        "Normalize",
        "RandomAdjustSharpness",
        "RandomAutocontrast",
        "RandomEqualize",
        "RandomErasing",
        "RandomGrayscale",
        "RandomInvert",
        "RandomPosterize",
        "RandomSolarize",
        TO_PILLOW,
    }
)
"""Classes of torchvision's v1 that do not move pixels."""
_MARK = "_penstock_takes"
_DEEP = 4  # depth to which attributes are searched for a conversion


class Takes(Enum):
    """Kind of input that a function takes."""

    IMAGE = "image"
    """Image alone; the function may move pixels."""
    STILL_IMAGE = "still image"
    """Image alone; the function does not move pixels."""
    SAMPLE = "sample"
    """Whole sample as a dict."""
    TENSORS = "tensors"
    """Whole sample for torchvision's v2: a dict with tv_tensors."""
    KEYWORDS = "keywords"
    """Whole sample for albumentations: arrays by keyword."""


class _Marked:
    """Function with a mark that declares its input. It can be pickled if the function can."""

    def __init__(self, function: Callable[..., Any], takes: Takes) -> None:
        self.function = function
        self._penstock_takes = takes.value

    def __call__(self, sample: Any) -> Any:  # noqa: ANN401  # whatever the function takes and gives
        return self.function(sample)

    def __repr__(self) -> str:
        return (
            f"{'photometric' if self._penstock_takes == Takes.STILL_IMAGE.value else 'whole_sample'}({self.function!r})"
        )


def photometric(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Mark a function of an image that moves no pixels, so that masks and boxes stay valid.

    >>> photometric(abs)
    photometric(<built-in function abs>)
    """
    return _marked(function, Takes.STILL_IMAGE)


def whole_sample(function: Callable[[dict[str, Any]], dict[str, Any]]) -> Callable[[Any], Any]:
    """Mark a function that takes a dict of all fields of a sample and returns one.

    The image is in the dict as it would be alone. Masks, boxes and points are tv_tensors in `penstock.torch.Loader`,
    and arrays elsewhere. Fields that the result leaves out do not change.
    """
    return _marked(function, Takes.SAMPLE)


def takes(function: object) -> Takes:
    """Return the kind of input that a function takes."""
    mark = getattr(function, _MARK, None)
    if isinstance(mark, str):
        return Takes(mark)
    for kind in type(function).__mro__:
        if kind.__module__.startswith(V2) and kind.__name__ == "Transform":
            return Takes.TENSORS
        if kind.__module__.startswith(f"{ALBUMENTATIONS}.") and kind.__name__ in ("BaseCompose", "BasicTransform"):
            return Takes.KEYWORDS
    return Takes.STILL_IMAGE if converts(function) or _is_still(function) else Takes.IMAGE


def converts(function: object) -> bool:
    """Return whether a function converts a Pillow image to numbers."""
    return any(kind.__name__ in CONVERSIONS for kind in type(_inner(function)).__mro__)


def is_of_torchvision(function: object) -> bool:
    """Return whether a function belongs to torchvision or timm, which take Pillow images and tensors, not arrays."""
    return any(kind.__module__.startswith((f"{TORCHVISION}.", "timm.data.")) for kind in type(_inner(function)).__mro__)


def wants_pillow(functions: Sequence[object]) -> bool:
    """Return whether the first function should get a Pillow image, because the chain converts it later."""
    for function in functions:
        if _named(function) == TO_PILLOW or takes(function) is Takes.KEYWORDS:
            return False
        if converts(function) or holds_conversion(function):
            return True
    return False


def holds_conversion(function: object, depth: int = _DEEP) -> bool:
    """Return whether an object has a conversion among its attributes, as presets and multi-view transforms do."""
    if isinstance(function, _Marked):
        return holds_conversion(function.function, depth)
    values = getattr(function, "__dict__", None)
    if depth == 0 or not isinstance(values, Mapping) or isinstance(function, type):
        return False
    return any(
        converts(found) or holds_conversion(found, depth - 1) for value in values.values() for found in _items(value)
    )


def name_of(function: object) -> str:
    """Return the name of a function for messages.

    >>> name_of(name_of), name_of(photometric(abs))
    ('name_of', 'abs')
    """
    found = _inner(function)
    return str(getattr(found, "__name__", type(found).__name__))


def refuse_partial(functions: Iterable[object], others: Sequence[str]) -> None:
    """Refuse functions of the image alone if `others` (masks, boxes, points) are delivered with it."""
    for function in functions:
        if others and takes(function) is Takes.IMAGE:
            beside = ", ".join(others)
            name = name_of(function)
            raise ArgumentError(
                f"{name} gets the image alone, and may move pixels that {beside} would not follow",
                where="transform",
                fix="use a torchvision v2 or albumentations transform, which get the whole sample; or mark it: "
                f"penstock.transforms.photometric({name}) if it moves no pixels, whole_sample({name}) if it takes a "
                f'dict of all fields; or load without {beside}: fields=("image", …)',
                code=100,
            )


def _marked(function: Callable[..., Any], kind: Takes) -> Callable[[Any], Any]:
    if not callable(function):
        raise ArgumentError(f"{function!r} is not a function", where="transforms", fix="pass a function of a sample")
    return _Marked(function, kind)


def _inner(function: object) -> object:
    return function.function if isinstance(function, _Marked) else function


def _named(function: object) -> str:
    return type(_inner(function)).__name__


def _is_still(function: object) -> bool:
    kind = type(function)
    return kind.__module__ == f"{TORCHVISION}.transforms" and kind.__name__ in STILL


def _items(value: object) -> Iterable[object]:
    if isinstance(value, Mapping):
        return value.values()
    return value if isinstance(value, (list, tuple)) else (value,)
