"""`DatasetSchedule`: loads other variants of a dataset from given epochs on. Does not change the learning rate."""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from penstock.errors import ArgumentError
from penstock.load.loader import Loader

Variant = str | os.PathLike[str] | tuple[str | os.PathLike[str], int | None]
"""A dataset, or a dataset and a fidelity."""


@dataclass(frozen=True, slots=True)
class _Stage:
    epoch: int
    path: str
    options: Mapping[str, object]


class DatasetSchedule:
    """Load another variant of a dataset from given epochs on: small images first, or strongly compressed ones.

    Steps are (first epoch, dataset) or (first epoch, (dataset, fidelity)). Each variant is opened at its first epoch
    with the same options, and the one before is closed. Batches have the same fields with every variant. For fidelities
    of one dataset, `Loader(fidelity=[(0, 2), (80, None)])` is enough, and reopens nothing.

    >>> import pathlib, tempfile, penstock
    >>> import numpy as np
    >>> folder = tempfile.TemporaryDirectory()
    >>> for side in (4, 8):
    ...     place = pathlib.Path(folder.name, str(side), "a.png")
    ...     place.parent.mkdir()
    ...     _ = place.write_bytes(penstock.encode(np.zeros((side, side, 3), np.uint8), "png"))
    >>> with DatasetSchedule([(0, f"{folder.name}/4"), (2, f"{folder.name}/8")]) as schedule:
    ...     [batch["image"].shape for _ in range(3) for batch in schedule]
    [(1, 4, 4, 3), (1, 4, 4, 3), (1, 8, 8, 3)]
    >>> folder.cleanup()
    """

    def __init__(
        self,
        steps: Sequence[tuple[int, Variant]],
        *,
        open_loader: Callable[..., Loader] = Loader,
        **options: Any,  # noqa: ANN401  # those of the loader, which checks them
    ) -> None:
        self._stages = [_stage(epoch, variant) for epoch, variant in steps]
        epochs = [stage.epoch for stage in self._stages]
        if not epochs or epochs[0] != 0 or any(one >= other for one, other in pairwise(epochs)):
            raise ArgumentError(
                f"epochs of the schedule are {epochs}",
                where="steps",
                fix="begin with epoch 0 and go up, for example [(0, 'small.pen'), (80, 'full.pen')]",
                code=100,
            )
        self._open = open_loader
        self._options = options
        self._number = -1
        self._loader: Loader | None = None
        self._turn_to(0)

    def __iter__(self) -> Iterator[Any]:
        """Start the next epoch, with the variant of that epoch."""
        self._turn_to(self.loader.epoch)
        yield from self.loader

    def __enter__(self) -> DatasetSchedule:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def loader(self) -> Loader:
        """Loader that is open now."""
        assert self._loader is not None, "the schedule is closed"
        return self._loader

    @property
    def epoch(self) -> int:
        """Current epoch, or the next one."""
        return self.loader.epoch

    def set_epoch(self, epoch: int) -> None:
        """Start the next iteration at this epoch."""
        self._turn_to(epoch)
        self.loader.set_epoch(epoch)

    def state_dict(self) -> dict[str, object]:
        """Return the state: the loader's own state, and the number of its variant."""
        return {"stage": self._number, "loader": self.loader.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Resume from a state: the rest of its epoch is delivered exactly once."""
        if not 0 <= state["stage"] < len(self._stages):
            raise ArgumentError(
                f"there is no step {state['stage']}", where="state", fix="load it into the schedule that saved it"
            )
        self._turn_to(self._stages[state["stage"]].epoch)
        self.loader.load_state_dict(state["loader"])

    def close(self) -> None:
        """Close the loader that is open."""
        if self._loader is not None:
            self._loader.close()
            self._loader = None

    def _turn_to(self, epoch: int) -> None:
        number = bisect_right(self._stages, epoch, key=lambda stage: stage.epoch) - 1
        if number == self._number:
            return
        self.close()
        stage = self._stages[number]
        self._loader = self._open(stage.path, **{**self._options, **stage.options})
        self._loader.set_epoch(epoch)
        self._number = number


Regimen = DatasetSchedule
"""The name until version 0.1."""


def _stage(epoch: int, variant: Variant) -> _Stage:
    path, options = (variant[0], {"fidelity": variant[1]}) if isinstance(variant, tuple) else (variant, {})
    return _Stage(epoch, os.fspath(path), options)
