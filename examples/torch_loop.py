"""A plain training loop in PyTorch, with a checkpoint in the middle of an epoch.

python -m examples.torch_loop FOLDER|DATASET
"""

from __future__ import annotations

import sys
from typing import Any

import torch

from penstock.torch import Loader
from penstock.transforms import Normalize, RandomHorizontalFlip, RandomResizedCrop, ToDtype

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def new_loader(path: str) -> Loader:
    """Make a loader of normalised floats, ready for the network."""
    return Loader(
        path,
        batch_size=32,
        seed=0,
        transform=[
            RandomResizedCrop(64),
            RandomHorizontalFlip(),
            ToDtype(torch.float32, scale=True),
            Normalize(MEAN, STD),
        ],
        as_tuple=("image", "label"),
    )


def new_network(num_classes: int) -> torch.nn.Module:
    """Make a network that is small enough for a CPU."""
    return torch.nn.Sequential(
        torch.nn.Conv2d(3, 16, 5, stride=4),
        torch.nn.ReLU(),
        torch.nn.AdaptiveAvgPool2d(4),
        torch.nn.Flatten(),
        torch.nn.Linear(256, num_classes),
    )


def main(path: str, num_epochs: int = 2) -> list[float]:
    """Train, and stop and go on once; gives the losses."""
    network = new_network(num_classes=1000)
    optimizer = torch.optim.SGD(network.parameters(), lr=0.01)
    losses: list[float] = []
    checkpoint: dict[str, Any] = {}
    loader = new_loader(path)
    for _ in range(num_epochs):
        for images, labels in loader:
            loss = torch.nn.functional.cross_entropy(network(images), labels)
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]  # torch has no types there
            optimizer.step()
            losses.append(loss.item())
            if not checkpoint:
                checkpoint = {"network": network.state_dict(), "loader": loader.state_dict()}
    print(f"{loader.stats()['images_per_second']:.0f} images/s, bottleneck: {loader.stats()['bottleneck']}")
    loader.close()

    resumed = new_loader(path)
    resumed.load_state_dict(checkpoint["loader"])
    print(f"resumed in epoch {resumed.epoch}, {sum(len(labels) for _, labels in resumed)} samples left in it")
    resumed.close()
    return losses


if __name__ == "__main__":
    main(sys.argv[1])
