"""The layout of Cityscapes, made up and real."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.errors import SourceError
from penstock.index import Role
from penstock.sources.cityscapes import Cityscapes
from tests.unit.sources.listed import bytes_of


def write(root: Path, *names: str) -> Path:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(name)
    return root


def test_photographs_have_their_masks_city_and_split(tmp_path: Path) -> None:
    one, two = "train/aachen/aachen_000000_000019", "val/ulm/ulm_000001_000019"
    photographs = [f"leftImg8bit/{name}_leftImg8bit.png" for name in (one, two)]
    fine = [f"gtFine/{one}_gtFine_{kind}" for kind in ("labelIds.png", "instanceIds.png", "color.png", "polygons.json")]
    coarse = [f"gtCoarse/{name}_gtCoarse_labelIds.png" for name in (one, two, "train/ulm/ulm_9_9")]
    source = Cityscapes(write(tmp_path, *photographs, *fine, *coarse))

    listing = source.listing()

    assert listing.roles == {"image": Role.IMAGE, "mask": Role.MASK, "instance": Role.MASK, "color": Role.IMAGE}
    assert dict(listing.left_out) == {"gtFine: polygons.json": 1, "masks without a photograph": 1}
    assert listing.keys.to_pylist() == photographs
    assert bytes_of(source, listing) == [name.encode() for name in photographs]
    assert bytes_of(source, listing, "mask") == [fine[0].encode(), coarse[1].encode()]
    assert bytes_of(source, listing, "color") == [fine[2].encode(), None]
    assert listing.splits is not None
    assert listing.splits.to_pylist() == ["train", "val"]
    assert listing.columns["city"].to_pylist() == ["aachen", "ulm"]


def test_photographs_alone_are_a_source(tmp_path: Path) -> None:
    source = Cityscapes(write(tmp_path, "leftImg8bit/test/bonn/bonn_0_0_leftImg8bit.png"))

    assert list(source.listing().roles) == ["image"]


@pytest.mark.parametrize("name", ["leftImg8bit/a_leftImg8bit.png", "leftImg8bit/train/x.png"])
def test_another_layout_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(SourceError) as caught:
        Cityscapes(write(tmp_path, name)).listing()

    assert caught.value.where == str(tmp_path / "leftImg8bit")


def test_the_real_frames_all_have_masks(shared_data: Path) -> None:
    source = Cityscapes(shared_data / "cityscapes")

    listing = source.listing()

    assert list(listing.roles) == ["image", "mask"]
    assert len(listing.keys) == 200
    assert (listing.images["mask"].file >= 0).all()
    assert (listing.images["mask"].length > 0).all()
    assert not listing.left_out
