"""The loader for torch: tensors over the same memory, and the wrong places to use it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

import penstock
from penstock import ArgumentError, PenstockError
from penstock.build import build
from penstock.torch import Loader
from penstock.transforms import CenterCrop, RandomResizedCrop
from tests.unit.kernels.conftest import make_quick


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve small PNGs in three classes."""
    root = tmp_path_factory.mktemp("images")
    generator = np.random.default_rng(0)
    for number in range(12):
        place = root / f"class{number % 3}"
        place.mkdir(exist_ok=True)
        pixels = generator.integers(0, 256, (20, 24, 3), dtype=np.uint8)
        (place / f"{number:02d}.png").write_bytes(penstock.encode(pixels, "png"))
    return root


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Listings are kept where no other test sees them."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def test_tensors_hold_what_arrays_hold(folder: Path) -> None:
    chain = [RandomResizedCrop(8)]
    with penstock.Loader(folder, batch_size=5, seed=3, transform=chain) as arrays:
        expected = list(arrays)
    with Loader(folder, batch_size=5, seed=3, transform=chain) as tensors:
        found = list(tensors)

    for batch, tensor in zip(expected, found, strict=True):
        assert tensor["image"].dtype == torch.uint8
        assert (tensor["image"].permute(0, 2, 3, 1).numpy() == batch["image"]).all()
        assert (tensor["label"].numpy() == batch["label"]).all()
        assert tensor["id"].dtype == torch.int64


def test_a_device_gets_its_batches(folder: Path) -> None:
    with Loader(folder, batch_size=5, device="cpu", as_tuple=("image", "label")) as loader:
        for image, label in loader:
            assert image.device.type == label.device.type == "cpu"
        assert loader.state_dict()["epoch"] == 1


def test_functions_of_ones_own_get_tensors(folder: Path) -> None:
    def halve(image: torch.Tensor) -> torch.Tensor:
        return image.float() / 2

    with Loader(folder, batch_size=4, transform=[CenterCrop(8), halve]) as loader:
        batch = next(iter(loader))
    assert batch["image"].shape == (4, 3, 8, 8)
    assert batch["image"].dtype == torch.float32


@pytest.mark.parametrize("format", ["weir:fast", "l3"])
def test_decoding_on_the_device_gives_the_same_batches(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, format: str
) -> None:
    make_quick(monkeypatch)
    build(folder, tmp_path / "data.pen", mix=f"{format}=1")
    with Loader(tmp_path / "data.pen", batch_size=2, subset=slice(2), channels="unchanged") as host:
        expected = list(host)
    with Loader(tmp_path / "data.pen", batch_size=2, subset=slice(2), decode_on="device", device="cpu") as device:
        found = list(device)

    for batch, other in zip(expected, found, strict=True):
        assert torch.equal(batch["image"], other["image"])
        assert torch.equal(batch["id"], other["id"])


def test_decoding_on_the_device_needs_one(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRITON_INTERPRET")
    with pytest.raises(ArgumentError, match="needs an accelerator"):
        Loader(folder, decode_on="device", device="cpu")


class Rows(torch.utils.data.IterableDataset[object]):
    """A loader in a place where it does not belong."""

    def __init__(self, loader: Loader) -> None:
        self.loader = loader

    def __iter__(self) -> Iterator[object]:
        return iter(self.loader)


def test_a_worker_is_told_what_to_write(folder: Path) -> None:
    with Loader(folder) as loader:
        rows = Rows(loader)
        data = torch.utils.data.DataLoader(rows, batch_size=None, num_workers=1, multiprocessing_context="fork")
        with pytest.raises(PenstockError, match="for batch in loader"):
            list(data)


def test_none_is_made_inside_a_worker(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.utils.data.get_worker_info", lambda: object())
    with pytest.raises(PenstockError, match="for batch in loader"):
        Loader(folder)


def test_keywords_of_dataloader_are_taken_or_explained(folder: Path) -> None:
    with pytest.warns(UserWarning, match="threads, not processes"):
        Loader(folder, **{"num_workers": 4}).close()  # type: ignore[arg-type]
    Loader(folder, **{"num_workers": 0, "pin_memory": False, "collate_fn": None}).close()  # type: ignore[arg-type]
    for name in ("collate_fn", "sampler", "worker_init_fn"):
        with pytest.raises(ArgumentError, match=f"takes no {name}"):
            Loader(folder, **{name: print})  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="unexpected keyword"):
        Loader(folder, **{"numworkers": 4})  # type: ignore[arg-type]


def test_a_loader_is_not_sent_to_other_processes(folder: Path) -> None:
    import pickle

    with Loader(folder) as loader, pytest.raises(PenstockError, match="one Loader per rank"):
        pickle.dumps(loader)
