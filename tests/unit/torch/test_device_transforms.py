"""`decode_on="device"` with transforms: the kernels, interpreted, give the host's batches to the bit.

Interpreted decoding takes seconds, and has tests of its own: most tests here leave it to the native core, and only
those that say so decode by kernels.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import penstock
from penstock import ArgumentError, PenstockError
from penstock.build import build
from penstock.errors import CodecError
from penstock.kernels.batch_output import Output
from penstock.torch import Loader
from penstock.transforms import (
    CenterCrop,
    ColorJitter,
    InterpolationMode,
    Normalize,
    RandomCrop,
    RandomHorizontalFlip,
    RandomResizedCrop,
    Resize,
    ScaleJitter,
    ToDtype,
)
from penstock.types import Buffer
from tests.unit.kernels.conftest import make_quick

Images = dict[str, np.ndarray[Any, Any]]

TO_FLOATS = [ToDtype("float32", scale=True), Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])]
TO_HALVES = [ToDtype("float16", scale=True), Normalize([0.5], [0.25])]
CHAINS = {
    "train": [RandomResizedCrop(9), RandomHorizontalFlip(), *TO_FLOATS],
    "evaluation": [Resize(12), CenterCrop(10), *TO_HALVES],
    "bytes": [RandomHorizontalFlip(1.0), RandomResizedCrop((8, 11), interpolation=InterpolationMode.BICUBIC)],
    "nearest": [Resize((7, 9), interpolation=InterpolationMode.NEAREST_EXACT), ToDtype("uint16", scale=True)],
    "enlarged": [Resize((31, 30), interpolation=InterpolationMode.LANCZOS)],
    "padded": [RandomCrop((26, 18), padding=3, fill=(200, 100, 50), pad_if_needed=True), RandomHorizontalFlip()],
    "mirrored": [RandomCrop(28, padding=(5, 4), pad_if_needed=True, padding_mode="reflect")],
    "two passes": [Resize((14, 13)), RandomCrop(16, padding=2, padding_mode="edge"), Resize(8), *TO_FLOATS],
    "jittered": [ScaleJitter((16, 16), (0.5, 1.5)), RandomCrop(14, pad_if_needed=True, fill=7)],
}


@pytest.fixture(autouse=True)
def quick(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    make_quick(monkeypatch)
    if "by_kernels" not in request.fixturenames:
        monkeypatch.setattr("penstock.kernels.decode.decode_into", decode_natively)


@pytest.fixture
def by_kernels() -> None:
    """Images are decoded by kernels too."""


def decode_natively(
    images: Sequence[torch.Tensor], records: Sequence[Buffer], infos: object, output: Output, *, verify: bool
) -> list[object]:
    """What `decode_into` does, without a kernel."""
    for image, record in zip(images, records, strict=True):
        pixels = torch.from_numpy(penstock.decode(record))
        pixels = pixels if pixels.ndim == 3 else pixels[:, :, None]
        image.copy_(pixels.permute(2, 0, 1) if output.layout == "NCHW" else pixels)
    return []


def noise(*shape: int, bits: int = 8, seed: int = 0) -> np.ndarray[Any, Any]:
    """Steep slopes and noise: a wrong tap or weight shows."""
    ramp = np.linspace(0, 2**bits - 1, int(np.prod(shape))).reshape(shape)
    grain = np.random.default_rng(seed).integers(0, 2 ** (bits - 1), shape)
    return np.asarray((ramp + grain) % 2**bits, np.uint8 if bits == 8 else np.uint16)


def dataset(place: Path, images: Images, mix: str) -> Path:
    folder = place / "images"
    folder.mkdir()
    for name, pixels in images.items():
        (folder / name).write_bytes(penstock.encode(pixels, name.rpartition(".")[2]))
    build(folder, place / "data.pen", mix=mix)
    return place / "data.pen"


def check_equal(place: Path, *, epochs: int = 1, **options: Any) -> list[dict[str, Any]]:  # noqa: ANN401  # a loader's
    """Batches of device and host are the same, to the bit; gives those of the device."""
    options = {"batch_size": 2, "seed": 5, **options}
    with Loader(place, **options) as host, Loader(place, decode_on="device", device="cpu", **options) as device:
        expected = [batch for _ in range(epochs) for batch in host]
        found = [batch for _ in range(epochs) for batch in device]
    assert len(found) == len(expected) > 0
    for batch, other in zip(found, expected, strict=True):
        assert batch.keys() == other.keys()
        for name, value in batch.items():
            check_same(value, other[name])
    return found


def check_same(value: Any, other: Any) -> None:  # noqa: ANN401  # tensors, or lists of them
    if isinstance(value, list):
        assert isinstance(other, list)
        for item, twin in zip(value, other, strict=True):
            check_same(item, twin)
        return
    assert value.dtype == other.dtype
    assert value.shape == other.shape
    # uint16 has no comparison of its own in torch; bytes tell floats apart to the last bit.
    assert value.numpy().tobytes() == other.numpy().tobytes()


@pytest.fixture(scope="module")
def colours(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two Weir images of different sizes."""
    images = {"a.png": noise(23, 20, 3), "b.png": noise(21, 27, 3, seed=1)}
    return dataset(tmp_path_factory.mktemp("colours"), images, "weir:fast=1")


@pytest.mark.parametrize("chain", CHAINS)
def test_the_device_does_what_the_host_does(colours: Path, chain: str) -> None:
    check_equal(colours, transform=CHAINS[chain])


def test_layout_and_epoch_are_the_loaders(colours: Path) -> None:
    found = check_equal(colours, transform=CHAINS["train"], layout="NHWC", epochs=2)

    assert [batch["image"].shape for batch in found] == [(2, 9, 9, 3)] * 2
    assert not torch.equal(found[0]["image"], found[1]["image"])


@pytest.mark.parametrize("channels", ["RGB", "L", "unchanged"])
def test_channels_are_those_of_the_host(tmp_path: Path, channels: str) -> None:
    images = {"grey.png": noise(17, 19), "colour.png": noise(18, 20, 3), "alpha.png": noise(16, 16, 4)}
    place = dataset(tmp_path, images, "weir:dense=1")

    chain = [RandomCrop(20, pad_if_needed=True, fill=(9, 8, 7)), RandomResizedCrop(7)]
    check_equal(place, transform=chain, channels=channels, batch_size=3)


@pytest.mark.parametrize("first", [[], [ToDtype("uint8", scale=True)]])
def test_sixteen_bits_are_resized_in_doubles(tmp_path: Path, first: list[ToDtype]) -> None:
    place = dataset(tmp_path, {"a.png": noise(19, 17, bits=16), "b.png": noise(18, 21, bits=16, seed=1)}, "weir:fast=1")

    check_equal(place, transform=[*first, RandomResizedCrop(8)], channels="unchanged")
    check_equal(
        place, transform=[*first, RandomResizedCrop(8), ToDtype("float32", scale=True), Normalize([0.4], [0.3])]
    )


@pytest.mark.usefixtures("by_kernels")
def test_formats_that_no_kernel_decodes_come_finished(tmp_path: Path) -> None:
    images = {f"{number}.png": noise(16 + number, 18, 3, seed=number) for number in range(4)}
    place = dataset(tmp_path, images, "weir:fast=0.25,png=0.25,jpeg:q=90=0.25,l3=0.25")

    check_equal(place, transform=CHAINS["train"], batch_size=4)


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_without_transforms_formats_mix_too(tmp_path: Path, layout: str) -> None:
    images = {f"{number}.png": noise(16 + number // 3, 18, 3, seed=number) for number in range(6)}
    place = dataset(tmp_path, images, "weir:fast=0.5,png=0.5")

    found = check_equal(place, batch_size=3, layout=layout)
    assert {type(batch["image"]) for batch in found} == {list}


@pytest.mark.usefixtures("by_kernels")
def test_a_folder_is_read_as_it_is(tmp_path: Path) -> None:
    for number, format in enumerate(("weir", "png", "jpeg")):
        (tmp_path / f"{number}.{format}").write_bytes(penstock.encode(noise(12, 13, 3, seed=number), format))

    check_equal(tmp_path, transform=[Resize((6, 7))], batch_size=3)


def test_masks_get_the_draw_of_their_images(tmp_path: Path) -> None:
    for folder in ("images", "masks"):
        (tmp_path / "source" / folder).mkdir(parents=True)
        for number in range(2):
            pixels = noise(15, 17, 3, seed=number) if folder == "images" else noise(15, 17, seed=number + 2)
            (tmp_path / "source" / folder / f"{number}.png").write_bytes(penstock.encode(pixels, "png"))
    build(tmp_path / "source", tmp_path / "data.pen", mix="weir:fast=1")

    found = check_equal(tmp_path / "data.pen", transform=[RandomResizedCrop(8), RandomHorizontalFlip()])
    assert found[0]["mask"].shape == (2, 8, 8)


def test_boxes_get_the_draw_of_their_images(tmp_path: Path) -> None:
    rows = []
    for number in range(2):
        (tmp_path / f"{number}.png").write_bytes(penstock.encode(noise(15, 17, 3, seed=number), "png"))
        rows.append({"image": f"{number}.png", "boxes": [[1, 2, 9 + number, 10]]})
    (tmp_path / "rows.jsonl").write_text("\n".join(json.dumps(row) for row in rows))
    build(tmp_path / "rows.jsonl", tmp_path / "data.pen", mix="weir:fast=1")

    found = check_equal(tmp_path / "data.pen", transform=[RandomResizedCrop(8), RandomHorizontalFlip()])
    assert found[0]["boxes"][0].shape == (1, 4)


def test_functions_of_ones_own_get_what_the_device_made(colours: Path) -> None:
    def halve(image: torch.Tensor) -> torch.Tensor:
        return image.float() / 2

    found = check_equal(colours, transform=[CenterCrop(8), halve])
    assert found[0]["image"].dtype == torch.float32


def test_a_crop_that_does_not_fit_is_a_bad_sample(tmp_path: Path) -> None:
    place = dataset(tmp_path, {"small.png": noise(6, 6, 3), "large.png": noise(12, 12, 3)}, "weir:fast=1")

    (found,) = check_equal(place, transform=[RandomCrop(8)], on_error="skip")
    assert len(found["image"]) == 1
    loader = Loader(place, transform=[RandomCrop(8)], decode_on="device", device="cpu")
    with loader, pytest.raises(PenstockError, match="6x6"):
        list(loader)


def test_means_for_other_channels_are_told(tmp_path: Path) -> None:
    place = dataset(tmp_path, {"grey.png": noise(9, 9)}, "weir:fast=1")

    chain = [CenterCrop(8), *TO_FLOATS]
    loader = Loader(place, transform=chain, channels="unchanged", decode_on="device", device="cpu")
    with loader, pytest.raises(PenstockError, match="Normalize is for 3 channels"):
        list(loader)


@pytest.mark.usefixtures("by_kernels")
def test_damage_in_a_file_names_the_sample(tmp_path: Path) -> None:
    data = bytearray(penstock.encode(noise(12, 12, 3), "weir"))
    data[-3] ^= 1
    (tmp_path / "bad.weir").write_bytes(data)

    loader = Loader(tmp_path, transform=[CenterCrop(8)], decode_on="device", device="cpu")
    with loader, pytest.raises(CodecError, match="checksum") as caught:
        list(loader)
    assert "sample 0" in str(caught.value.where)


def test_what_the_device_cannot_do_is_refused_by_name(colours: Path) -> None:
    with pytest.raises(ArgumentError, match="no ColorJitter"):
        Loader(colours, decode_on="device", device="cpu", transform=[CenterCrop(4), ColorJitter(0.4)])
    with pytest.raises(ArgumentError, match="on_error='skip' cannot be kept"):
        Loader(colours.parent / "images", decode_on="device", device="cpu", on_error="skip")
