"""Points move with the pixels they name."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

import penstock
from penstock import Loader
from penstock.transforms import (
    CenterCrop,
    Letterbox,
    Pad,
    PadIfSmaller,
    RandomAffine,
    RandomCrop,
    RandomHorizontalFlip,
    RandomPerspective,
    RandomResizedCrop,
    RandomRotation,
    RandomVerticalFlip,
    RandomZoomOut,
    Resize,
    Transform,
    apply,
    apply_boxes,
    apply_points,
)
from penstock.types import Pixels

SIDES = st.integers(4, 40)
SIZES = st.tuples(SIDES, SIDES)
COPIES = st.one_of(
    st.just(RandomHorizontalFlip()),
    st.just(RandomVerticalFlip()),
    st.builds(CenterCrop, SIZES),
    st.builds(RandomCrop, SIZES, pad_if_needed=st.just(True)),
    st.builds(Pad, st.tuples(*[st.integers(0, 9)] * 4)),
    st.builds(PadIfSmaller, SIZES),
    st.just(RandomZoomOut(side_range=(1, 2))),
)
MOVES = st.one_of(
    st.builds(Resize, SIZES),
    st.builds(RandomResizedCrop, SIZES),
    st.builds(Letterbox, SIZES),
    st.just(RandomRotation(30)),
    st.just(RandomAffine(10, (0.1, 0.1), (0.8, 1.2), 5)),
    st.just(RandomPerspective(0.3, 1.0)),
)


@given(SIZES, st.lists(COPIES, max_size=4), st.integers(0, 2**40))
def test_a_point_names_its_pixel_after_any_copy(size: tuple[int, int], chain: list[Transform], seed: int) -> None:
    """Every pixel holds its own number, so that where it went can be read."""
    height, width = size
    numbers = np.arange(1, height * width + 1, dtype=np.uint16).reshape(size)
    rows, columns = np.mgrid[0:height, 0:width]
    points = apply_points(np.stack([columns.ravel(), rows.ravel()], 1), chain, size=size, seed=seed)

    moved = apply(numbers, chain, seed=seed)

    x, y = points.astype(int).T
    inside = (x >= 0) & (x < moved.shape[1]) & (y >= 0) & (y < moved.shape[0])
    found = np.zeros(len(points), np.uint16)
    found[inside] = moved[y[inside], x[inside]]
    there = np.isin(numbers.ravel(), moved)
    np.testing.assert_array_equal(found[there], numbers.ravel()[there])


@given(SIZES, MOVES, st.integers(0, 2**40))
def test_points_go_where_the_corners_of_boxes_go(size: tuple[int, int], transform: Transform, seed: int) -> None:
    places = np.random.default_rng(seed % 1000).uniform(0, 1, (20, 2)) * [size[1], size[0]]
    points = apply_points(places, transform, size=size, seed=seed)

    boxes = apply_boxes(np.concatenate([places, places], 1), transform, size=size, seed=seed)

    height, width = apply(np.zeros(size, np.uint8), transform, seed=seed).shape
    inside = ((points > 0.01) & (points < np.array([width, height]) - 0.01)).all(1)
    np.testing.assert_allclose(boxes[inside], np.concatenate([points, points], 1)[inside], atol=1e-2)


def points_of(number: int) -> list[list[float]]:
    return [[float(place), float(number), 2.0] for place in range(number % 3)]


@pytest.mark.parametrize("chain", [None, [RandomResizedCrop(16), RandomHorizontalFlip(), RandomRotation(20)]])
def test_columns_of_points_move_in_a_loader(tmp_path: Path, chain: list[Transform] | None) -> None:
    lines = []
    for number in range(7):
        pixels: Pixels = np.full((24 + number, 40, 3), number, np.uint8)
        (tmp_path / f"{number}.png").write_bytes(penstock.encode(pixels, "png"))
        row = {"path": f"{number}.png", "keypoints": points_of(number), "hand_points": [[1, 2]] * number}
        lines.append(json.dumps(row))
    (tmp_path / "images.jsonl").write_text("\n".join(lines))

    def moved(points: npt.ArrayLike, sample: int) -> npt.NDArray[np.float32]:
        return apply_points(points, chain, size=(24 + sample, 40), seed=7, id=sample)

    with Loader(tmp_path / "images.jsonl", batch_size=5, transform=chain, seed=7) as loader:
        for batch in loader:
            for slot, sample in enumerate(batch["id"].tolist()):
                expected = np.array(points_of(sample), np.float32).reshape(-1, 3)
                np.testing.assert_array_equal(batch["keypoints"][slot][:, :2], moved(expected[:, :2], sample))
                np.testing.assert_array_equal(batch["keypoints"][slot][:, 2], expected[:, 2])
                np.testing.assert_array_equal(batch["hand_points"][slot], moved([[1, 2]] * sample, sample))
