"""Arguments are torchvision's; wrong ones are refused where they are written, with what would be right."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import FrozenInstanceError

import pytest

from penstock import ArgumentError
from penstock.transforms import (
    CenterCrop,
    ColorJitter,
    InterpolationMode,
    Normalize,
    Pad,
    RandomAffine,
    RandomCrop,
    RandomHorizontalFlip,
    RandomPerspective,
    RandomResize,
    RandomResizedCrop,
    RandomRotation,
    RandomShortestSize,
    RandomVerticalFlip,
    RandomZoomOut,
    Remap,
    Resize,
    ScaleJitter,
    ToDtype,
    Transform,
)

WRONG: list[tuple[Callable[[], Transform], str]] = [
    (lambda: Resize(0), "not a size"),
    (lambda: Resize((1, 2, 3)), "not a size"),
    (lambda: Resize(None), "neither size nor max_size"),
    (lambda: Resize(64, max_size=64), "must be above size"),
    (lambda: Resize((64, 64), max_size=80), "one number"),
    (lambda: Resize(64, "cubic"), "no interpolation"),  # type: ignore[arg-type]
    (lambda: Resize(64, antialias=False), "antialias=False is not supported"),
    (lambda: CenterCrop(-3), "not a size"),
    (lambda: CenterCrop(2.5), "not a size"),  # type: ignore[arg-type]
    (lambda: RandomCrop(32, padding=(1, 2, 3)), "not a padding"),
    (lambda: RandomCrop(32, padding=-1), "not a padding"),
    (lambda: RandomCrop(32, padding_mode="wrap"), "no padding mode"),
    (lambda: RandomCrop(32, fill={"label": 3}), "fill names"),
    (lambda: RandomCrop(32, fill=[1, 2, 3, 4, 5]), "not a colour"),
    (lambda: RandomResizedCrop(32, scale=(1.0, 0.1)), "not a range"),
    (lambda: RandomResizedCrop(32, ratio=(0.0, 1.0)), "begins at 0"),
    (lambda: RandomResizedCrop(32, scale=0.5), "not a range"),  # type: ignore[arg-type]
    (lambda: ScaleJitter((32, 32), scale_range=(-1, 2)), "not a range"),
    (lambda: RandomHorizontalFlip(1.5), "not a probability"),
    (lambda: Pad(-1), "not a padding"),
    (lambda: Pad(1, padding_mode="wrap"), "no padding mode is called 'wrap'"),
    (lambda: RandomVerticalFlip(-0.1), "p=-0.1 is not a probability"),
    (lambda: RandomZoomOut(side_range=(0.5, 2)), "side_range=.* is not a range"),
    (lambda: RandomResize(9, 9), "must be above min_size"),
    (lambda: RandomShortestSize([]), "min_size is empty"),
    (lambda: RandomResizedCrop(9, interpolation=[]), "no interpolation is given"),
    (lambda: RandomRotation(-30), "not a range"),
    (lambda: RandomRotation(30, "lanczos"), "has no interpolation"),  # type: ignore[arg-type]
    (lambda: RandomRotation(30, center=(1,)), "not a position"),
    (lambda: RandomAffine(0, translate=(0.5, 2)), "pair of shares"),
    (lambda: RandomAffine(0, scale=(0, 1)), "scale=.* is not a range"),
    (lambda: RandomAffine(0, shear=(1, 2, 3)), "shear=.* is not a range"),
    (lambda: RandomPerspective(1.5), "outside of 0 to 1"),
    (lambda: ColorJitter(brightness=-1), "negative"),
    (lambda: ColorJitter(hue=0.7), "not a range"),
    (lambda: ColorJitter(contrast=(2, 1)), "not a range"),
    (lambda: ToDtype("int64"), "cannot become"),
    (lambda: ToDtype("no type"), "cannot become"),
    (lambda: Normalize([0.5, 0.5], [1.0]), "2 means and 1"),
    (lambda: Normalize([0.5], [0.0]), "cannot normalise"),
    (lambda: Remap({1: 70000}), "outside of 0 to 65535"),
]


@pytest.mark.parametrize(("make", "message"), WRONG, ids=[message for _, message in WRONG])
def test_wrong_arguments_are_refused_with_a_remedy(make: Callable[[], Transform], message: str) -> None:
    with pytest.raises(ArgumentError, match=message) as refused:
        make()

    assert refused.value.fix


def test_transforms_are_values() -> None:
    assert RandomResizedCrop(224) == RandomResizedCrop((224, 224))
    assert len({Remap({1: 2}), Remap({1: 2}), Resize(3), Resize(3)}) == 2
    with pytest.raises(FrozenInstanceError):
        Resize(3).size = 4  # type: ignore[misc]


def test_interpolation_may_be_pillows_number_or_a_name() -> None:
    assert Resize(8, 3) == Resize(8, "bicubic") == Resize(8, InterpolationMode.BICUBIC)  # type: ignore[arg-type]
    assert InterpolationMode.NEAREST_EXACT.filter == "nearest"


def test_antialiasing_cannot_be_turned_off_but_nearest_has_none() -> None:
    assert Resize(8, InterpolationMode.NEAREST, antialias=False).antialias is False
