"""Training in mixed precision: asked for, it computes in bfloat16, keeps float32 weights and still learns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")
import torch  # where it is installed

from penstock.lab.training import Precision, Trainer, TrainingOptions, precision_of  # needs torch


class Watched(torch.nn.Module):
    """Two classes by colour; notes what it computes in."""

    def __init__(self, num_classes: int) -> None:
        super().__init__()
        self.first = torch.nn.Conv2d(3, 8, 3)
        self.last = torch.nn.Linear(8, num_classes)
        self.seen: set[torch.dtype] = set()

    def forward(self, batch: torch.Tensor) -> torch.Tensor:
        scores: torch.Tensor = self.last(torch.relu(self.first(batch)).mean((2, 3)))
        self.seen.add(scores.dtype)
        return scores


def batches() -> Iterator[tuple[Any, Any, int]]:
    draw = np.random.default_rng(1)
    for _ in range(8):
        labels = draw.integers(0, 2, 16)
        images = draw.integers(0, 100, (16, 3, 8, 8)) + 120 * labels[:, None, None, None]
        yield images.astype(np.uint8), labels, 16


def trained(amp: bool | None) -> tuple[Trainer, list[float]]:
    trainer = Trainer(Watched, TrainingOptions(2, 4, learning_rate=0.05, threads=1, amp=amp), seed=3)
    return trainer, [trainer.train(epoch, batches, 8).loss for epoch in range(4)]


@pytest.mark.skipif(torch.cuda.is_available(), reason="what the processor does by default")
@pytest.mark.parametrize(("amp", "dtype"), [(None, torch.float32), (False, torch.float32), (True, torch.bfloat16)])
def test_mixed_precision_is_computed_in_where_it_is_asked_for(amp: bool | None, dtype: object) -> None:
    trainer, losses = trained(amp)
    accuracy, _ = trainer.validate(batches)
    assert isinstance(trainer.model, Watched)
    assert trainer.model.seen == {dtype}  # in training and in validation
    assert {weights.dtype for weights in trainer.model.parameters()} == {torch.float32}
    assert trainer.facts == {"is_cuda": 0, "is_amp": int(amp is True)}
    assert losses[-1] < losses[0]
    assert accuracy > 0.9


@pytest.mark.parametrize(
    ("device", "amp", "has_bfloat16", "wanted"),
    [
        ("cuda", None, True, Precision(torch.bfloat16, is_scaled=False)),
        ("cuda", None, False, Precision(torch.float16, is_scaled=True)),
        ("cuda", False, True, Precision(None, is_scaled=False)),
        ("cpu", None, True, Precision(None, is_scaled=False)),
    ],
)
def test_a_gpu_computes_in_what_it_multiplies(
    device: str, amp: bool | None, has_bfloat16: bool, wanted: object
) -> None:
    assert precision_of(device, amp=amp, has_bfloat16=has_bfloat16) == wanted
