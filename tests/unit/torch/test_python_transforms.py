"""Transforms of torchvision, timm and albumentations in a loader: whole samples, in the form that each expects."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

import penstock
import penstock.torch
from penstock.errors import ArgumentError
from penstock.transforms import photometric, seeded, split, whole_sample
from tests.real_vision import Prepared
from tests.scenes import joint, write_scenes
from tests.unit.load.functions import negative

pytestmark = pytest.mark.xdist_group("vision")
Chain = Callable[[], list[Any]]
FIELDS = ("image", "mask", "boxes", "labels")


@pytest.fixture(scope="module")
def scenes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_scenes(tmp_path_factory.mktemp("scenes"))


@pytest.fixture(scope="module")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Images alone, of noise that tells every change."""
    folder = tmp_path_factory.mktemp("photos")
    for number in range(8):
        pixels = np.random.default_rng(number).integers(0, 256, (40, 48, 3), dtype=np.uint8)
        (folder / f"{number}.png").write_bytes(penstock.encode(pixels, "png"))
    return folder


def blur_and_flip() -> list[Any]:
    from torchvision.transforms import v2

    return [v2.GaussianBlur(3), v2.RandomHorizontalFlip(1.0)]


def rgb_and_crop() -> list[Any]:
    from torchvision.transforms import v2

    return [v2.RGB(), v2.RandomResizedCrop(32, scale=(0.6, 1.0))]


def image_first() -> list[Any]:
    from torchvision.transforms import v2

    chain = [v2.ToImage(), v2.RandomHorizontalFlip(0.5), v2.RandomRotation(20), v2.ToDtype(torch.float32, scale=True)]
    return [v2.Compose(chain)]


def pillow_first() -> list[Any]:
    from torchvision.transforms import v2

    return [v2.RandomAffine(0, translate=(0.1, 0.1)), v2.RandomVerticalFlip(0.5), v2.ToImage()]


def albumentations() -> list[Any]:
    import albumentations as A  # noqa: N812  # as everybody does

    boxes = A.BboxParams(format="coco", label_fields=["labels"])
    return [A.Compose([A.HorizontalFlip(p=0.5), A.RandomCrop(34, 48), A.RandomBrightnessContrast()], bbox_params=boxes)]


def albumentations_without_labels() -> list[Any]:
    import albumentations as A  # noqa: N812

    return [A.Compose([A.VerticalFlip(p=0.5), A.Affine(scale=(0.9, 1.1), p=1)], bbox_params=A.BboxParams("yolo"))]


JOINT = [blur_and_flip, rgb_and_crop, image_first, pillow_first, albumentations, albumentations_without_labels]


@pytest.mark.parametrize("make", JOINT)
@pytest.mark.parametrize("kind", [penstock.Loader, penstock.torch.Loader])
def test_masks_and_boxes_move_with_the_image(scenes: Path, make: Chain, kind: type[penstock.Loader]) -> None:
    axes = "CHW" if kind is penstock.torch.Loader else "HWC"
    with kind(scenes, fields=FIELDS, batch_size=5, seed=2, transform=make(), python_workers=0) as loader:
        assert sum(joint(batch, axes=axes) for epoch in range(2) for batch in loader) >= 20


def test_a_chain_that_is_cut_is_what_it_was_before(scenes: Path) -> None:
    """The check itself sees a mask that stayed behind."""
    from torchvision.transforms import v2

    chain = [photometric(v2.RandomHorizontalFlip(1.0))]
    with penstock.torch.Loader(scenes, fields=FIELDS, batch_size=5, transform=chain, python_workers=0) as loader:
        batch = next(iter(loader))
    with pytest.raises(AssertionError):
        joint(batch, axes="CHW")


def test_labels_of_boxes_that_go_go_with_them(scenes: Path) -> None:
    from torchvision.transforms import v2

    chain = [v2.RandomCrop((16, 24)), v2.ClampBoundingBoxes(), v2.SanitizeBoundingBoxes(min_size=3)]
    with penstock.torch.Loader(
        scenes, fields=FIELDS, batch_size=12, transform=[v2.RGB(), *chain], python_workers=0
    ) as loader:
        batches = list(loader)
    counts = [
        (len(boxes), len(labels))
        for batch in batches
        for boxes, labels in zip(batch["boxes"], batch["labels"], strict=True)
    ]
    assert all(boxes == labels for boxes, labels in counts)
    assert {boxes for boxes, _ in counts} == {0, 1}


def test_points_move_as_well(scenes: Path) -> None:
    import albumentations as A  # noqa: N812
    from torchvision.transforms import v2

    flips: list[Any] = [A.HorizontalFlip(p=1), A.VerticalFlip(p=0.5)]
    with_points = A.Compose(flips, bbox_params=A.BboxParams("pascal_voc"), keypoint_params=A.KeypointParams("xy"))
    turns = [v2.RGB(), v2.RandomHorizontalFlip(1.0), v2.RandomAffine(0, translate=(0.1, 0.1))]
    for chain in (turns, [with_points]):
        with penstock.Loader(scenes, batch_size=4, transform=chain, python_workers=0) as loader:
            batches = list(loader)
        assert all("keypoints" in batch for batch in batches)
        assert sum(map(joint, batches)) == 12


def test_points_move_with_native_geometry_before_a_function(scenes: Path) -> None:
    from torchvision.transforms import v2

    chain = [v2.RandomHorizontalFlip(1.0), v2.RandomVerticalFlip(0.5), v2.RGB()]
    with penstock.Loader(scenes, batch_size=4, transform=chain, python_workers=0) as loader:
        batches = list(loader)
    assert sum(map(joint, batches)) == 12


def timm_chain() -> list[Any]:
    from timm.data import create_transform

    return [
        create_transform(
            24, is_training=True, auto_augment="rand-m5-mstd0.5-inc1", re_prob=0.5, interpolation="bicubic"
        )
    ]


def test_timm_is_refused_beside_masks(scenes: Path) -> None:
    with pytest.raises(ArgumentError, match="RandomResizedCropAndInterpolation gets the image alone") as caught:
        penstock.torch.Loader(scenes, fields=FIELDS, transform=timm_chain())
    assert "photometric" in caught.value.fix
    with penstock.torch.Loader(scenes, batch_size=4, transform=timm_chain(), fields=("image",)) as loader:
        assert loader.python_stage is not None


def own_pillow(photos: Path, number: int) -> Image.Image:
    with Image.open(photos / f"{number}.png") as image:
        return image.convert("RGB")


@pytest.mark.parametrize("kind", [penstock.Loader, penstock.torch.Loader])
def test_timm_gives_what_it_gives_by_itself(photos: Path, kind: type[penstock.Loader]) -> None:
    (own,) = timm_chain()
    with kind(photos, batch_size=3, seed=9, transform=timm_chain(), python_workers=0) as loader:
        for epoch in range(2):
            for batch in loader:
                for sample, image in zip(batch["id"].tolist(), batch["image"], strict=True):
                    with seeded(seed=9, epoch=epoch, id=sample):
                        expected = own(own_pillow(photos, sample)).numpy()
                    if kind is penstock.Loader:
                        expected = expected.transpose(1, 2, 0)
                    np.testing.assert_array_equal(np.asarray(image), expected)


def first_version() -> Any:  # noqa: ANN401
    from torchvision import transforms

    return transforms.Compose(
        [
            transforms.RandAugment(interpolation=transforms.InterpolationMode.BICUBIC),
            transforms.PILToTensor(),
            transforms.ConvertImageDtype(torch.float32),
            transforms.Normalize([0.5] * 3, [0.25] * 3),
            transforms.RandomErasing(0.5),
        ]
    )


def second_version() -> Any:  # noqa: ANN401
    from torchvision.transforms import v2

    chain = [
        v2.TrivialAugmentWide(),
        v2.PILToTensor(),
        v2.ToDtype(torch.float32, scale=True),
        v2.Normalize([0.5], [0.5]),
    ]
    return v2.Compose(chain)


class Multicrop:
    """As DINO's: an object with chains inside that make tensors of Pillow images."""

    def __init__(self) -> None:
        from torchvision import transforms

        end = [transforms.ToTensor()]
        self.large = transforms.Compose([transforms.RandomResizedCrop(24), transforms.RandomGrayscale(), *end])
        self.small = transforms.Compose([transforms.RandomResizedCrop(12), *end])

    def __call__(self, image: Image.Image) -> list[torch.Tensor]:
        image.filter  # noqa: B018  # a Pillow image has it, a tensor has not
        return [self.large(image), self.small(image), self.small(image)]


@pytest.mark.parametrize("make", [first_version, second_version, Multicrop])
def test_what_makes_tensors_by_itself_gets_pillow_images(photos: Path, make: Callable[[], Any]) -> None:
    own = make()
    with penstock.torch.Loader(photos, batch_size=4, seed=1, transform=make(), python_workers=0) as loader:
        (batch, _) = list(loader)
    views = batch["image"] if isinstance(batch["image"], list) else [batch["image"]]
    for slot, sample in enumerate(batch["id"].tolist()):
        with seeded(seed=1, id=sample):
            expected = own(own_pillow(photos, sample))
        for view, wanted in zip(views, expected if isinstance(expected, list) else [expected], strict=True):
            assert torch.equal(view[slot], torch.as_tensor(wanted))


def test_native_transforms_before_it_stay_native(photos: Path) -> None:
    from torchvision import transforms

    whole = transforms.Compose([transforms.CenterCrop(24), *first_version().transforms])
    assert len(split(whole).native) == 1
    with penstock.torch.Loader(photos, batch_size=8, transform=whole, python_workers=0) as loader:
        (batch,) = loader
    for slot, sample in enumerate(batch["id"].tolist()):
        with seeded(id=sample):
            assert torch.equal(batch["image"][slot], whole(own_pillow(photos, sample)))


def test_functions_after_a_native_conversion_get_tensors(photos: Path) -> None:
    from torchvision import tv_tensors
    from torchvision.transforms import v2

    seen: list[type] = []

    class Look(v2.Transform):  # type: ignore[misc]  # without types here
        def forward(self, *inputs: Any) -> Any:  # noqa: ANN401
            seen.append(type(inputs[0]))
            return inputs[0]

    for chain in ([v2.ToImage(), v2.CenterCrop(8), Look()], [v2.CenterCrop(8), Look()], [Look(), v2.ToImage()]):
        with penstock.torch.Loader(photos, batch_size=8, transform=chain) as loader:
            list(loader)
    assert seen[:16] == [tv_tensors.Image] * 16
    assert seen[16:] == [Image.Image] * 8


def test_functions_of_the_image_alone_are_refused_beside_masks(scenes: Path) -> None:
    with pytest.raises(ArgumentError, match="negative gets the image alone, and may move pixels that mask, boxes"):
        penstock.Loader(scenes, fields=FIELDS, transform=[negative])
    for allowed in ({"transform": [photometric(negative)]}, {"transform": [negative], "as_tuple": ("image", "id")}):
        with penstock.Loader(scenes, fields=FIELDS, batch_size=4, python_workers=0, **allowed) as loader:
            assert len(list(loader)) == 3


def test_a_function_of_the_whole_sample_moves_all_of_it(scenes: Path) -> None:
    def flip(sample: dict[str, Any]) -> dict[str, Any]:
        boxes = sample["boxes"].copy()
        boxes[:, [0, 2]] = sample["image"].shape[1] - boxes[:, [2, 0]]
        return {"image": sample["image"][:, ::-1].copy(), "mask": sample["mask"][:, ::-1].copy(), "boxes": boxes}

    with penstock.Loader(scenes, fields=FIELDS, batch_size=4, transform=[whole_sample(flip)]) as loader:
        assert sum(joint(batch) for batch in loader) == 12


def test_boxes_need_parameters_of_albumentations(scenes: Path) -> None:
    import albumentations as A  # noqa: N812

    with pytest.raises(ArgumentError, match="no parameters for 'boxes'"):
        penstock.Loader(scenes, fields=FIELDS, transform=[A.Compose([A.HorizontalFlip()])])


@pytest.mark.parametrize("make", [blur_and_flip, albumentations])
def test_draws_repeat(scenes: Path, make: Chain) -> None:
    found = []
    for _ in range(2):
        with penstock.torch.Loader(
            scenes, fields=FIELDS, batch_size=4, seed=3, transform=make(), python_workers=0
        ) as loader:
            found.append(list(loader))
    for one, other in zip(*found, strict=True):
        assert torch.equal(one["image"], other["image"])
        assert torch.equal(one["mask"], other["mask"])


@pytest.mark.long
@pytest.mark.parametrize("make", [blur_and_flip, rgb_and_crop, albumentations, timm_chain])
def test_any_number_of_workers_gives_the_same(scenes: Path, photos: Path, make: Chain) -> None:
    place, fields = (photos, None) if make is timm_chain else (scenes, FIELDS)
    options: dict[str, Any] = {"fields": fields, "batch_size": 3, "seed": 5, "transform": [Prepared(), *make()]}
    found: list[list[dict[str, Any]]] = []
    for workers in (0, 1, 2):
        with penstock.torch.Loader(place, **options, python_workers=workers) as loader:
            found.append(list(loader))
            loader.set_epoch(0)
            first = next(iter(loader))
            state = loader.state_dict()
    with penstock.torch.Loader(place, **options, python_workers=1) as loader:
        loader.load_state_dict(state)
        found.append([first, *loader])
    for other in found[1:]:
        for batch, same in zip(found[0], other, strict=True):
            assert batch.keys() == same.keys()
            for name, value in batch.items():
                for one, two in zip(value, same[name], strict=True):
                    assert torch.equal(torch.as_tensor(one), torch.as_tensor(two)), name
