"""RandomErasing overwrites one area of a finished sample, with the values asked for and nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from penstock import ArgumentError, Loader
from penstock.synth import Scenes, write
from penstock.transforms import CenterCrop, Normalize, RandomErasing, ToDtype, Transform, apply, split
from penstock.types import Pixels
from tests.plain_random import Random

FLOATS: list[Transform] = [ToDtype("float32", scale=True), Normalize([0.5, 0.4, 0.3], [0.2, 0.2, 0.2])]
SIZE = (40, 56)


def pixels_of(channels: int = 3) -> Pixels:
    result: Pixels = np.random.default_rng(3).integers(0, 256, (*SIZE, channels)).astype(np.uint8)
    return result


def areas(transform: RandomErasing, place: int, index: int) -> list[tuple[int, int, int, int]]:
    """torchvision's and timm's definition, with the random numbers of the place."""
    random, found = Random(0, 0, index, place), []
    if random.uniform(0, 1) >= transform.p:
        return []
    low, high = transform.count if isinstance(transform.count, tuple) else (transform.count, transform.count)
    assert isinstance(low, int)
    assert isinstance(high, int)
    count = low + random.below(high - low + 1)
    logs = np.log(np.array(transform.ratio))
    for _ in range(count):
        for _ in range(10):
            area = SIZE[0] * SIZE[1] * random.uniform(transform.scale[0], transform.scale[1]) / count
            ratio = np.exp(random.uniform(logs[0], logs[1]))
            height, width = round((area * ratio) ** 0.5), round((area / ratio) ** 0.5)
            if height < SIZE[0] and width < SIZE[1]:
                top = random.below(SIZE[0] - height + 1)
                found.append((top, random.below(SIZE[1] - width + 1), height, width))
                break
    return found


def inside(found: list[tuple[int, int, int, int]]) -> npt.NDArray[np.bool_]:
    mask = np.zeros(SIZE, bool)
    for y, x, height, width in found:
        mask[y : y + height, x : x + width] = True
    return mask


@pytest.mark.parametrize("layout", ["NHWC", "NCHW"])
@pytest.mark.parametrize(
    ("before", "value"),
    [([], 7), ([], (1, 2, 3)), (FLOATS, 0), (FLOATS, (0.5, -1.0, 2.0)), ([ToDtype("float16", scale=True)], 0.25)],
)
@pytest.mark.parametrize("count", [1, (1, 4)])
def test_an_area_gets_the_value_and_the_rest_stays(
    before: list[Transform],
    value: Any,  # noqa: ANN401
    count: Any,  # noqa: ANN401
    layout: str,
) -> None:
    transform = RandomErasing(0.8, value=value, count=count)
    erased = 0
    for index in range(12):
        plain = apply(pixels_of(), before, id=index, layout=layout)
        result = apply(pixels_of(), [*before, transform], id=index, layout=layout)

        mask = inside(areas(transform, len(before), index))
        erased += int(mask.any())
        expected = plain.copy() if layout == "NHWC" else plain.transpose(1, 2, 0).copy()
        expected[mask] = np.broadcast_to(value, 3).astype(expected.dtype)
        np.testing.assert_array_equal(result if layout == "NHWC" else result.transpose(1, 2, 0), expected)
    assert erased > 0


def test_random_pixels_are_normal_and_a_function_of_the_key() -> None:
    transform = RandomErasing(1.0, scale=(0.5, 0.5), ratio=(1.0, 1.0), value="random")
    chain = [*FLOATS, transform]
    mask = inside(areas(transform, 2, 5))
    result = apply(pixels_of(), chain, id=5)
    values = result[mask]

    assert mask.any()
    assert abs(values.mean()) < 0.05
    assert abs(values.std() - 1) < 0.05
    assert len(np.unique(values)) > 0.99 * values.size
    np.testing.assert_array_equal(result, apply(pixels_of(), chain, id=5, layout="NCHW").transpose(1, 2, 0))
    assert (apply(pixels_of(), chain, id=5, epoch=1) != result).any()


def test_a_random_colour_is_one_per_area() -> None:
    transform = RandomErasing(1.0, value="random_color")
    mask = inside(areas(transform, 2, 6))
    values = apply(pixels_of(), [*FLOATS, transform], id=6)[mask]

    assert len(np.unique(values, axis=0)) == 1
    assert len(np.unique(values)) == 3


def test_masks_are_not_erased() -> None:
    mask = np.arange(40 * 56, dtype=np.uint8).reshape(SIZE)

    np.testing.assert_array_equal(apply(mask, RandomErasing(1.0), field="mask"), mask)


def test_loaders_erase_on_any_number_of_threads(tmp_path: Any) -> None:  # noqa: ANN401
    write(str(tmp_path / "photos"), images=12, scenes=Scenes(width=56, height=40, classes=2))
    chain = [CenterCrop(SIZE), *FLOATS, RandomErasing(0.5, value="random")]

    def pixels(threads: int) -> list[npt.NDArray[Any]]:
        with Loader(tmp_path / "photos", batch_size=5, seed=4, threads=threads, transform=chain) as loader:
            return [batch["image"] for batch in loader]

    for one, two in zip(pixels(1), pixels(2), strict=True):
        np.testing.assert_array_equal(one, two)
    with Loader(tmp_path / "photos", batch_size=12, shuffle=False, transform=[RandomErasing(1.0, value=9)]) as loader:
        (batch,) = loader
    assert all((image == 9).all(-1).any() for image in batch["image"])


def test_random_values_need_floats() -> None:
    with pytest.raises(ArgumentError, match="RandomErasing cannot come"):
        split([CenterCrop(8), RandomErasing(value="random")])


def test_nothing_comes_after_it() -> None:
    with pytest.raises(ArgumentError, match="CenterCrop cannot come after RandomErasing"):
        split([RandomErasing(), CenterCrop(8)])


def test_values_fit_the_channels() -> None:
    with pytest.raises(ArgumentError, match="RandomErasing has 2 values, the image 3 channels"):
        apply(pixels_of(), RandomErasing(1.0, value=(1, 2)))
