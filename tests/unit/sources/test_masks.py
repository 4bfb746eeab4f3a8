"""Images and masks in folders beside one another."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.build import BuildOptions, build
from penstock.errors import ArgumentError
from penstock.index import Role
from penstock.sources.masks import ImagesAndMasks
from penstock.synth import Scenes, write
from tests.unit.sources.listed import bytes_of


def put(root: Path, *names: str) -> Path:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(name)
    return root


def test_a_mask_has_the_name_of_its_image_whatever_the_ending(tmp_path: Path) -> None:
    images = ("images/train/cat/1.jpg", "images/val/dog/2.png")
    source = ImagesAndMasks(
        put(
            tmp_path,
            *images,
            "masks/train/cat/1.PNG",
            "masks/val/dog/3.png",
            "masks/val/dog/3.json",
            "depth/val/dog/2.tif",
            "README.md",
            "extra/polygons.json",
        )
    )

    listing = source.listing()

    assert listing.roles == {"image": Role.IMAGE, "mask": Role.MASK, "depth": Role.DEPTH}
    assert listing.classes == ("cat", "dog")
    assert dict(listing.left_out) == {"masks without an image": 1, ".md": 1, ".json": 2}
    assert listing.keys.to_pylist() == list(images)
    assert bytes_of(source, listing, "mask") == [b"masks/train/cat/1.PNG", None]
    assert bytes_of(source, listing, "depth") == [None, b"depth/val/dog/2.tif"]
    assert listing.splits is not None
    assert listing.splits.to_pylist() == ["train", "val"]
    assert listing.columns["label"].to_pylist() == [0, 1]


def test_a_changed_mask_changes_the_state(tmp_path: Path) -> None:
    before = ImagesAndMasks(put(tmp_path, "images/1.png", "masks/1.png")).state()
    (tmp_path / "masks" / "1.png").write_text("another mask")

    assert ImagesAndMasks(tmp_path).state() != before


def test_what_synth_writes_is_built_with_its_masks(tmp_path: Path) -> None:
    write(tmp_path / "street", images=4, scenes=Scenes(width=32, height=32, classes=2), masks=True)

    built = build(
        tmp_path / "street", tmp_path / "street.pen", mix="raw=1", options=BuildOptions(formats={"mask": "weir"})
    )

    assert {field.name: field.role for field in built.manifest.fields} == {
        "image": "image",
        "mask": "mask",
        "label": "label",
    }


def test_a_field_can_be_left_out(tmp_path: Path) -> None:
    write(tmp_path / "street", images=4, scenes=Scenes(width=32, height=32, classes=2), masks=True)

    options = BuildOptions(formats={"mask": "none"})
    built = build(tmp_path / "street", tmp_path / "street.pen", mix="raw=1", options=options)

    assert [field.name for field in built.manifest.fields] == ["image", "label"]


def test_a_field_that_is_not_there_cannot_be_left_out(tmp_path: Path) -> None:
    source = put(tmp_path / "street", "images/1.png", "masks/1.png")

    with pytest.raises(ArgumentError, match="no further image field is named 'depth'") as caught:
        build(source, tmp_path / "out.pen", mix="raw=1", options=BuildOptions(formats={"depth": "none"}))

    assert "mask" in caught.value.fix
