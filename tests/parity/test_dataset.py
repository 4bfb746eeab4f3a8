"""The reader of the spec and the package agree on what a dataset holds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import penstock
from penstock import _native
from penstock.build import BuildOptions, build
from penstock.synth import Scenes, write
from penstock.types import Pixels
from spec.reference import dataset as reference


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("parity")
    write(root / "photos", images=6, scenes=Scenes(width=40, height=24, classes=2))
    build(root / "photos", root / "data.pen", mix="weir:fast=0.5,raw=0.5", options=BuildOptions(shard_bytes=8192))
    return root / "data.pen"


def test_the_reference_reads_what_a_build_wrote(folder: Path) -> None:
    reference.check_files(folder)
    dataset = penstock.open(folder)

    for position, sample in enumerate(reference.read_samples(folder)):
        assert sample["id"] == position
        assert sample["key"] == dataset[position]["key"]
        assert sample["label"] == dataset[position]["label"]
        assert sample["image"] == (dataset.read(position), [])
    assert position == len(dataset) - 1


def test_the_reference_hashes_pixels_as_the_index_does(folder: Path) -> None:
    dataset = penstock.open(folder)

    for sample, stored in zip(dataset, dataset.column("image.pixels").to_pylist(), strict=True):
        height, width, channels = sample["image"].shape
        assert reference.pixel_hash(height, width, channels, 8, sample["image"].tobytes()) == stored


@pytest.mark.parametrize("shape", [(1, 1), (3, 5), (16, 16, 3), (17, 31, 4), (64, 48), (256, 4, 1)])
@pytest.mark.parametrize("dtype", ["uint8", "uint16"])
def test_the_native_hash_is_the_references(shape: tuple[int, ...], dtype: str) -> None:
    pixels: Pixels = np.random.default_rng(len(shape)).integers(0, 256, shape).astype(dtype)
    height, width, channels = (*shape, 1)[:3]

    expected = reference.pixel_hash(height, width, channels, 8 * pixels.itemsize, pixels.tobytes())

    assert _native.pixel_hash(pixels) == expected
    assert _native.pixel_hash(np.concatenate([pixels, pixels], axis=1)[:, :width]) == expected
