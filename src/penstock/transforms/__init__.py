"""Transforms of images, masks and boxes, with the names, parameters and meaning of torchvision's v2, in native code."""

from penstock.transforms.apply import apply, apply_boxes, apply_points
from penstock.transforms.chain import Chain, split
from penstock.transforms.colors import (
    GaussianBlur,
    Grayscale,
    PillowGaussianBlur,
    RandomAdjustSharpness,
    RandomAutocontrast,
    RandomEqualize,
    RandomGrayscale,
    RandomInvert,
    RandomPosterize,
    RandomSolarize,
    SolarizeAdd,
)
from penstock.transforms.erasing import RandomErasing
from penstock.transforms.functions import photometric, whole_sample
from penstock.transforms.geometry import (
    CenterCrop,
    RandomCrop,
    RandomHorizontalFlip,
    RandomResizedCrop,
    Resize,
    ScaleJitter,
)
from penstock.transforms.groups import RandomApply, RandomChoice, RandomOrder, Sequential
from penstock.transforms.pads import (
    Letterbox,
    Pad,
    PadIfSmaller,
    RandomResize,
    RandomShortestSize,
    RandomVerticalFlip,
    RandomZoomOut,
)
from penstock.transforms.seeding import seeded
from penstock.transforms.transform import InterpolationMode, Transform
from penstock.transforms.values import ColorJitter, Normalize, Remap, ToDtype
from penstock.transforms.warps import RandomAffine, RandomPerspective, RandomRotation

__all__ = [
    "CenterCrop",
    "Chain",
    "ColorJitter",
    "GaussianBlur",
    "Grayscale",
    "InterpolationMode",
    "Letterbox",
    "Normalize",
    "Pad",
    "PadIfSmaller",
    "PillowGaussianBlur",
    "RandomAdjustSharpness",
    "RandomAffine",
    "RandomApply",
    "RandomAutocontrast",
    "RandomChoice",
    "RandomCrop",
    "RandomEqualize",
    "RandomErasing",
    "RandomGrayscale",
    "RandomHorizontalFlip",
    "RandomInvert",
    "RandomOrder",
    "RandomPerspective",
    "RandomPosterize",
    "RandomResize",
    "RandomResizedCrop",
    "RandomRotation",
    "RandomShortestSize",
    "RandomSolarize",
    "RandomVerticalFlip",
    "RandomZoomOut",
    "Remap",
    "Resize",
    "ScaleJitter",
    "Sequential",
    "SolarizeAdd",
    "ToDtype",
    "Transform",
    "apply",
    "apply_boxes",
    "apply_points",
    "photometric",
    "seeded",
    "split",
    "whole_sample",
]
