"""Networks in one line: after AlexNet (light on compute, so loading limits it) and MobileNet (depthwise)."""

from __future__ import annotations

from torch import nn


def alexnet(num_classes: int) -> nn.Module:
    """Make a network of few wide convolutions with large strides, which computes faster than most loaders load."""
    return nn.Sequential(
        nn.Conv2d(3, 24, 7, 4, 3),
        nn.ReLU(inplace=True),
        nn.MaxPool2d(3, 2, 1),
        nn.Conv2d(24, 48, 5, 1, 2),
        nn.ReLU(inplace=True),
        nn.MaxPool2d(3, 2, 1),
        nn.Conv2d(48, 64, 3, 1, 1),
        nn.ReLU(inplace=True),
        nn.AdaptiveAvgPool2d(2),
        nn.Flatten(),
        nn.Dropout(0.2),
        nn.Linear(256, 128),
        nn.ReLU(inplace=True),
        nn.Linear(128, num_classes),
    )


def mobilenet(num_classes: int) -> nn.Module:
    """Make a network of depthwise convolutions, each followed by a 1×1 convolution."""
    layers: list[nn.Module] = [nn.Conv2d(3, 16, 3, 2, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU6(inplace=True)]
    channels = 16
    for wanted, stride in ((24, 1), (32, 2), (32, 1), (64, 2), (64, 1)):
        layers += _separable(channels, wanted, stride)
        channels = wanted
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, num_classes))


def _separable(channels_in: int, channels: int, stride: int) -> list[nn.Module]:
    return [
        nn.Conv2d(channels_in, channels_in, 3, stride, 1, groups=channels_in, bias=False),
        nn.BatchNorm2d(channels_in),
        nn.ReLU6(inplace=True),
        nn.Conv2d(channels_in, channels, 1, bias=False),
        nn.BatchNorm2d(channels),
        nn.ReLU6(inplace=True),
    ]
