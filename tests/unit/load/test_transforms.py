"""Transforms inside a loader: the same pixels as by hand, drawn before anything is decoded."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from PIL import Image

import penstock
from penstock import Loader
from penstock.build import build
from penstock.errors import PenstockError
from penstock.transforms import (
    CenterCrop,
    Normalize,
    RandomHorizontalFlip,
    RandomResizedCrop,
    Resize,
    ToDtype,
    apply,
)
from tests.unit.load.conftest import KINDS

Pixels = npt.NDArray[np.uint8]
TRAIN = [RandomResizedCrop(16), RandomHorizontalFlip()]


@pytest.mark.parametrize("kind", KINDS)
def test_a_loader_gives_what_apply_gives(sets: dict[str, Path], pixels: Pixels, kind: str) -> None:
    with Loader(sets[kind], batch_size=9, seed=11, transform=TRAIN) as loader:
        for epoch in range(2):
            for batch in loader:
                assert batch["image"].shape[1:] == (16, 16, 3)
                for sample, image in zip(batch["id"].tolist(), batch["image"], strict=True):
                    assert (image == apply(pixels[sample], TRAIN, seed=11, epoch=epoch, id=sample)).all()


def test_floats_come_in_planes_if_asked_for(folder: Path, pixels: Pixels) -> None:
    chain = [CenterCrop(20), ToDtype("float32", scale=True), Normalize([0.5] * 3, [0.25] * 3)]
    with Loader(folder, batch_size=10, transform=chain, layout="NCHW") as loader:
        batch = next(iter(loader))

    assert batch["image"].shape == (10, 3, 20, 20)
    assert batch["image"].dtype == np.float32
    expected = apply(pixels[batch["id"][0]], chain, layout="NCHW")
    assert np.allclose(batch["image"][0], expected)


def test_functions_of_ones_own_run_after_the_native_part(folder: Path, pixels: Pixels) -> None:
    def negative(image: Pixels) -> Pixels:
        return np.asarray(255 - image, np.uint8)

    with Loader(folder, batch_size=10, transform=[CenterCrop(8), negative]) as loader:
        batch = next(iter(loader))

    assert (batch["image"][0] == 255 - apply(pixels[batch["id"][0]], CenterCrop(8))).all()


def test_an_error_of_such_a_function_arrives(folder: Path) -> None:
    def fail(image: Pixels) -> Pixels:
        raise RuntimeError("not today")

    loader = Loader(folder, batch_size=10, transform=[CenterCrop(8), fail])
    with loader, pytest.raises(PenstockError, match="fail failed: RuntimeError: not today"):
        next(iter(loader))


@pytest.fixture(scope="session")
def photographs(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twenty real JPEGs, of which one is grey."""
    folder = tmp_path_factory.mktemp("photographs")
    for path in sorted((shared_data / "imagenet").glob("*.JPEG"))[:20]:
        (folder / path.name).symlink_to(path)
    return folder


def pillow_crop(path: Path, box: tuple[int, int, int, int], size: int) -> Pixels:
    with Image.open(path) as image:
        return np.asarray(image.convert("RGB").crop(box).resize((size, size), Image.Resampling.BILINEAR))


def test_exact_is_within_one_level_of_pillow(photographs: Path) -> None:
    files = sorted(photographs.iterdir(), key=lambda path: path.name)
    with Loader(photographs, batch_size=20, transform=[Resize((224, 224))]) as loader:
        (batch,) = loader
    for sample, image in zip(batch["id"].tolist(), batch["image"], strict=True):
        with Image.open(files[sample]) as opened:
            whole = (0, 0, *opened.size)
        expected = pillow_crop(files[sample], whole, 224)
        assert np.abs(image.astype(int) - expected.astype(int)).max() <= 1


def test_approximate_is_near_exact(photographs: Path) -> None:
    batches = {}
    for decode in ("exact", "approximate"):
        with Loader(photographs, batch_size=20, shuffle=False, transform=[Resize((64, 64))], decode=decode) as loader:
            (batches[decode],) = loader
    difference = np.abs(batches["exact"]["image"].astype(int) - batches["approximate"]["image"].astype(int))
    assert 0 < difference.mean() < 2.5


def test_masks_share_the_draw(tmp_path: Path) -> None:
    rows, columns = np.mgrid[0:40, 0:60]
    for number in range(6):
        value = (rows // 8 * 8 + columns // 10 + number) % 19
        image = np.stack([value * 10] * 3, axis=-1).astype(np.uint8)
        place = tmp_path / "src" / "leftImg8bit" / "train" / "a"
        masks = tmp_path / "src" / "gtFine" / "train" / "a"
        place.mkdir(parents=True, exist_ok=True)
        masks.mkdir(parents=True, exist_ok=True)
        name = f"a_{number:06d}_000000"
        (place / f"{name}_leftImg8bit.png").write_bytes(penstock.encode(image, "png"))
        (masks / f"{name}_gtFine_labelIds.png").write_bytes(penstock.encode(value.astype(np.uint8), "png"))
    build(tmp_path / "src", tmp_path / "city.pen", mix="weir:fast=1")

    with Loader(tmp_path / "city.pen", batch_size=6, transform=[*TRAIN]) as loader:
        (batch,) = loader
        assert "mask" in batch
    assert batch["mask"].shape == (6, 16, 16)
    inner = batch["image"][:, 1:-1, 1:-1, 0] / 10
    # Resizing blends colours at edges, where a mask takes the nearest label; elsewhere both agree.
    assert (np.abs(inner - batch["mask"][:, 1:-1, 1:-1]) < 0.5).mean() > 0.5
