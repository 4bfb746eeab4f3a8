"""Where a loader stands, as a small JSON object that is the same on every rank.

It says which samples are delivered, not how: it loads at another batch size, world size, thread count or memory, and
the rest of the epoch comes exactly once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace

from penstock.errors import ArgumentError
from penstock.order.epochs import Order
from penstock.order.window import Window

VERSION = 1
Json = str | int | bool | None | dict[str, int]


@dataclass(frozen=True)
class State:
    """An order, and how many samples of which epoch all ranks together have delivered."""

    seed: int
    epoch: int
    delivered: int
    num_samples: int
    lanes: int
    window: Window | None
    shuffle: bool
    dataset: str
    """The dataset's own fingerprint; empty where it has none."""
    selection: str
    """The fingerprint of the selected samples and their formats."""

    @classmethod
    def of(cls, order: Order, epoch: int, delivered: int, dataset: str = "") -> State:
        """The state after `delivered` samples of `epoch`."""
        return cls(
            seed=order.seed,
            epoch=epoch,
            delivered=delivered,
            num_samples=order.num_samples,
            lanes=order.lanes,
            window=order.window,
            shuffle=order.shuffle,
            dataset=dataset,
            selection=order.fingerprint,
        )

    def to_json(self) -> dict[str, Json]:
        """Plain values, for `json.dumps`; a few hundred bytes."""
        return {"version": VERSION, **asdict(self)}

    @classmethod
    def from_json(cls, values: Mapping[str, object]) -> State:
        """The way back. Refuses what is not a state, by name of the field."""
        if values.get("version") != VERSION:
            raise _refusal(
                f"the state has version {values.get('version')!r}; this Penstock reads {VERSION}",
                fix="load it with the version that wrote it",
            )
        window = values.get("window")
        if isinstance(window, Mapping):
            window = Window(*(_integer(window, name) for name in ("run", "runs")))
        elif window is not None:
            raise _refusal(f"the state's window is {window!r}", fix="load a state as state_dict() gave it")
        state = cls(
            seed=_integer(values, "seed"),
            epoch=_integer(values, "epoch"),
            delivered=_integer(values, "delivered"),
            num_samples=_integer(values, "num_samples"),
            lanes=_integer(values, "lanes"),
            window=window,
            shuffle=values.get("shuffle") is not False,
            dataset=_text(values, "dataset"),
            selection=_text(values, "selection"),
        )
        if state.delivered > state.num_samples:
            raise _refusal(
                f"{state.delivered} of {state.num_samples} samples are delivered", fix="load a state as it was saved"
            )
        return state

    def resume(self, order: Order, dataset: str = "") -> Order:
        """The order to go on with: that of the state, over the samples of `order`.

        Seed, lanes, window and shuffle are the state's. Another dataset, selection or mix is refused.
        """
        if self.num_samples != order.num_samples:
            raise _refusal(
                f"the state is of {self.num_samples} samples, this loader has {order.num_samples}",
                fix="open the dataset, split and subset that the state was saved with",
            )
        if dataset and self.dataset and dataset != self.dataset:
            raise _refusal(
                f"the state is of dataset {self.dataset}, this one is {dataset}",
                fix="open the dataset that the state was saved with; a rebuilt one has another order",
            )
        if self.selection != order.fingerprint:
            raise _refusal(
                "the state's samples or their formats are others than this loader's",
                fix="use the split and subset that the state was saved with; a rebuilt dataset has another order",
            )
        return order.with_options(seed=self.seed, lanes=self.lanes, window=self.window, shuffle=self.shuffle)

    def after(self, delivered: int) -> State:
        """The state once `delivered` samples of the epoch are out; a whole epoch is the start of the next."""
        if delivered >= self.num_samples:
            return replace(self, epoch=self.epoch + 1, delivered=0)
        return replace(self, delivered=delivered)


def _integer(values: Mapping[str, object], name: str) -> int:
    value = values.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise _refusal(f"the state's {name} is {value!r}", fix="load a state as state_dict() gave it")
    return value


def _text(values: Mapping[str, object], name: str) -> str:
    value = values.get(name)
    if not isinstance(value, str):
        raise _refusal(f"the state's {name} is {value!r}", fix="load a state as state_dict() gave it")
    return value


def _refusal(what: str, *, fix: str) -> ArgumentError:
    return ArgumentError(what, where="state", fix=fix, code=100)
