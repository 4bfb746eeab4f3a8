"""Job that trains a model on one or several variants of the data, and times every step."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from penstock.doctor.usage import TreeMeter
from penstock.lab.jobs.contract import LeftOut, Measures, Order
from penstock.lab.jobs.spec import spec_of, start_cold
from penstock.lab.loaders import LabLoader, open_loader
from penstock.types import OnProgress

if TYPE_CHECKING:
    from penstock.lab.training import Trainer


def run(order: Order, on_progress: OnProgress) -> Measures:
    """Train a model and measure it.

    Settings: those of `spec_of`, and

    - `model`, `loader`, `epochs`, `learning_rate`, `num_classes`, `torch_threads`;
    - `amp`: mixed precision, true or false; by default only on CUDA;
    - `validation`: the variant to validate on; empty for no validation;
    - `stages`: [variant, epochs], one after the other, instead of `variant` and `epochs`;
    - `cold`: the page cache drops the data before each epoch.

    The learning rate decreases over all epochs, across stages.
    """
    trainer = _trainer(order)
    validation = _validation(order)
    meter = TreeMeter(os.getpid())
    epochs: list[dict[str, float]] = []
    for variant, count in _stages(order):
        spec = spec_of(order, part="train", variant=variant)
        loader = open_loader(order.text("loader", "penstock"), spec)
        tune = _tuner(order, trainer, loader)
        for _ in range(count):
            on_progress(f"epoch {len(epochs) + 1} of {_num_epochs(order)}, {variant}", len(epochs), _num_epochs(order))
            start_cold(order, spec)
            steps = -(-loader.num_images // order.integer("batch_size", 32))
            epochs.append(_epoch(trainer, loader, validation, meter, (len(epochs), steps)) | tune())
        loader.close()
    if validation is not None:
        validation.close()
    return {"num_images": epochs[0]["num_images"], "epochs": epochs, **_summary(epochs), **trainer.facts}


def _trainer(order: Order) -> Trainer:
    if find_spec("torch") is None:
        raise LeftOut("torch is not installed (pip install penstock[torch])")
    from penstock.lab.training import Trainer, TrainingOptions, make_model

    options = TrainingOptions(
        num_classes=order.integer("num_classes"),
        epochs=_num_epochs(order),
        learning_rate=order.number("learning_rate", 0.1),
        threads=order.integer("torch_threads"),
        amp=None if (amp := order.settings.get("amp")) is None else bool(amp),
    )
    return Trainer(lambda classes: make_model(order.text("model"), classes), options, order.seed)


def _tuner(order: Order, trainer: Trainer, loader: LabLoader) -> Callable[[], dict[str, float]]:
    """Return the action after an epoch: nothing, or a probe of the gradients that sets the next fidelity.

    The scans of the last epoch are recorded; 0 means all of them.
    """
    if not order.settings.get("tuned"):
        return dict
    from penstock.lab.loaders.ours import OurLoader
    from penstock.torch import FidelityTuner
    from penstock.torch import Loader as TensorLoader

    assert isinstance(loader, OurLoader)
    tensors = loader.loader
    assert isinstance(tensors, TensorLoader)
    target = order.text("target")
    tuner = FidelityTuner(
        trainer.model, lambda model, batch: trainer.loss_of(model, batch["image"], batch[target]), tensors, every=1
    )

    def after_epoch() -> dict[str, float]:
        read = tensors.fidelity
        tuner.step()
        return {"scans": float(read or 0)}

    return after_epoch


def _validation(order: Order) -> LabLoader | None:
    variant = order.text("validation")
    if not variant:
        return None
    spec = spec_of(order, part="val", variant=variant)
    return open_loader("penstock", replace(spec, cache="system", cache_bytes=0))


def _epoch(
    trainer: Trainer, loader: LabLoader, validation: LabLoader | None, meter: TreeMeter, place: tuple[int, int]
) -> dict[str, float]:
    number, steps = place
    before = meter.look()
    trained = trainer.train(number, lambda: _skipping(loader.epoch()), steps)
    after = meter.look()
    accuracy, mean_iou = trainer.validate(validation.epoch) if validation is not None else (math.nan, math.nan)
    measures = {
        "num_images": float(trained.num_images),
        "seconds": trained.seconds,
        "wait_seconds": trained.wait_seconds,
        "compute_seconds": trained.compute_seconds,
        "loss": trained.loss,
        "cpu_seconds": after.cpu_seconds - before.cpu_seconds,
        "disk_bytes": float(after.disk_bytes - before.disk_bytes),
    }
    return measures | ({"accuracy": accuracy, "mean_iou": mean_iou} if validation is not None else {})


def _skipping(batches: Iterator[tuple[Any, Any, int]]) -> Iterator[tuple[Any, Any, int]]:
    """Yield batches of two or more samples, because batch normalisation needs them."""
    return (batch for batch in batches if batch[2] > 1)


def _stages(order: Order) -> list[tuple[str, int]]:
    stages = order.settings.get("stages")
    if isinstance(stages, list):
        return [(str(stage[0]), int(str(stage[1]))) for stage in stages if isinstance(stage, list)]
    return [(order.text("variant"), order.integer("epochs", 3))]


def _num_epochs(order: Order) -> int:
    return sum(count for _, count in _stages(order))


def _summary(epochs: list[dict[str, float]]) -> dict[str, float]:
    """Summarize rates without the first epoch, which warms up, and the best accuracy of all."""
    counted = epochs[1:] or epochs
    seconds = sum(epoch["seconds"] for epoch in counted)
    waited = sum(epoch["wait_seconds"] for epoch in counted)
    computed = sum(epoch["compute_seconds"] for epoch in counted)
    found = {
        "epoch_seconds": seconds / len(counted),
        "images_per_second": sum(epoch["num_images"] for epoch in counted) / seconds,
        "stall_share": waited / (waited + computed),
        "cpu_seconds_per_epoch": sum(epoch["cpu_seconds"] for epoch in counted) / len(counted),
        "disk_bytes_per_epoch": sum(epoch["disk_bytes"] for epoch in counted) / len(counted),
        "final_loss": epochs[-1]["loss"],
    }
    if "accuracy" in epochs[0]:
        found["accuracy"] = max(epoch["accuracy"] for epoch in epochs)
        found["mean_iou"] = max(epoch["mean_iou"] for epoch in epochs)
    return found
