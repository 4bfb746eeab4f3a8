"""The limit of pixels holds wherever images are decoded, and only the user lifts it."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

import penstock
from penstock import _native
from penstock.build import BuildOptions, build
from penstock.errors import ArgumentError, CodecError, PenstockError
from penstock.export import ExportOptions, export
from penstock.records import verify
from tests.dataset_files import make_photos

PIXELS = 64 * 48
HUGE_SIDE = 1 << 15
"""Of a square of 2^30 pixels: four times the default limit, and 1 GB when decoded."""


def constant_weir(side: int) -> bytes:
    """A file of constant tiles: ten bytes for 4,096 pixels."""
    tiles = (side // 64) ** 2
    tile = bytes([1 << 4, 7])
    begin = 32 + 4 * (tiles + 1) + 4 * tiles
    offsets = (begin + 2 * np.arange(tiles + 1, dtype=np.uint32)).astype("<u4").tobytes()
    tables = offsets + np.full(tiles, _native.crc32c(tile), "<u4").tobytes()
    head = b"WEIR" + bytes([1, 0, 1, 8]) + struct.pack("<II", side, side) + bytes([6, 6, 0, 0])
    head += struct.pack("<II", 0, _native.crc32c(tables))
    return head + struct.pack("<I", _native.crc32c(head)) + tables + tile * tiles


@pytest.fixture(name="photos", scope="module")
def fixture_photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_photos(tmp_path_factory.mktemp("max-pixels") / "photos", images=4)


@pytest.fixture(name="dataset", scope="module")
def fixture_dataset(photos: Path) -> Path:
    build(photos, photos.parent / "data.pen", mix="weir:fast=1", durable=False)
    return photos.parent / "data.pen"


@pytest.fixture(name="huge", scope="module")
def fixture_huge(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset with an image that a user's limit let in; its bytes are kept, never decoded."""
    root = tmp_path_factory.mktemp("huge")
    (root / "images").mkdir()
    (root / "images" / "0.weir").write_bytes(constant_weir(HUGE_SIDE))
    options = BuildOptions(max_pixels=HUGE_SIDE**2)
    build(root / "images", root / "data.pen", mix="weir:fast=1", options=options, durable=False)
    return root / "data.pen"


def test_verify_does_not_take_the_limit_from_the_index(huge: Path) -> None:
    (problem,) = verify(huge).problems

    assert f"image of {HUGE_SIDE}x{HUGE_SIDE} pixels is larger than max_pixels={2**28}" in problem.what


def test_a_build_refuses_what_claims_more(photos: Path, tmp_path: Path) -> None:
    options = BuildOptions(max_pixels=PIXELS - 1)
    with pytest.raises(CodecError, match=f"larger than max_pixels={PIXELS - 1}"):
        build(photos, tmp_path / "out.pen", mix="weir:fast=1", options=options)

    build(photos, tmp_path / "in.pen", mix="weir:fast=1", options=BuildOptions(max_pixels=PIXELS), durable=False)


def test_the_limit_may_be_lowered_for_verify_and_loader_and_export(dataset: Path, tmp_path: Path) -> None:
    assert len(verify(dataset, max_pixels=PIXELS - 1).problems) == 4
    assert not verify(dataset, max_pixels=PIXELS).problems
    with pytest.raises(CodecError, match="max_pixels"):
        export(dataset, tmp_path / "out", options=ExportOptions(max_pixels=PIXELS - 1))
    with penstock.Loader(dataset, max_pixels=PIXELS - 1) as loader, pytest.raises(CodecError, match="max_pixels"):
        next(iter(loader))
    with penstock.Loader(dataset, max_pixels=PIXELS) as loader:
        assert next(iter(loader))["image"].shape == (1, 48, 64, 3)


@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_of_no_pixels_is_refused(dataset: Path, photos: Path, tmp_path: Path, limit: int) -> None:
    with pytest.raises(ArgumentError, match="max_pixels"):
        penstock.Loader(dataset, max_pixels=limit)
    with pytest.raises(ArgumentError, match="pixels"):
        build(photos, tmp_path / "out.pen", mix="png=1", options=BuildOptions(max_pixels=limit))
    with pytest.raises(PenstockError, match="pixels"):
        export(dataset, tmp_path / "out", options=ExportOptions(max_pixels=limit))
