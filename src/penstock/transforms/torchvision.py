"""Conversion of torchvision's transforms, v2 and v1, by class name and attributes, without torchvision.

An object is converted only if it has the same meaning as ours. Any doubt (a subclass, an unknown option) leaves it to
Python.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from penstock.errors import ArgumentError
from penstock.transforms.colors import (
    GaussianBlur,
    Grayscale,
    RandomAdjustSharpness,
    RandomAutocontrast,
    RandomEqualize,
    RandomGrayscale,
    RandomInvert,
    RandomPosterize,
    RandomSolarize,
)
from penstock.transforms.erasing import RandomErasing
from penstock.transforms.geometry import (
    CenterCrop,
    RandomCrop,
    RandomHorizontalFlip,
    RandomResizedCrop,
    Resize,
    ScaleJitter,
)
from penstock.transforms.groups import RandomApply, RandomChoice, RandomOrder, Sequential
from penstock.transforms.pads import Pad, RandomResize, RandomShortestSize, RandomVerticalFlip, RandomZoomOut
from penstock.transforms.transform import Transform
from penstock.transforms.values import ColorJitter, Normalize, ToDtype
from penstock.transforms.warps import RandomAffine, RandomPerspective, RandomRotation

PACKAGE = "torchvision.transforms"

Found: TypeAlias = Any
"""Object of a class that is not imported here."""


def members(transform: object) -> Iterable[Found] | None:
    """Return the members of a Compose, or None for other objects."""
    return list(transform.transforms) if _kind(transform) == "Compose" else None  # type: ignore[attr-defined]


def recognise(transform: object) -> list[Transform] | None:
    """Convert a transform to ours, or return None if there is no equivalent."""
    read = _READERS.get(_kind(transform))
    try:
        return None if read is None else read(transform)
    except (ArgumentError, AttributeError):
        return None


def _kind(transform: object) -> str:
    """Return the class name of a transform of torchvision itself; empty for others."""
    kind = type(transform)
    return kind.__name__ if kind.__module__.startswith(PACKAGE) else ""


def _resize(found: Found) -> list[Transform]:
    size = found.size
    return [Resize(size if size is None else _sides(size), _mode(found), found.max_size, _antialias(found))]


def _center_crop(found: Found) -> list[Transform]:
    return [CenterCrop(_sides(found.size))]


def _random_crop(found: Found) -> list[Transform]:
    padding = found.padding
    if padding is not None and _is_v2(found):
        left, right, top, bottom = padding  # v2 keeps them in this order
        padding = (left, top, right, bottom)
    return [RandomCrop(_sides(found.size), padding, found.pad_if_needed, _fill(found), found.padding_mode)]


def _random_resized_crop(found: Found) -> list[Transform]:
    scale, ratio = tuple(found.scale), tuple(found.ratio)
    return [RandomResizedCrop(_sides(found.size), scale, ratio, _mode(found), _antialias(found))]


def _scale_jitter(found: Found) -> list[Transform]:
    return [ScaleJitter(tuple(found.target_size), tuple(found.scale_range), _mode(found), _antialias(found))]


def _vertical_flip(found: Found) -> list[Transform]:
    return [RandomVerticalFlip(found.p)]


def _pad(found: Found) -> list[Transform]:
    padding = found.padding if isinstance(found.padding, int) else tuple(found.padding)
    return [Pad(padding, _fill(found), found.padding_mode)]


def _zoom_out(found: Found) -> list[Transform]:
    return [RandomZoomOut(_fill(found), tuple(found.side_range), found.p)]


def _random_resize(found: Found) -> list[Transform]:
    return [RandomResize(found.min_size, found.max_size, _mode(found), _antialias(found))]


def _shortest_size(found: Found) -> list[Transform]:
    return [RandomShortestSize(tuple(found.min_size), found.max_size, _mode(found), _antialias(found))]


def _erasing(found: Found) -> list[Transform]:
    value = "random" if found.value is None else found.value
    value = tuple(value) if isinstance(value, list) else value
    return [RandomErasing(found.p, tuple(found.scale), tuple(found.ratio), value)]


def _rotation(found: Found) -> list[Transform]:
    return [RandomRotation(tuple(found.degrees), _mode(found), found.expand, found.center, _fill(found))]


def _affine(found: Found) -> list[Transform]:
    translate, scale, shear = (
        None if value is None else tuple(value) for value in (found.translate, found.scale, found.shear)
    )
    return [RandomAffine(tuple(found.degrees), translate, scale, shear, _mode(found), _fill(found), found.center)]


def _perspective(found: Found) -> list[Transform]:
    return [RandomPerspective(found.distortion_scale, found.p, _mode(found), _fill(found))]


def _flip(found: Found) -> list[Transform]:
    return [RandomHorizontalFlip(found.p)]


def _color_jitter(found: Found) -> list[Transform]:
    return [ColorJitter(found.brightness, found.contrast, found.saturation, found.hue)]


def _grayscale(found: Found) -> list[Transform]:
    return [Grayscale(found.num_output_channels)]


def _gaussian_blur(found: Found) -> list[Transform]:
    return [GaussianBlur(tuple(found.kernel_size), tuple(found.sigma))]


def _with_probability(kind: Callable[..., Transform], *names: str) -> Callable[[Found], list[Transform]]:
    """Return a reader of transforms whose attributes have the names of our parameters, `p` among them."""
    return lambda found: [kind(*[getattr(found, name) for name in names], p=found.p)]


def _random_apply(found: Found) -> list[Transform]:
    inner = [one for member in found.transforms for one in _member(member)]
    return [RandomApply(inner, found.p)] if inner else []


def _random_choice(found: Found) -> list[Transform]:
    return [RandomChoice([Sequential(_member(member)) for member in found.transforms], found.p)]


def _random_order(found: Found) -> list[Transform]:
    return [RandomOrder([Sequential(_member(member)) for member in found.transforms])]


def _member(transform: Found) -> list[Transform]:
    """Convert a member of a group, which can hold only what may come and go: no types, no ranges."""
    inner = members(transform)
    if inner is not None:
        return [one for member in inner for one in _member(member)]
    known = [transform] if isinstance(transform, Transform) else recognise(transform)
    if known is None or any(isinstance(one, (ToDtype, Normalize, RandomErasing)) for one in known):
        raise ArgumentError("a member that does not run natively")
    return known


def _classification_preset(found: Found) -> list[Transform]:
    resize = Resize(_one(found.resize_size), _mode(found), None, _antialias(found))
    crop = CenterCrop(_one(found.crop_size))
    return [resize, crop, ToDtype("float32", scale=True), *_normalize(found)]


def _one(size: Found) -> int | tuple[int, ...]:
    sides = tuple(size)
    return int(sides[0]) if len(sides) == 1 else sides


def _to_dtype(found: Found) -> list[Transform]:
    dtype = found.dtype
    if isinstance(dtype, Mapping):
        by_name = {getattr(key, "__name__", key): value for key, value in dtype.items()}
        others = {name: value for name, value in by_name.items() if name != "Image" and value is not None}
        if others or by_name.get("Image") is None:
            raise ArgumentError("types of other fields")
        dtype = by_name["Image"]
    return [ToDtype(dtype, found.scale)]


def _convert_image_dtype(found: Found) -> list[Transform]:
    return [ToDtype(found.dtype, scale=True)]


def _to_tensor(_found: Found) -> list[Transform]:
    return [ToDtype("float32", scale=True)]


def _normalize(found: Found) -> list[Transform]:
    return [Normalize([float(value) for value in found.mean], [float(value) for value in found.std])]


def _nothing(_found: Found) -> list[Transform]:
    return []


_READERS: dict[str, Callable[[Found], list[Transform]]] = {
    "CenterCrop": _center_crop,
    "ColorJitter": _color_jitter,
    "ConvertImageDtype": _convert_image_dtype,
    "GaussianBlur": _gaussian_blur,
    "Grayscale": _grayscale,
    "Identity": _nothing,
    "ImageClassification": _classification_preset,
    "Normalize": _normalize,
    "PILToTensor": _nothing,
    "Pad": _pad,
    "RandomAdjustSharpness": _with_probability(RandomAdjustSharpness, "sharpness_factor"),
    "RandomAffine": _affine,
    "RandomApply": _random_apply,
    "RandomAutocontrast": _with_probability(RandomAutocontrast),
    "RandomChoice": _random_choice,
    "RandomCrop": _random_crop,
    "RandomEqualize": _with_probability(RandomEqualize),
    "RandomErasing": _erasing,
    "RandomGrayscale": _with_probability(RandomGrayscale),
    "RandomHorizontalFlip": _flip,
    "RandomInvert": _with_probability(RandomInvert),
    "RandomOrder": _random_order,
    "RandomPerspective": _perspective,
    "RandomPosterize": _with_probability(RandomPosterize, "bits"),
    "RandomResize": _random_resize,
    "RandomResizedCrop": _random_resized_crop,
    "RandomRotation": _rotation,
    "RandomShortestSize": _shortest_size,
    "RandomSolarize": _with_probability(RandomSolarize, "threshold"),
    "RandomVerticalFlip": _vertical_flip,
    "RandomZoomOut": _zoom_out,
    "Resize": _resize,
    "ScaleJitter": _scale_jitter,
    "ToDtype": _to_dtype,
    "ToImage": _nothing,
    "ToPureTensor": _nothing,
    "ToTensor": _to_tensor,
}


def _is_v2(found: object) -> bool:
    return type(found).__module__.startswith(f"{PACKAGE}.v2")


def _sides(size: Found) -> int | tuple[int, ...]:
    return size if isinstance(size, int) else tuple(size)


def _mode(found: Found) -> Found:
    return getattr(found.interpolation, "value", found.interpolation)


def _antialias(found: Found) -> bool | None:
    # Pillow images, the usual input of these chains, are antialiased in any case; old releases say "warn".
    antialias = getattr(found, "antialias", True)
    return True if antialias in (None, "warn") else bool(antialias)


def _fill(found: Found) -> Found:
    """Return the fill of a transform; torchvision's v2 keeps it as a dict of the classes of fields."""
    return (_fills(found.fill) if isinstance(found.fill, Mapping) else found.fill) or 0


def _fills(fill: Mapping[object, Found]) -> dict[str, Found]:
    """Convert fills to fields; torchvision keys them by the class of a field."""
    by_name = {getattr(key, "__name__", key): value for key, value in fill.items()}
    if set(by_name) - {"Image", "Mask", "others"}:
        raise ArgumentError("fills of other fields")
    others = by_name.get("others", 0)
    return {"image": by_name.get("Image", others) or 0, "mask": by_name.get("Mask", others) or 0}
