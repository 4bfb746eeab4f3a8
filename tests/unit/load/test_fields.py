"""What comes with the images: texts, lists, and boxes that move with the pixels."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import penstock
from penstock import Loader
from penstock.build import build
from penstock.transforms import CenterCrop, RandomHorizontalFlip, RandomResizedCrop, apply_boxes

COUNT = 12
CHAIN = [RandomResizedCrop(16), RandomHorizontalFlip()]


def boxes_of(number: int) -> list[list[float]]:
    return [[number, 2 + index, number + 10, 14] for index in range(number % 3)]


@pytest.fixture(scope="session")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Images with captions, boxes, their names, a score that some lack, and nested polygons."""
    root = tmp_path_factory.mktemp("fields")
    lines = []
    for number in range(COUNT):
        pixels = np.full((24 + number, 40, 3), number, np.uint8)
        (root / f"{number:02d}.png").write_bytes(penstock.encode(pixels, "png"))
        row = {
            "path": f"{number:02d}.png",
            "label": number % 4,
            "caption": None if number == 5 else f"picture {number}",
            "boxes": boxes_of(number),
            "box_labels": list(range(number % 3)),
            "polygons": [[1.0, 2.0, 3.0], [4.0]] if number % 2 else [],
            "score": number / 2,
        }
        lines.append(json.dumps(row))
    (root / "images.jsonl").write_text("\n".join(lines))
    build(root / "images.jsonl", root / "data.pen", mix="raw=1")
    return root / "data.pen"


def test_every_field_of_the_index_comes_with_its_sample(dataset: Path) -> None:
    with Loader(dataset, batch_size=5, transform=[CenterCrop(8)], seed=2) as loader:
        batches = list(loader)
    for batch in batches:
        for slot, sample in enumerate(batch["id"].tolist()):
            assert batch["caption"][slot] == (None if sample == 5 else f"picture {sample}")
            assert batch["box_labels"][slot].tolist() == list(range(sample % 3))
            assert batch["score"][slot] == sample / 2
            assert batch["polygons"][slot] == ([[1.0, 2.0, 3.0], [4.0]] if sample % 2 else [])
            assert batch["boxes"][slot].shape == (sample % 3, 4)


@pytest.mark.parametrize("chain", [None, CHAIN])
def test_boxes_move_with_their_pixels(dataset: Path, chain: list[penstock.transforms.Transform] | None) -> None:
    with Loader(dataset, batch_size=5, transform=chain, seed=7) as loader:
        loader.set_epoch(3)
        batches = list(loader)
    for batch in batches:
        for slot, sample in enumerate(batch["id"].tolist()):
            expected = apply_boxes(boxes_of(sample), chain, size=(24 + sample, 40), seed=7, epoch=3, id=sample)
            np.testing.assert_array_equal(batch["boxes"][slot], expected)


def test_fields_choose_columns_and_names_of_files(dataset: Path) -> None:
    with Loader(dataset, batch_size=COUNT, fields=("image", "boxes", "key"), shuffle=False) as loader:
        (batch,) = loader
    assert sorted(batch) == ["boxes", "id", "image", "key"]
    assert batch["key"] == [f"{number:02d}.png" for number in range(COUNT)]


def test_tensors_and_texts_are_told_apart(dataset: Path) -> None:
    torch = pytest.importorskip("torch")
    from penstock.torch import Loader as TensorLoader

    with TensorLoader(dataset, batch_size=4, device="cpu", as_tuple=("image", "boxes", "caption")) as loader:
        for images, boxes, captions in loader:
            assert all(isinstance(image, torch.Tensor) for image in images)
            assert all(box.dtype == torch.float32 for box in boxes)
            assert all(isinstance(caption, str | None) for caption in captions)
