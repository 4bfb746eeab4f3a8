"""Objects with the class names, modules and attributes of torchvision's transforms, for where it cannot be installed.

Only what tells them apart: the attributes that constructors of torchvision 0.16 and later leave behind.
"""

from __future__ import annotations

from enum import Enum
from types import SimpleNamespace
from typing import Any

V2 = {
    "CenterCrop": "_geometry",
    "ColorJitter": "_color",
    "Compose": "_container",
    "GaussianBlur": "_misc",
    "Grayscale": "_color",
    "Identity": "_misc",
    "Normalize": "_misc",
    "PILToTensor": "_type_conversion",
    "Pad": "_geometry",
    "RandomAdjustSharpness": "_color",
    "RandomAffine": "_geometry",
    "RandomApply": "_container",
    "RandomAutocontrast": "_color",
    "RandomChoice": "_container",
    "RandomCrop": "_geometry",
    "RandomEqualize": "_color",
    "RandomErasing": "_augment",
    "RandomGrayscale": "_color",
    "RandomHorizontalFlip": "_geometry",
    "RandomInvert": "_color",
    "RandomIoUCrop": "_geometry",
    "RandomOrder": "_container",
    "RandomPerspective": "_geometry",
    "RandomPosterize": "_color",
    "RandomResize": "_geometry",
    "RandomResizedCrop": "_geometry",
    "RandomRotation": "_geometry",
    "RandomShortestSize": "_geometry",
    "RandomSolarize": "_color",
    "RandomVerticalFlip": "_geometry",
    "RandomZoomOut": "_geometry",
    "Resize": "_geometry",
    "SanitizeBoundingBoxes": "_misc",
    "ScaleJitter": "_geometry",
    "ToDtype": "_misc",
    "ToImage": "_type_conversion",
    "ToPureTensor": "_type_conversion",
    "ToTensor": "_deprecated",
}


class InterpolationMode(Enum):
    NEAREST = "nearest"
    BILINEAR = "bilinear"
    BICUBIC = "bicubic"


class Image:
    """Stands for tv_tensors.Image as a key."""


class Mask:
    """Stands for tv_tensors.Mask as a key."""


class _Double(SimpleNamespace):
    def __call__(self, sample: object) -> object:
        return sample


def v2(name: str, **attributes: Any) -> Any:  # noqa: ANN401
    """An object of torchvision.transforms.v2."""
    return type(name, (_Double,), {"__module__": f"torchvision.transforms.v2.{V2[name]}"})(**attributes)


def v1(name: str, **attributes: Any) -> Any:  # noqa: ANN401
    """An object of torchvision.transforms."""
    return type(name, (_Double,), {"__module__": "torchvision.transforms.transforms"})(**attributes)


def imagenet_training() -> Any:  # noqa: ANN401
    """The chain of torchvision's own training recipe."""
    return v2(
        "Compose",
        transforms=[
            v2("ToImage"),
            v2(
                "RandomResizedCrop",
                size=(224, 224),
                scale=(0.08, 1.0),
                ratio=(3 / 4, 4 / 3),
                interpolation=InterpolationMode.BILINEAR,
                antialias=True,
            ),
            v2("RandomHorizontalFlip", p=0.5),
            v2("ToDtype", dtype="torch.float32", scale=True),
            v2("Normalize", mean=[0.485, 0.456, 0.406], std=[0.229, 0.224, 0.225], inplace=False),
            v2("RandomErasing", p=0.1, scale=(0.02, 0.33), ratio=(0.3, 3.3), value=[0.0], inplace=False),
            v2("ToPureTensor"),
        ],
    )
