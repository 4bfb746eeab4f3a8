"""Chains of torchvision's objects are read as ours, as far as ours go."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from penstock import ArgumentError
from penstock.transforms import (
    CenterCrop,
    ColorJitter,
    GaussianBlur,
    Grayscale,
    InterpolationMode,
    Normalize,
    Pad,
    RandomAdjustSharpness,
    RandomAffine,
    RandomApply,
    RandomAutocontrast,
    RandomChoice,
    RandomCrop,
    RandomEqualize,
    RandomErasing,
    RandomGrayscale,
    RandomHorizontalFlip,
    RandomInvert,
    RandomOrder,
    RandomPerspective,
    RandomPosterize,
    RandomResize,
    RandomResizedCrop,
    RandomRotation,
    RandomShortestSize,
    RandomSolarize,
    RandomVerticalFlip,
    RandomZoomOut,
    Resize,
    ScaleJitter,
    Sequential,
    ToDtype,
    Transform,
    split,
)
from tests.torchvision_doubles import Image, Mask, imagenet_training, v1, v2
from tests.torchvision_doubles import InterpolationMode as Theirs

SAME: list[tuple[Callable[[object], object], Transform]] = [
    (v2("Grayscale", num_output_channels=3), Grayscale()),
    (v1("RandomGrayscale", p=0.2), RandomGrayscale(0.2)),
    (v2("RandomSolarize", threshold=128, p=0.2), RandomSolarize(128, 0.2)),
    (v2("RandomPosterize", bits=3, p=0.4), RandomPosterize(3, 0.4)),
    (v2("RandomInvert", p=0.3), RandomInvert(0.3)),
    (v2("RandomAutocontrast", p=0.3), RandomAutocontrast(0.3)),
    (v1("RandomEqualize", p=0.3), RandomEqualize(0.3)),
    (v2("RandomAdjustSharpness", sharpness_factor=2, p=0.3), RandomAdjustSharpness(2, 0.3)),
    (v2("GaussianBlur", kernel_size=(9, 7), sigma=(0.1, 5.0)), GaussianBlur((9, 7), (0.1, 5.0))),
    (
        v1("RandomApply", transforms=[v1("RandomInvert", p=0.3), v1("RandomEqualize", p=1)], p=0.8),
        RandomApply([RandomInvert(0.3), RandomEqualize(1)], 0.8),
    ),
    (
        v2("RandomChoice", transforms=[v2("Identity"), v2("RandomInvert", p=1)], p=[0.25, 0.75]),
        RandomChoice([Sequential([]), Sequential([RandomInvert(1)])], [0.25, 0.75]),
    ),
    (
        v2("RandomOrder", transforms=[v2("RandomInvert", p=1), RandomHorizontalFlip()]),
        RandomOrder([Sequential([RandomInvert(1)]), Sequential([RandomHorizontalFlip()])]),
    ),
    (
        v2("Resize", size=[256], interpolation=Theirs.BICUBIC, max_size=None, antialias=True),
        Resize(256, InterpolationMode.BICUBIC),
    ),
    (v2("Resize", size=[30, 40], interpolation=Theirs.BILINEAR, max_size=None, antialias=True), Resize((30, 40))),
    (
        v2("Resize", size=None, interpolation=Theirs.BILINEAR, max_size=99, antialias=True),
        Resize(None, max_size=99),
    ),
    (v1("Resize", size=256, interpolation=Theirs.BILINEAR, max_size=None, antialias=None), Resize(256)),
    (v1("Resize", size=256, interpolation=Theirs.BILINEAR, max_size=None, antialias="warn"), Resize(256)),
    (v2("CenterCrop", size=(224, 224)), CenterCrop(224)),
    (
        v2(
            "RandomCrop",
            size=(32, 32),
            padding=[1, 3, 2, 4],  # left, right, top, bottom
            pad_if_needed=True,
            fill={Image: 127, Mask: 255},
            padding_mode="constant",
        ),
        RandomCrop(32, (1, 2, 3, 4), pad_if_needed=True, fill={"image": 127, "mask": 255}),
    ),
    (
        v1("RandomCrop", size=(32, 32), padding=4, pad_if_needed=False, fill=0, padding_mode="reflect"),
        RandomCrop(32, 4, padding_mode="reflect"),
    ),
    (
        v2(
            "ScaleJitter", target_size=(512, 768), scale_range=(0.1, 2.0), interpolation=Theirs.BILINEAR, antialias=True
        ),
        ScaleJitter((512, 768)),
    ),
    (v2("RandomHorizontalFlip", p=0.25), RandomHorizontalFlip(0.25)),
    (v1("RandomVerticalFlip", p=0.25), RandomVerticalFlip(0.25)),
    (
        v2("Pad", padding=[1, 2], fill={Image: 114, "others": 0}, padding_mode="constant"),
        Pad((1, 2), {"image": 114, "mask": 0}),
    ),
    (v2("RandomZoomOut", fill=9, side_range=(1.0, 2.0), p=0.3), RandomZoomOut(9, (1.0, 2.0), 0.3)),
    (
        v2("RandomResize", min_size=8, max_size=16, interpolation=Theirs.BICUBIC, antialias=True),
        RandomResize(8, 16, InterpolationMode.BICUBIC),
    ),
    (
        v2("RandomShortestSize", min_size=[8, 16], max_size=20, interpolation=Theirs.BILINEAR, antialias=True),
        RandomShortestSize([8, 16], 20),
    ),
    (
        v2(
            "RandomRotation",
            degrees=[-30.0, 30.0],
            interpolation=Theirs.BILINEAR,
            expand=True,
            center=None,
            fill={"others": None},
        ),
        RandomRotation(30, InterpolationMode.BILINEAR, expand=True, fill={"image": 0, "mask": 0}),
    ),
    (
        v1(
            "RandomAffine",
            degrees=[-9.0, 9.0],
            translate=(0.1, 0.2),
            scale=None,
            shear=[-5.0, 5.0],
            interpolation=Theirs.NEAREST,
            fill=3,
            center=None,
        ),
        RandomAffine(9, (0.1, 0.2), shear=5, fill=3),
    ),
    (
        v2("RandomPerspective", distortion_scale=0.3, p=0.9, interpolation=Theirs.BILINEAR, fill={Image: 9, Mask: 255}),
        RandomPerspective(0.3, 0.9, fill={"image": 9, "mask": 255}),
    ),
    (
        v2("ColorJitter", brightness=(0.6, 1.4), contrast=None, saturation=None, hue=(-0.1, 0.1)),
        ColorJitter(brightness=0.4, hue=0.1),
    ),
    (v2("ToDtype", dtype="torch.float16", scale=False), ToDtype("float16")),
    (v2("ToDtype", dtype={Image: "torch.float32", "others": None}, scale=True), ToDtype("float32", scale=True)),
    (v1("ToTensor"), ToDtype("float32", scale=True)),
    (v2("ToTensor"), ToDtype("float32", scale=True)),
]


@pytest.mark.parametrize(("theirs", "ours"), SAME, ids=lambda value: type(value).__name__)
def test_an_object_is_read_as_ours(theirs: Callable[[object], object], ours: Transform) -> None:
    chain = split(theirs)

    assert chain.native == (ours,)
    assert chain.python_transforms == ()


def test_the_recipe_for_imagenet_runs_natively() -> None:
    chain = split(imagenet_training())

    assert chain.native == (
        RandomResizedCrop(224),
        RandomHorizontalFlip(),
        ToDtype("float32", scale=True),
        Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]),
        RandomErasing(0.1, value=(0.0,)),
    )
    assert chain.python_transforms == ()
    assert repr(chain).count("native") == 5
    assert repr(chain).count("python") == 0


def test_types_may_be_torchs() -> None:
    class Torchs:
        def __str__(self) -> str:
            return "torch.float32"

    assert split(v2("ToDtype", dtype=Torchs(), scale=True)).native == (ToDtype("float32", scale=True),)


LEFT = [
    v2("GaussianBlur", kernel_size=(4, 4), sigma=(0.1, 2.0)),  # an even kernel
    v2("Resize", size=[256], interpolation=Theirs.BILINEAR, max_size=None, antialias=False),
    v2("ToDtype", dtype="torch.int64", scale=False),
    v2("ToDtype", dtype={Image: "torch.float32", Mask: "torch.int64"}, scale=True),
    v2("Normalize", mean=[0.5], std=[0.5], inplace=False),  # of bytes: torchvision refuses it, and may say so
    v2("RandomHorizontalFlip"),  # without its attributes it is not what it seems
    type("Resize", (), {"__call__": lambda self, sample: sample, "size": 3})(),  # somebody else's
]


@pytest.mark.parametrize("theirs", LEFT, ids=lambda value: type(value).__name__)
def test_what_means_something_else_is_left_to_python(theirs: Callable[[object], object]) -> None:
    chain = split([CenterCrop(8), theirs, v2("RandomHorizontalFlip", p=0.5)])

    assert chain.native == (CenterCrop(8),)
    assert len(chain.python_transforms) == 2


def test_compose_in_compose_is_one_chain() -> None:
    inner = v2("Compose", transforms=[v2("CenterCrop", size=(8, 8)), v2("Identity")])

    assert split(v2("Compose", transforms=[inner, [inner]])).native == (CenterCrop(8), CenterCrop(8))


def test_a_crop_of_floats_is_left_to_python() -> None:
    chain = split([v2("ToTensor"), v2("CenterCrop", size=(8, 8))])

    assert chain.native == (ToDtype("float32", scale=True),)
    assert len(chain.python_transforms) == 1


def test_bytes_may_be_asked_for_first() -> None:
    first = v2("ToDtype", dtype="torch.uint8", scale=True)

    assert len(split([first, v2("CenterCrop", size=(8, 8)), v2("ToTensor")]).native) == 3


@pytest.mark.parametrize(
    "transforms", [[ToDtype("float32"), CenterCrop(8)], [print, CenterCrop(8)], [Normalize([0.5], [0.5])]]
)
def test_ours_in_an_order_that_cannot_run_are_refused(transforms: list[Transform]) -> None:
    with pytest.raises(ArgumentError, match="order them") as refused:
        split(transforms)

    assert "cannot" in refused.value.what or "first" in refused.value.what


def test_what_cannot_be_called_is_no_transform() -> None:
    with pytest.raises(ArgumentError, match="not a transform"):
        split([3])  # type: ignore[list-item]


def test_presets_of_classification_run_natively() -> None:
    preset = v1(
        "ImageClassification",
        resize_size=[232],
        crop_size=[224],
        mean=[0.5],
        std=[0.25],
        interpolation=Theirs.BILINEAR,
        antialias=True,
    )

    assert split(preset).native == (
        Resize(232),
        CenterCrop(224),
        ToDtype("float32", scale=True),
        Normalize([0.5], [0.25]),
    )


def test_a_group_with_a_member_that_is_not_native_stays_in_python() -> None:
    unknown = v2("RandomIoUCrop")
    for group in (
        v2("RandomApply", transforms=[v2("RandomInvert", p=1), unknown], p=0.5),
        v2("RandomChoice", transforms=[v2("RandomInvert", p=1), unknown], p=None),
        v2("RandomApply", transforms=[v2("ToTensor")], p=0.5),
        v2("Grayscale", num_output_channels=1),
    ):
        assert split([group]).python_transforms == (group,)
