"""Settings that all recipes with loading or training share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from penstock.documents import Json
from penstock.errors import ArgumentError
from penstock.lab.lines import Line
from penstock.lab.recipes.contract import Cell, DataFacts, Recipe, wrong_setting
from penstock.lab.work_folder import SOURCE
from penstock.limits import NO_LIMITS, Limits, parse_limits
from penstock.rates import Bottleneck, bottleneck_by_usage

AUTO = "auto"
CHOICES = {"amp": (AUTO, "yes", "no"), "crop": ("plain", "resized", "stretch"), "target": ("", "label", "mask")}
"""Settings that are one of a few words."""


def disk_limits(text: str) -> Limits:
    """Convert a rate such as `100MB/s` to limits; `none` leaves the disk unlimited."""
    return NO_LIMITS if text == "none" else parse_limits(f"disk={text}")


def utilisation(lines: Sequence[Line], disk: str) -> tuple[float, float]:
    """Return the utilisation of the cores and of the limited disk as shares; 0 for a disk without a limit."""
    seconds = fmean(line.number("epoch_seconds") for line in lines)
    cores = int(str(lines[0].circumstances["cores"]))
    processor = fmean(line.number("cpu_seconds_per_epoch") for line in lines) / seconds / cores
    limit = disk_limits(disk).disk_bytes_per_second
    read = fmean(line.number("disk_bytes_per_epoch") for line in lines) / seconds
    return min(1.0, processor), min(1.0, read / limit) if limit else 0.0


def bottleneck_of(lines: Sequence[Line], disk: str) -> Bottleneck:
    """Name what limited a training run, by the same rule as `doctor`."""
    return bottleneck_by_usage(fmean(line.number("stall_share") for line in lines), *utilisation(lines, disk))


@dataclass(frozen=True, kw_only=True)
class TrainingRecipe(Recipe):
    """Recipe that trains a small model."""

    model: str = ""
    """Empty: resnet8 for labels, unet for masks. Or module:function, torchvision/NAME, timm/NAME."""
    target: str = ""
    """`label` or `mask`; empty: labels if there are classes of them, else masks."""
    size: int = 64
    """Side of the crops."""
    crop: str = "plain"
    """`plain` keeps the scale, `resized` is RandomResizedCrop, `stretch` the whole image."""
    epochs: int = 8
    learning_rate: float = 0.1
    torch_threads: int = 0
    amp: str = AUTO
    """Mixed precision: `yes`, `no`, or `auto`, which is on CUDA alone."""

    def check(self) -> None:
        """Check the settings, including the task and the training options."""
        super().check()
        for name, choices in CHOICES.items():
            if getattr(self, name) not in choices:
                raise wrong_setting(self, name, f"choose among {', '.join(filter(None, choices))}")

    def target_of(self, data: DataFacts) -> str:
        """Return the task. Raise ArgumentError if the data has no labels for it."""
        target = self.target or ("label" if data.num_classes > 1 else "mask")
        if (data.num_classes if target == "label" else data.num_mask_classes) < 2:
            raise ArgumentError(
                "there is nothing to learn: no labels of two or more classes, and no masks"
                if not self.target
                else f"the data has no {target}s of two or more classes",
                where=f"recipe {self.name}",
                fix="give a folder with a folder per class, or images with masks",
                code=100,
            )
        return target

    def train_cell(
        self, data: DataFacts, seed: int, limits: Limits = NO_LIMITS, *, validates: bool = True, **changed: Json
    ) -> Cell:
        """Make a cell that trains; `changed` are its own settings."""
        target = self.target_of(data)
        held: dict[str, Json] = {
            "model": self.model or ("unet" if target == "mask" else "resnet8"),
            "target": target,
            "num_classes": data.num_mask_classes if target == "mask" else data.num_classes,
            "size": self.size,
            "crop": self.crop,
            "epochs": self.epochs,
            "learning_rate": self.learning_rate,
            "torch_threads": self.torch_threads,
            "threads": self.threads,
            "batch_size": self.batch_size,
            "validation": SOURCE if validates else "",
            **self._precision(),
        }
        return Cell("train", held | changed, seed, limits, is_alone=limits != NO_LIMITS)

    def _precision(self) -> dict[str, Json]:
        """Return the precision setting. It is omitted when unset, so that earlier results still match."""
        return {} if self.amp == AUTO else {"amp": self.amp == "yes"}
