"""The tuner: a low fidelity where labels sit in coarse structure, a higher one where they sit in texture."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import penstock
from penstock.build import build
from penstock.errors import ArgumentError
from penstock.synth import Scenes, write
from penstock.torch import FidelityTuner, Loader
from tests.progressive_files import build_blocks

CRITERION = nn.CrossEntropyLoss()


class Net(nn.Module):
    """Sees the layout of colours, and how strong details are: either can carry a label."""

    def __init__(self, classes: int = 2) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.detail = nn.Conv2d(3, 24, 5, bias=False)
        with torch.no_grad():
            self.detail.weight -= self.detail.weight.mean((2, 3), keepdim=True)
        self.layout = nn.AdaptiveAvgPool2d(4)
        self.norm = nn.BatchNorm1d(72)
        self.drop = nn.Dropout(0.1)
        self.head = nn.Linear(72, classes)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        pixels = images.float() / 255 - 0.5
        energy = torch.log(self.detail(pixels).square().mean((2, 3)) + 1e-4)
        features = torch.cat([self.layout(pixels).flatten(1), energy], 1)
        found: torch.Tensor = self.head(self.drop(self.norm(features)))
        return found


@pytest.fixture(scope="module")
def blocks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_blocks(tmp_path_factory.mktemp("tuner"), 40, greys=0)


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Two of torch's threads wait for each other, actively, on a machine that has work for both."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def everything(model: nn.Module, optimizer: torch.optim.Optimizer) -> list[bytes]:
    """Parameters, their gradients, buffers, the optimiser's state and every random state, as bytes."""
    tensors = [*model.parameters(), *model.buffers()]
    tensors += [parameter.grad for parameter in model.parameters() if parameter.grad is not None]
    for state in optimizer.state_dict()["state"].values():
        tensors += [value for value in state.values() if isinstance(value, torch.Tensor)]
    found = [tensor.detach().numpy().tobytes() for tensor in tensors]
    found += [torch.get_rng_state().numpy().tobytes(), repr(random.getstate()).encode()]
    return [*found, repr(np.random.get_state()).encode()]  # what a user may use


def train(model: nn.Module, optimizer: torch.optim.Optimizer, batches: list[Any]) -> None:
    for batch in batches:
        optimizer.zero_grad()
        CRITERION(model(batch["image"]), batch["label"]).backward()
        optimizer.step()


def test_a_probe_changes_nothing_bit_for_bit(blocks: Path) -> None:
    with Loader(blocks, batch_size=8, threads=1, fidelity=2) as loader:
        model = Net()
        optimizer = torch.optim.Adam(model.parameters())
        train(model, optimizer, list(loader))
        state = loader.state_dict()
        before = everything(model, optimizer)

        found = FidelityTuner(model, CRITERION, loader, batches=2).probe()

        assert everything(model, optimizer) == before
        assert loader.state_dict() == state
        assert model.training
        assert set(found.scores) == {1, 2, 5}
        assert all(-1 <= score <= 1.0001 for score in found.scores.values())


def test_a_probe_is_the_same_again(blocks: Path) -> None:
    found = []
    for threads in (1, 2):
        with Loader(blocks, batch_size=8, threads=threads, seed=3) as loader:
            tuner = FidelityTuner(Net(), CRITERION, loader, batches=2)
            found += [tuner.probe(), tuner.probe()]
    assert all(probe == found[0] for probe in found)


def test_the_smallest_fidelity_that_passes_is_set_every_so_many_epochs(blocks: Path) -> None:
    with Loader(blocks, batch_size=8, threads=1) as loader:
        tuner = FidelityTuner(Net(), CRITERION, loader, every=2, threshold=1e-6, batches=1)
        assert tuner.step() is None
        assert tuner.step() == 1
        strict = FidelityTuner(Net(), CRITERION, loader, every=1, threshold=1.0, batches=1)
        assert strict.step() is None
        assert len(tuner.probes) == 1


def test_layers_of_sluice_are_fidelities_too(tmp_path: Path) -> None:
    path = build_blocks(tmp_path, 40, greys=0, mix="sluice:layers=2=1")
    with Loader(path, batch_size=8, threads=1) as loader:
        tuner = FidelityTuner(Net(), CRITERION, loader, every=1, threshold=1e-6, batches=1)
        assert tuner.step() == 1
        assert loader.fidelity == 1


def test_a_loss_that_no_longer_falls_raises_the_fidelity(blocks: Path) -> None:
    with Loader(blocks, batch_size=8, threads=1, fidelity=1) as loader:
        tuner = FidelityTuner(Net(), CRITERION, loader, every=0, patience=2)
        found = [tuner.step(loss) for loss in (2.0, 1.0, 0.999, 0.998, 0.997, 0.99, 0.5, 0.5)]
        resumed = FidelityTuner(Net(), CRITERION, loader, every=0, patience=2)
        resumed.load_state_dict(tuner.state_dict())
        assert resumed.step(0.5) is None  # the second stale epoch in a row, and nothing above 5 but all
    assert found == [1, 1, 1, 2, 2, 5, 5, 5]


def test_wrong_wishes_are_refused(blocks: Path) -> None:
    with Loader(blocks, batch_size=8, threads=1) as loader:
        for wrong in ({"threshold": 0.0}, {"every": -1}, {"batches": 0}, {"candidates": (5, 1)}, {"candidates": ()}):
            with pytest.raises(ArgumentError):
                FidelityTuner(Net(), CRITERION, loader, **wrong)


@pytest.mark.long
def test_texture_wants_more_scans_than_structure(tmp_path: Path) -> None:
    chosen = {}
    for variant in ("coarse", "texture"):
        scenes = Scenes(width=64, height=64, classes=2, variant=variant)
        write(tmp_path / variant, images=128, scenes=scenes, format="jpeg:q=95")
        path = build(tmp_path / variant, tmp_path / f"{variant}.pen", mix="pjpeg=1").path
        with Loader(path, batch_size=32, threads=1) as loader:
            model = Net()
            optimizer = torch.optim.Adam(model.parameters(), 1e-2)
            batches = list(loader)
            for _ in range(12):
                train(model, optimizer, batches)
            first, second = (FidelityTuner(model, CRITERION, loader).probe() for _ in range(2))
            assert first == second
            chosen[variant] = first.chosen
    assert chosen == {"coarse": 1, "texture": 5}


RANK = """
import json, sys
import torch
from torch import nn
from penstock.torch import FidelityTuner, Loader
from tests.unit.torch.test_fidelity_tuner import CRITERION, Net
rank, path, place = int(sys.argv[1]), sys.argv[2], sys.argv[3]
torch.set_num_threads(1)
torch.distributed.init_process_group("gloo", init_method=f"file://{place}", rank=rank, world_size=2)
with Loader(path, batch_size=4, threads=1) as loader:
    model = nn.parallel.DistributedDataParallel(Net())
    tuner = FidelityTuner(model, CRITERION, loader, every=1, batches=2, threshold=0.5, patience=1)
    chosen = tuner.step(loss=1.0)
    CRITERION(model(next(iter(loader))["image"]), torch.zeros(4, dtype=torch.long)).backward()  # still a DDP model
    print(json.dumps({"chosen": chosen, "scores": tuner.probes[0].scores, "ids": len(loader)}))
torch.distributed.destroy_process_group()
"""


@pytest.mark.long
def test_two_ranks_agree(blocks: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-c", RANK]
    ranks = [
        subprocess.Popen([*command, str(rank), str(blocks), str(tmp_path / "meet")], stdout=subprocess.PIPE, text=True)
        for rank in range(2)
    ]
    found = [rank.communicate(timeout=120)[0] for rank in ranks]
    assert [rank.returncode for rank in ranks] == [0, 0]
    assert found[0] == found[1]


def test_labels_are_what_losses_take(blocks: Path) -> None:
    with Loader(blocks, batch_size=8, threads=1) as loader:
        assert next(iter(loader))["label"].dtype == torch.int64
        assert next(iter(loader.sample_batches(1, 2)))["label"].dtype == torch.int64


def test_a_look_shows_the_same_samples_at_every_fidelity(blocks: Path) -> None:
    with penstock.Loader(blocks, batch_size=8, threads=1) as loader:
        coarse, fine = (list(loader.sample_batches(2, fidelity)) for fidelity in (1, None))
    assert [batch["id"].tolist() for batch in coarse] == [batch["id"].tolist() for batch in fine]
    assert not np.array_equal(coarse[0]["image"], fine[0]["image"])
