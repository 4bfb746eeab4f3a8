"""Contract of a loader in the lab: from the same specification, all give batches of the same shape."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from penstock.load.fidelity_schedule import FidelityLike


@dataclass(frozen=True, slots=True)
class LoaderSpec:
    """Specification that every loader gets."""

    path: str
    """A dataset of Penstock's, for those that read it; else the folder of images."""
    folder: str
    """The folder of images as the user has it."""
    batch_size: int
    threads: int
    """Threads of the loader, or worker processes if it has those. 0: all usable cores."""
    seed: int
    size: int
    """Side of the square crop; 0: whole images, encoded if `is_encoded`."""
    crop: str = "resized"
    """`resized`: RandomResizedCrop. `plain`: RandomCrop. `center`: what validation does. `stretch`: the whole image."""
    cache: str = "system"
    cache_bytes: int = 0
    """Size of the cache between epochs, in addition to the loader's working memory."""
    target: str = "label"
    """Target of a batch: `label`, `mask`, or `` for nothing."""
    part: str = ""
    """`train`, `val`, or `` for everything."""
    share: float = 1.0
    """Share of the samples: the first of every class, as (DL)² subsampled."""
    is_encoded: bool = False
    """Read only: batches hold encoded images."""
    fidelity: FidelityLike = None
    """Scans of progressive images: a number, steps over the epochs, or None for all."""
    is_tuned: bool = False
    """True if a tuner will set the fidelity; batches are then tensors of `penstock.torch.Loader`."""


class LabLoader(Protocol):
    """Interface of an opened loader."""

    num_images: int
    """Number of images of an epoch."""

    def epoch(self) -> Iterator[tuple[Any, Any, int]]:
        """Yield (images N×C×H×W of uint8, targets or None, N) of each batch of the next epoch."""

    def facts(self) -> dict[str, float]:
        """Return what the loader itself counted over all epochs, as plain numbers."""

    def close(self) -> None:
        """Stop threads and processes."""
