"""One batch that stays in memory, handed out again and again: the rate of a model that never waits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock.lab.loaders.contract import LoaderSpec
from penstock.lab.loaders.ours import OurLoader


class ResidentBatch:
    """The first batch of the data, for ever."""

    def __init__(self, spec: LoaderSpec) -> None:
        source = OurLoader(spec)
        self.num_images = source.num_images
        self._batch = next(source.epoch())
        source.close()

    def epoch(self) -> Iterator[tuple[Any, Any, int]]:
        """As many images as an epoch has."""
        images, targets, count = self._batch
        for _ in range(-(-self.num_images // count)):
            yield images, targets, count

    def facts(self) -> dict[str, float]:
        """It counts nothing."""
        return {}

    def close(self) -> None:
        """Nothing runs."""


def open_loader(spec: LoaderSpec) -> ResidentBatch:
    """As the contract says."""
    return ResidentBatch(spec)
