"""`penstock.torch.FidelityTuner`: chooses the fewest scans that keep the gradient.

Regularly it compares the gradient of some batches at each fidelity with that at full quality (PCR, VLDB 2021: cosine
similarity), and lets the loader read the smallest fidelity that is similar enough. A second rule needs no gradient:
when the loss no longer decreases, the fidelity rises by one step.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import torch
from torch import nn

from penstock.errors import ArgumentError
from penstock.torch.loader import Loader

Loss = Callable[[nn.Module, Mapping[str, Any]], torch.Tensor]
CANDIDATES = (1, 2, 5)
"""Scans that are tried; full quality always is."""


@dataclass(frozen=True, slots=True)
class Probe:
    """Result of a comparison of gradients."""

    scores: Mapping[int, float]
    """Cosine similarity to full quality, by number of scans."""
    chosen: int | None
    """The smallest that passed; None is full quality."""


@dataclass(slots=True)
class _Progress:
    num_epochs: int = 0
    best_loss: float | None = None
    num_stale: int = 0


@dataclass
class FidelityTuner:
    """Choose a loader's fidelity between epochs. Call `step` after each epoch, on every rank.

    `loss(model, batch)` returns a scalar; a criterion such as `nn.CrossEntropyLoss()` is applied to
    `model(batch["image"])` and `batch["label"]`. Every `every` epochs, the gradients of `batches` batches are compared;
    0 never does. With `patience`, the loss given to `step` counts too: if it has not decreased by `min_delta` of itself
    for this many epochs, the fidelity rises by one step.

    A probe restores parameters, gradients, buffers (batch norm) and all random states bit for bit, and makes no
    optimiser step. Under DistributedDataParallel, gradients are averaged over the ranks, and rank 0 chooses for all.
    """

    model: nn.Module
    loss: Loss | nn.Module
    loader: Loader
    every: int = 5
    threshold: float = 0.8
    batches: int = 4
    candidates: Sequence[int] = CANDIDATES
    patience: int | None = None
    min_delta: float = 0.01
    probes: list[Probe] = field(default_factory=list)
    """Results of all probes so far."""

    def __post_init__(self) -> None:
        if not 0 < self.threshold <= 1 or self.every < 0 or self.batches < 1:
            raise ArgumentError(
                f"threshold {self.threshold}, every {self.every}, batches {self.batches}",
                where="FidelityTuner",
                fix="a threshold above 0 and at most 1, every 0 or more epochs, at least one batch",
                code=100,
            )
        if not self.candidates or list(self.candidates) != sorted(set(self.candidates)):
            fix = "give numbers of scans, ascending, such as (1, 2, 5)"
            raise ArgumentError(f"candidates {self.candidates}", where="FidelityTuner", fix=fix, code=100)
        self._progress = _Progress()

    def step(self, loss: float | None = None) -> int | None:
        """Set and return the fidelity of the next epoch after one with this mean loss; None means all scans."""
        self._progress.num_epochs += 1
        if self.every and self._progress.num_epochs % self.every == 0:
            found = self.probe()
            self.loader.set_fidelity(found.chosen)
        if self.patience is not None and loss is not None and self._is_stale(_mean(loss, self._device())):
            self.loader.set_fidelity(self._next_higher())
        return self.loader.fidelity

    def probe(self) -> Probe:
        """Compare the gradients now, and change nothing."""
        model = _module(self.model)
        parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
        with _untouched(model):
            full = self._gradient(model, parameters, None)
            scores = {scans: _similarity(self._gradient(model, parameters, scans), full) for scans in self.candidates}
        passed = (scans for scans, score in scores.items() if score >= self.threshold)
        found = Probe(scores, _agreed(next(passed, None), self._device()))
        self.probes.append(found)
        return found

    def state_dict(self) -> dict[str, Any]:
        """Return what `step` remembers, in addition to the loader's own state."""
        return asdict(self._progress)

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Resume from a state."""
        self._progress = _Progress(**state)

    def _gradient(self, model: nn.Module, parameters: list[nn.Parameter], scans: int | None) -> torch.Tensor:
        """Compute the gradient over the same batches and random numbers at every fidelity, averaged over ranks."""
        total = torch.zeros(sum(parameter.numel() for parameter in parameters), device=self._device())
        with _untouched(model):
            torch.manual_seed(0)
            for batch in self.loader.sample_batches(self.batches, scans):
                with torch.enable_grad():
                    grads = torch.autograd.grad(self._loss(model, batch), parameters, allow_unused=True)
                flat = [
                    (torch.zeros_like(parameter) if grad is None else grad).reshape(-1).float()
                    for parameter, grad in zip(parameters, grads, strict=True)
                ]
                total += torch.cat(flat)
        if _is_distributed():
            torch.distributed.all_reduce(total)
        return total

    def _loss(self, model: nn.Module, batch: Mapping[str, Any]) -> torch.Tensor:
        if isinstance(self.loss, nn.Module):
            value: torch.Tensor = self.loss(model(batch["image"]), batch["label"])
            return value
        return self.loss(model, batch)

    def _is_stale(self, loss: float) -> bool:
        progress = self._progress
        if progress.best_loss is None or loss < progress.best_loss - self.min_delta * abs(progress.best_loss):
            progress.best_loss, progress.num_stale = loss, 0
            return False
        progress.num_stale += 1
        if progress.num_stale < (self.patience or 0):
            return False
        progress.num_stale = 0
        return True

    def _next_higher(self) -> int | None:
        now = self.loader.fidelity
        return None if now is None else next((scans for scans in self.candidates if scans > now), None)

    def _device(self) -> torch.device:
        return next((parameter.device for parameter in self.model.parameters()), torch.device("cpu"))


@contextmanager
def _untouched(model: nn.Module) -> Iterator[None]:
    """Restore buffers and random states bit for bit after the block; gradients are not restored."""
    buffers = [(buffer, buffer.detach().clone()) for buffer in model.buffers()]
    states = random.getstate(), np.random.get_state(), torch.get_rng_state()  # the user may use it
    cuda = torch.cuda.get_rng_state_all() if torch.cuda.is_available() else None
    try:
        yield
    finally:
        with torch.no_grad():
            for buffer, before in buffers:
                buffer.copy_(before)
        random.setstate(states[0])
        np.random.set_state(states[1])
        torch.set_rng_state(states[2])
        if cuda is not None:
            torch.cuda.set_rng_state_all(cuda)


def _module(model: nn.Module) -> nn.Module:
    """Return the module without DistributedDataParallel, whose hooks expect a step after every backward pass."""
    inner = getattr(model, "module", None)
    return inner if isinstance(model, nn.parallel.DistributedDataParallel) and inner is not None else model


def _similarity(one: torch.Tensor, other: torch.Tensor) -> float:
    """Compute the cosine of the angle between two gradients; 0 if one of them is zero."""
    norms = one.double().norm() * other.double().norm()
    return float(one.double() @ other.double() / norms) if norms > 0 else 0.0


def _is_distributed() -> bool:
    return torch.distributed.is_available() and torch.distributed.is_initialized()


def _agreed(chosen: int | None, device: torch.device) -> int | None:
    """Return the choice of rank 0."""
    if not _is_distributed():
        return chosen
    value = torch.tensor([chosen or 0], device=device)
    torch.distributed.broadcast(value, 0)
    return int(value.item()) or None


def _mean(value: float, device: torch.device) -> float:
    """Average a value over the ranks."""
    if not _is_distributed():
        return value
    total = torch.tensor([value], dtype=torch.float64, device=device)
    torch.distributed.all_reduce(total)
    return float(total.item()) / torch.distributed.get_world_size()
