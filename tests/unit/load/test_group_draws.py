"""Groups of transforms and changes of colour draw by (seed, epoch, id) alone: threads and resumes change nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

import penstock
from penstock.synth import Scenes, write
from penstock.transforms import (
    ColorJitter,
    PillowGaussianBlur,
    RandomApply,
    RandomChoice,
    RandomEqualize,
    RandomGrayscale,
    RandomHorizontalFlip,
    RandomOrder,
    RandomResizedCrop,
    RandomSolarize,
    Transform,
)
from penstock.types import Pixels

CHAIN: list[Transform] = [
    RandomResizedCrop(24),
    RandomHorizontalFlip(),
    RandomApply([ColorJitter(0.4, 0.4, 0.2, 0.1)], p=0.8),
    RandomOrder([RandomGrayscale(0.5), RandomEqualize(0.5)]),
    RandomChoice([PillowGaussianBlur(), RandomSolarize(128)]),
]


@pytest.fixture(scope="module")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("photos")
    write(str(folder), images=24, scenes=Scenes(width=48, height=40, classes=2))
    return folder


def images(photos: Path, *, threads: int = 1, seed: int = 3) -> list[Pixels]:
    with penstock.Loader(photos, batch_size=5, seed=seed, transform=CHAIN, threads=threads) as loader:
        return [batch["image"].copy() for epoch in range(2) for batch in loader]


def test_threads_and_runs_draw_alike_and_seeds_do_not(photos: Path) -> None:
    first = images(photos)

    for again in (images(photos), images(photos, threads=2)):
        assert all((one == other).all() for one, other in zip(first, again, strict=True))
    assert not all((one == other).all() for one, other in zip(first, images(photos, seed=4), strict=True))


def test_a_resumed_loader_draws_what_it_would_have(photos: Path) -> None:
    straight = images(photos)
    with penstock.Loader(photos, batch_size=5, seed=3, transform=CHAIN) as loader:
        head = [batch["image"].copy() for _, batch in zip(range(2), loader, strict=False)]
        state = loader.state_dict()
    with penstock.Loader(photos, batch_size=5, seed=3, transform=CHAIN) as loader:
        loader.load_state_dict(state)
        tail = [batch["image"].copy() for batch in loader]

    assert len(head) + len(tail) == len(straight) // 2
    assert all((one == other).all() for one, other in zip(straight, [*head, *tail], strict=False))
