"""Plain training loop that times itself: how long each step waited for data, how long it computed, what it learned.

It is deliberately small: SGD with momentum and a cosine over all epochs, as in the published runs. It uses CUDA if
available, and then mixed precision by default.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

Batches = Callable[[], Iterable[tuple[Any, Any, int]]]
"""An epoch: (images N×C×H×W of uint8, targets, N) of each batch."""
NOT_A_CLASS = 255
BFLOAT16_SINCE = (8, 0)
"""Compute capability of the first GPUs (Ampere) that multiply it; older ones emulate it, slowly."""


@dataclass(frozen=True, slots=True)
class TrainingOptions:
    """Options of a training run."""

    num_classes: int
    epochs: int
    learning_rate: float = 0.1
    momentum: float = 0.9
    weight_decay: float = 5e-4
    warm_up_steps: int = 10
    threads: int = 0
    """Threads of torch; 0 leaves them unchanged."""
    amp: bool | None = None
    """Mixed precision (autocast); None: on CUDA alone."""


@dataclass(frozen=True, slots=True)
class Precision:
    """Precision of the computation; weights stay float32."""

    dtype: torch.dtype | None
    """Type of autocast; None turns it off."""
    is_scaled: bool
    """float16 loses small gradients unless the loss is scaled; bfloat16 has float32's range."""


def precision_of(device: str, *, amp: bool | None, has_bfloat16: bool) -> Precision:
    """Choose bfloat16 if the device has it, else float16 with a scaled loss; `amp` None means only on CUDA.

    >>> precision_of("cpu", amp=None, has_bfloat16=True).dtype is None
    True
    >>> precision_of("cuda", amp=None, has_bfloat16=False)
    Precision(dtype=torch.float16, is_scaled=True)
    """
    if not (device == "cuda" if amp is None else amp):
        return Precision(None, is_scaled=False)
    return Precision(torch.bfloat16, is_scaled=False) if has_bfloat16 else Precision(torch.float16, is_scaled=True)


@dataclass(frozen=True, slots=True)
class EpochResult:
    """Result of one epoch: times in seconds, accuracy as a share of samples or of pixels."""

    num_images: int
    seconds: float
    wait_seconds: float
    compute_seconds: float
    loss: float
    accuracy: float
    """Accuracy of validation; NaN without validation."""
    mean_iou: float
    """Mean over classes of intersection over union; of classification, the mean over classes likewise."""


class Trainer:
    """Model in training. Weights and updates are a function of the seed and the batches."""

    def __init__(self, make: Callable[[int], nn.Module], options: TrainingOptions, seed: int) -> None:
        if options.threads:
            torch.set_num_threads(options.threads)
        torch.manual_seed(seed)
        self._options = options
        is_cuda = torch.cuda.is_available()
        self._device = torch.device("cuda" if is_cuda else "cpu")
        has_bfloat16 = not is_cuda or torch.cuda.get_device_capability() >= BFLOAT16_SINCE
        self._precision = precision_of(self._device.type, amp=options.amp, has_bfloat16=has_bfloat16)
        self._model = make(options.num_classes).to(self._device)
        self._optimizer = torch.optim.SGD(
            self._model.parameters(), options.learning_rate, options.momentum, weight_decay=options.weight_decay
        )
        self._scaler = torch.amp.GradScaler(self._device.type, enabled=self._precision.is_scaled)
        self._loss = nn.CrossEntropyLoss(ignore_index=NOT_A_CLASS, label_smoothing=0.1)
        self._step = 0

    def train(self, epoch: int, batches: Batches, steps_per_epoch: int) -> EpochResult:
        """Train one epoch; the accuracy stays unset."""
        self._model.train()
        waited = computed = total_loss = 0.0
        num_images = num_steps = 0
        begin = mark = time.perf_counter()
        for images, targets, count in batches():
            arrived = time.perf_counter()
            waited += arrived - mark
            total_loss += self._update(images, targets, epoch, steps_per_epoch)
            num_images, num_steps = num_images + count, num_steps + 1
            mark = time.perf_counter()
            computed += mark - arrived
        seconds = time.perf_counter() - begin
        return EpochResult(num_images, seconds, waited, computed, total_loss / max(1, num_steps), math.nan, math.nan)

    def validate(self, batches: Batches) -> tuple[float, float]:
        """Return the share of correct samples (or pixels), and the mean intersection over union of the classes."""
        self._model.eval()
        classes = self._options.num_classes
        confusion = torch.zeros(classes, classes, dtype=torch.int64)
        with torch.inference_mode(), self._autocast():
            for images, targets, _ in batches():
                guessed = self._model(self._inputs(images)).argmax(1).cpu().flatten()
                wanted = self._targets(targets).cpu().flatten()
                is_class = wanted != NOT_A_CLASS
                confusion += torch.bincount(wanted[is_class] * classes + guessed[is_class], minlength=classes**2).view(
                    classes, classes
                )
        right = confusion.diagonal().double()
        union = (confusion.sum(0) + confusion.sum(1)).double() - right
        is_present = union > 0
        iou = (right[is_present] / union[is_present]).mean()
        return float(right.sum() / max(1, int(confusion.sum()))), float(iou)

    @property
    def model(self) -> nn.Module:
        """Model that is trained."""
        return self._model

    @property
    def facts(self) -> dict[str, int]:
        """Device and precision, for the line of a run."""
        return {"is_cuda": int(self._device.type == "cuda"), "is_amp": int(self._precision.dtype is not None)}

    def loss_of(self, model: nn.Module, images: Any, targets: Any) -> torch.Tensor:  # noqa: ANN401  # arrays or tensors
        """Compute the loss of a batch without a step."""
        loss: torch.Tensor = self._loss(model(self._inputs(images)), self._targets(targets))
        return loss

    def _update(self, images: Any, targets: Any, epoch: int, steps_per_epoch: int) -> float:  # noqa: ANN401  # arrays or tensors
        self._set_rate(epoch, steps_per_epoch)
        with self._autocast():
            loss = self.loss_of(self._model, images, targets)
        self._optimizer.zero_grad(set_to_none=True)
        self._scaler.scale(loss).backward()  # type: ignore[no-untyped-call]  # torch has no types there
        self._scaler.step(self._optimizer)
        self._scaler.update()
        self._step += 1
        return float(loss.detach())  # waits for the device, so a step's time is all of its work and no other's

    def _autocast(self) -> torch.autocast:
        """Return the autocast context, which is off without mixed precision."""
        dtype = self._precision.dtype
        return torch.autocast(self._device.type, dtype=dtype, enabled=dtype is not None)

    def _set_rate(self, epoch: int, steps_per_epoch: int) -> None:
        """Set the learning rate: a short warm-up, then half a cosine over all epochs, shared by all stages."""
        done = (epoch * steps_per_epoch + self._step % max(1, steps_per_epoch)) / (
            self._options.epochs * max(1, steps_per_epoch)
        )
        rise = min(1.0, (self._step + 1) / self._options.warm_up_steps)
        for group in self._optimizer.param_groups:
            group["lr"] = self._options.learning_rate * rise * (1 + math.cos(math.pi * min(1.0, done))) / 2

    def _inputs(self, images: Any) -> torch.Tensor:  # noqa: ANN401  # an array or a tensor
        batch = torch.as_tensor(images).to(self._device, non_blocking=True)
        return batch.to(torch.float32, memory_format=torch.channels_last).div_(127.5).sub_(1.0)

    def _targets(self, targets: Any) -> torch.Tensor:  # noqa: ANN401  # an array or a tensor
        wanted = torch.as_tensor(targets).to(self._device, torch.int64, non_blocking=True)
        is_outside = (wanted < 0) | (wanted >= self._options.num_classes)
        return wanted.masked_fill(is_outside, NOT_A_CLASS)
