"""The layout of Cityscapes, made up and real."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.errors import SourceError
from penstock.sources.cityscapes import Cityscapes
from penstock.sources.source import Role
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

    layout, samples = source.samples()

    assert layout.roles == {"image": Role.IMAGE, "mask": Role.MASK, "instance": Role.MASK, "color": Role.IMAGE}
    assert dict(layout.left_out) == {"gtFine: polygons.json": 1, "masks without a photograph": 1}
    assert samples.keys.to_pylist() == photographs
    assert bytes_of(source, samples) == [name.encode() for name in photographs]
    assert bytes_of(source, samples, "mask") == [fine[0].encode(), coarse[1].encode()]
    assert bytes_of(source, samples, "color") == [fine[2].encode(), None]
    assert samples.splits is not None
    assert samples.splits.to_pylist() == ["train", "val"]
    assert samples.columns["city"].to_pylist() == ["aachen", "ulm"]


def test_photographs_alone_are_a_source(tmp_path: Path) -> None:
    source = Cityscapes(write(tmp_path, "leftImg8bit/test/bonn/bonn_0_0_leftImg8bit.png"))

    assert list(source.samples()[0].roles) == ["image"]


@pytest.mark.parametrize("name", ["leftImg8bit/a_leftImg8bit.png", "leftImg8bit/train/x.png"])
def test_another_layout_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(SourceError) as caught:
        Cityscapes(write(tmp_path, name)).samples()

    assert caught.value.where == str(tmp_path / "leftImg8bit")


def test_the_real_frames_all_have_masks(shared_data: Path) -> None:
    source = Cityscapes(shared_data / "cityscapes")

    layout, samples = source.samples()

    assert list(layout.roles) == ["image", "mask"]
    assert len(samples.keys) == 200
    assert (samples.places["mask"].file >= 0).all()
    assert (samples.places["mask"].length > 0).all()
    assert not layout.left_out
