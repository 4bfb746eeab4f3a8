"""An image is a function of its scenes and its number."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from penstock import ArgumentError
from penstock.synth import KINDS, Scenes, label_of, render, render_mask

# SHA-256 of the pixels of the first six images. The same with GCC and Clang, on x86-64 and ARM, at any optimisation;
# a change of these is a change of every dataset that anybody has written.
GOLDEN = {
    ("coarse", 8): "83197c755a0aa210220250a4dcd2fde27be9d3711e55645a28d7ed75bbf32528",
    ("texture", 8): "a29afdcf49942d72a232b04b7e9bc5921b0e480c1dd973b98e1644bff719b9ee",
    ("mixed", 8): "1c0c90c60850936f52480fd2eb13411de7afb2ff4af79a82999cdadc002ea123",
    ("mixed", 16): "4567ff06e360f238a1e2969a78603e9167edae88e1a6f358c3a0863fa82b8e3a",
}
GOLDEN_MASKS = "c1d093dd322562cb58983d793d2b3b6e8b292da51b91ee3851b34d2057ee8bb8"


@pytest.mark.parametrize(("variant", "bits"), GOLDEN)
def test_pixels_stay_what_they_were(variant: str, bits: int) -> None:
    scenes = Scenes(width=203, height=117, classes=4, seed=5, variant=variant, bits=bits)

    digest = hashlib.sha256(b"".join(render(index, scenes).tobytes() for index in range(6)))

    assert digest.hexdigest() == GOLDEN[variant, bits]


def test_masks_stay_what_they_were() -> None:
    scenes = Scenes(width=203, height=117, classes=4, seed=5)

    digest = hashlib.sha256(b"".join(render_mask(index, scenes).tobytes() for index in range(6)))

    assert digest.hexdigest() == GOLDEN_MASKS


def test_every_image_and_every_seed_is_another() -> None:
    scenes = [Scenes(width=32, height=32, seed=seed) for seed in (0, 1, 2**32, 2**64 - 1)]

    images = {render(index, each).tobytes() for each in scenes for index in (0, 1, 2, 2**32, 2**64 - 1)}

    assert len(images) == 20


def test_an_image_does_not_depend_on_how_many_classes_there_are() -> None:
    few, many = (Scenes(width=64, height=48, classes=classes) for classes in (4, 1000))

    for index in range(4):
        np.testing.assert_array_equal(render(index, few), render(index, many))


@pytest.mark.parametrize("size", [(1, 1), (1, 300), (300, 1), (2, 3), (7, 5), (1023, 33), (64, 2049)])
@pytest.mark.parametrize("bits", [8, 16])
def test_every_size_has_an_image_and_a_mask(size: tuple[int, int], bits: int) -> None:
    width, height = size
    scenes = Scenes(width=width, height=height, bits=bits)

    image, mask = render(3, scenes), render_mask(3, scenes)

    assert image.shape == ((height, width, 3) if bits == 8 else (height, width))
    assert image.dtype == (np.uint8 if bits == 8 else np.uint16)
    assert mask.shape == (height, width)
    assert mask.dtype == np.uint8
    assert mask.max() < len(KINDS)


def test_sixteen_bits_hold_twelve_bit_values_well_spread() -> None:
    values = np.stack([render(index, Scenes(bits=16)).astype(int) for index in range(10)])

    assert values.max() <= 4095
    assert values.max() > 3000
    assert np.percentile(values, 1) < 400
    assert len(np.unique(values)) > 3000, "values are not 8-bit ones stretched"


def test_masks_show_what_the_picture_shows() -> None:
    """Every kind appears, and edges of the mask lie on edges of the picture."""
    steps_on_edges, steps_elsewhere = [], []
    kinds: set[int] = set()
    for index in range(10):
        grey, mask = render(index).mean(axis=2), render_mask(index)
        kinds |= set(np.unique(mask).tolist())
        steps = np.abs(np.diff(grey, axis=1))
        edges = np.diff(mask.astype(int), axis=1) != 0
        steps_on_edges.append(steps[edges].mean())
        steps_elsewhere.append(steps[~edges].mean())

    assert kinds == set(range(len(KINDS)))
    assert np.mean(steps_on_edges) > 3 * np.mean(steps_elsewhere)


def test_labels_take_turns() -> None:
    assert [label_of(index, Scenes(classes=3)) for index in range(7)] == [0, 1, 2, 0, 1, 2, 0]


@pytest.mark.parametrize(
    "wrong",
    [
        {"width": 0},
        {"height": -1},
        {"width": 40000},
        {"width": 32768, "height": 32768},
        {"classes": 0},
        {"seed": -1},
        {"seed": 2**64},
        {"variant": "fine"},
        {"bits": 12},
    ],
)
def test_impossible_scenes_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ArgumentError) as caught:
        Scenes(**wrong)  # type: ignore[arg-type]  # wrong on purpose
    assert caught.value.where
    assert caught.value.fix


@pytest.mark.parametrize("index", [-1, 2**64])
def test_impossible_numbers_are_refused(index: int) -> None:
    for function in (render, render_mask, label_of):
        with pytest.raises(ArgumentError, match="there is no image"):
            function(index)
