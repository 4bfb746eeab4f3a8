"""Transforms that run in Python: what each of them takes, and whether it moves pixels.

Objects of torchvision, timm and albumentations are told by their classes, without importing any of these packages.
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
"""Classes whose work is to make numbers of a Pillow image, whatever package they come from."""
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
"""Classes of torchvision's first version that leave pixels where they are."""
_MARK = "_penstock_takes"
_DEEP = 4  # so far down attributes are searched for a conversion


class Takes(Enum):
    """What a function is called with."""

    IMAGE = "image"
    """The image alone, and it may move pixels."""
    STILL_IMAGE = "still image"
    """The image alone, whose pixels stay where they are."""
    SAMPLE = "sample"
    """The whole sample, as a dict."""
    TENSORS = "tensors"
    """The whole sample, as torchvision's v2 takes it: a dict with tv_tensors."""
    KEYWORDS = "keywords"
    """The whole sample, as albumentations takes it: arrays by keyword."""


class _Marked:
    """A function, and what it says of itself. Goes to another process if the function does."""

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
    """Mark a function of an image as one that moves no pixels, so that masks and boxes beside it stay right.

    >>> photometric(abs)
    photometric(<built-in function abs>)
    """
    return _marked(function, Takes.STILL_IMAGE)


def whole_sample(function: Callable[[dict[str, Any]], dict[str, Any]]) -> Callable[[Any], Any]:
    """Mark a function as one of the whole sample: it takes a dict of all its fields, and gives one back.

    The image is in the dict as it would be alone; masks, boxes and points are tv_tensors in `penstock.torch.Loader`,
    arrays elsewhere. Fields that the result leaves out stay as they were.
    """
    return _marked(function, Takes.SAMPLE)


def takes(function: object) -> Takes:
    """What a function is to be called with."""
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
    """Whether a function is one of those that make numbers of a Pillow image."""
    return any(kind.__name__ in CONVERSIONS for kind in type(_inner(function)).__mro__)


def is_of_torchvision(function: object) -> bool:
    """Whether a function is an object of torchvision or timm, which know Pillow images and tensors, not arrays."""
    return any(kind.__module__.startswith((f"{TORCHVISION}.", "timm.data.")) for kind in type(_inner(function)).__mro__)


def wants_pillow(functions: Sequence[object]) -> bool:
    """Whether the first of these functions is to get a Pillow image: the chain makes numbers of it later by itself."""
    for function in functions:
        if _named(function) == TO_PILLOW or takes(function) is Takes.KEYWORDS:
            return False
        if converts(function) or holds_conversion(function):
            return True
    return False


def holds_conversion(function: object, depth: int = _DEEP) -> bool:
    """Whether an object has a conversion among its attributes, as presets and multi-view transforms do."""
    if isinstance(function, _Marked):
        return holds_conversion(function.function, depth)
    values = getattr(function, "__dict__", None)
    if depth == 0 or not isinstance(values, Mapping) or isinstance(function, type):
        return False
    return any(
        converts(found) or holds_conversion(found, depth - 1) for value in values.values() for found in _items(value)
    )


def name_of(function: object) -> str:
    """How a message calls a function.

    >>> name_of(name_of), name_of(photometric(abs))
    ('name_of', 'abs')
    """
    found = _inner(function)
    return str(getattr(found, "__name__", type(found).__name__))


def refuse_partial(functions: Iterable[object], others: Sequence[str]) -> None:
    """Refuse functions of the image alone where `others` (masks, boxes, points) are delivered beside it."""
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
        raise ArgumentError(f"{function!r} is no function", where="transforms", fix="pass a function of a sample")
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
