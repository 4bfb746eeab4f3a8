"""Transfer of batches to a device: pinned, copied on a separate stream, one batch ahead of the training step."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import torch

Batch = dict[str, Any]
Counted = TypeVar("Counted")


def each_tensor(value: Any, change: Callable[[torch.Tensor], torch.Tensor]) -> Any:  # noqa: ANN401  # a tensor, a list of them, or what is none
    """Return the value with every tensor in it changed."""
    if isinstance(value, torch.Tensor):
        return change(value)
    if isinstance(value, list):
        return [each_tensor(item, change) for item in value]
    return value


def copied_ahead(batches: Iterator[tuple[Batch, Counted]], device: torch.device) -> Iterator[tuple[Batch, Counted]]:
    """Yield the batches on a device. On CUDA, the next copy runs while the consumer uses this batch."""
    if device.type != "cuda":
        for batch, count in batches:
            yield {name: each_tensor(value, lambda tensor: tensor.to(device)) for name, value in batch.items()}, count
        return
    stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]  # torch has no types there
    waiting: tuple[Batch, Counted] | None = None
    for batch, count in batches:
        copied = _start_copy(batch, device, stream), count
        if waiting is not None:
            yield _arrived(waiting[0], device, stream), waiting[1]
        waiting = copied
    if waiting is not None:
        yield _arrived(waiting[0], device, stream), waiting[1]


def _start_copy(batch: Batch, device: torch.device, stream: torch.cuda.Stream) -> Batch:
    def copy(tensor: torch.Tensor) -> torch.Tensor:
        return tensor if tensor.device == device else tensor.pin_memory().to(device, non_blocking=True)

    with torch.cuda.stream(stream):
        return {name: each_tensor(value, copy) for name, value in batch.items()}


def _arrived(batch: Batch, device: torch.device, stream: torch.cuda.Stream) -> Batch:
    """Let the consumer's stream wait for the copies, and keep their memory until it is done with them."""
    current = torch.cuda.current_stream(device)
    current.wait_stream(stream)

    def hold(tensor: torch.Tensor) -> torch.Tensor:
        tensor.record_stream(current)
        return tensor

    return {name: each_tensor(value, hold) for name, value in batch.items()}
