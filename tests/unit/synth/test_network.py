"""A small network learns the labels from pixels, and what quality does to that."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import torch
from torch import nn

from penstock.synth import Scenes
from tests.unit.synth.test_learning import Degrade, as_it_is, as_poor_jpeg, at_an_eighth, dataset, other_seed

CLASSES = 4
EPOCHS = 12
BATCH = 16


def small_network() -> nn.Module:
    def stage(channels_in: int, channels_out: int, side: int) -> list[nn.Module]:
        convolution = nn.Conv2d(channels_in, channels_out, side, stride=2, padding=side // 2, bias=False)
        return [convolution, nn.BatchNorm2d(channels_out), nn.ReLU()]

    pool = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, CLASSES)]
    return nn.Sequential(*stage(3, 16, 5), *stage(16, 32, 3), *stage(32, 64, 3), *pool)


def tensors(scenes: Scenes, count: int, degrade: Degrade) -> tuple[torch.Tensor, torch.Tensor]:
    images, labels = dataset(scenes, count, degrade)
    return torch.from_numpy(np.stack(images)).permute(0, 3, 1, 2).float() / 255 - 0.5, torch.from_numpy(labels)


def trained_accuracy(variant: str, degrade: Degrade) -> float:
    """On images of another seed."""
    torch.manual_seed(0)
    scenes = Scenes(width=64, height=64, classes=CLASSES, variant=variant)
    images, labels = tensors(scenes, 800, degrade)
    network = small_network()
    optimizer = torch.optim.AdamW(network.parameters(), 5e-3)
    steps = EPOCHS * (len(images) // BATCH)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 5e-3, total_steps=steps)
    for _ in range(EPOCHS):
        for chosen in torch.randperm(len(images)).view(-1, BATCH):
            loss = nn.functional.cross_entropy(network(images[chosen]), labels[chosen])
            optimizer.zero_grad()
            torch.autograd.backward(loss)
            optimizer.step()
            schedule.step()
    network.eval()
    held_out, truth = tensors(other_seed(scenes), 240, degrade)
    with torch.no_grad():
        return float((network(held_out).argmax(dim=1) == truth).float().mean())


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Several tests train at once, and threads that wait for one another on a busy machine take minutes."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.long
@pytest.mark.parametrize(
    ("variant", "degrade", "least", "most"),
    [
        ("coarse", as_it_is, 0.9, 1),
        ("coarse", as_poor_jpeg, 0.9, 1),
        ("coarse", at_an_eighth, 0.9, 1),
        ("texture", as_it_is, 0.7, 1),
        ("texture", as_poor_jpeg, 0, 0.45),
        ("texture", at_an_eighth, 0, 0.45),
        ("mixed", as_it_is, 0.85, 1),
        ("mixed", at_an_eighth, 0.4, 0.7),
    ],
)
def test_a_small_network_learns_what_quality_leaves(variant: str, degrade: Degrade, least: float, most: float) -> None:
    assert least <= trained_accuracy(variant, degrade) <= most
