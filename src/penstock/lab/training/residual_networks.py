"""Residual networks after He et al., slim: 8 or 18 layers, 16 channels in the first stage."""

from __future__ import annotations

import torch
from torch import nn


class Block(nn.Module):
    """Two 3×3 convolutions with a shortcut."""

    def __init__(self, channels_in: int, channels: int, stride: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(channels_in, channels, 3, stride, 1, bias=False),
            nn.BatchNorm2d(channels),
            nn.ReLU(inplace=True),
            nn.Conv2d(channels, channels, 3, 1, 1, bias=False),
            nn.BatchNorm2d(channels),
        )
        self.around: nn.Module = nn.Identity()
        if stride != 1 or channels_in != channels:
            self.around = nn.Sequential(
                nn.Conv2d(channels_in, channels, 1, stride, bias=False), nn.BatchNorm2d(channels)
            )

    def forward(self, batch: torch.Tensor) -> torch.Tensor:
        """Add the body to the shortcut."""
        return torch.relu(self.body(batch) + self.around(batch))


def slim_resnet(num_classes: int, blocks: tuple[int, ...], width: int = 16) -> nn.Module:
    """Make stages of blocks; each stage after the first halves the side and doubles the channels."""
    layers: list[nn.Module] = [nn.Conv2d(3, width, 3, 2, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(inplace=True)]
    channels = width
    for stage, count in enumerate(blocks):
        for number in range(count):
            wanted = width * 2**stage
            layers.append(Block(channels, wanted, 2 if stage and not number else 1))
            channels = wanted
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, num_classes))


def resnet8(num_classes: int) -> nn.Module:
    """Make a network of three stages with one block."""
    return slim_resnet(num_classes, (1, 1, 1))


def resnet18(num_classes: int) -> nn.Module:
    """Make a network of four stages with two blocks, a quarter of the published width."""
    return slim_resnet(num_classes, (2, 2, 2, 2))
