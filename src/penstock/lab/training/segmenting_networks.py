"""Tiny U-Net that predicts a class for every pixel, for data with masks."""

from __future__ import annotations

import torch
from torch import nn


class TinyUNet(nn.Module):
    """Network with two steps down and up again, and skip connections."""

    def __init__(self, num_classes: int, width: int = 12) -> None:
        super().__init__()
        self.first = _stage(3, width)
        self.second = _stage(width, width * 2)
        self.bottom = _stage(width * 2, width * 4)
        self.up_second = _stage(width * 6, width * 2)
        self.up_first = _stage(width * 3, width)
        self.last = nn.Conv2d(width, num_classes, 1)

    def forward(self, batch: torch.Tensor) -> torch.Tensor:
        """Compute scores N×classes×H×W; sides must be multiples of 4."""
        first = self.first(batch)
        second = self.second(nn.functional.max_pool2d(first, 2))
        bottom = self.bottom(nn.functional.max_pool2d(second, 2))
        up = self.up_second(torch.cat([nn.functional.interpolate(bottom, scale_factor=2.0), second], 1))
        up = self.up_first(torch.cat([nn.functional.interpolate(up, scale_factor=2.0), first], 1))
        scores: torch.Tensor = self.last(up)
        return scores


def unet(num_classes: int) -> nn.Module:
    """Make the network with its default width."""
    return TinyUNet(num_classes)


def _stage(channels_in: int, channels: int) -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(channels_in, channels, 3, 1, 1, bias=False), nn.BatchNorm2d(channels), nn.ReLU(inplace=True)
    )
