"""State of a loader as a small JSON object that is the same on every rank.

It records which samples are delivered, not how. So it loads with another batch size, world size, thread count or
memory, and the rest of the epoch is delivered exactly once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import cast

from penstock.documents import MAX_UNSIGNED, Document, Json
from penstock.errors import ArgumentError
from penstock.order.caches.contract import CacheOrder
from penstock.order.caches.table import CACHES
from penstock.order.epochs import Order
from penstock.order.window import Window

VERSION = 1


@dataclass(frozen=True)
class State:
    """Order, epoch, and the number of samples that all ranks together have delivered."""

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
    fidelity: int | None = None
    """Scans of the epoch, where images are stored with several fidelities; None is all of them."""
    cache_order: CacheOrder | None = None
    """Order of a cache that owns it; every other state loads at any capacity and batch size."""

    @classmethod
    def of(cls, order: Order, epoch: int, delivered: int, dataset: str = "", fidelity: int | None = None) -> State:
        """Return the state after `delivered` samples of `epoch`."""
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
            fidelity=fidelity,
        )

    def to_json(self) -> dict[str, Json]:
        """Convert the state to plain values for `json.dumps`; a few hundred bytes."""
        members = asdict(self)
        del members["cache_order"]
        if self.cache_order is not None:
            members[self.cache_order.policy] = dict(self.cache_order.to_json())
        return {"version": VERSION, **members}

    @classmethod
    def from_json(cls, values: Mapping[str, object]) -> State:
        """Parse a state. Refuses an invalid one with the name of the member."""
        saved = Document(cast("dict[str, Json]", dict(values)), "state")
        if saved.integer("version") != VERSION:
            raise _refusal(
                f"the state has version {saved.integer('version')}; this Penstock reads {VERSION}",
                fix="load it with the version that wrote it",
            )
        state = cls(
            seed=saved.integer("seed", maximum=MAX_UNSIGNED),
            epoch=saved.integer("epoch", maximum=MAX_UNSIGNED),
            delivered=saved.integer("delivered"),
            num_samples=saved.integer("num_samples"),
            lanes=saved.integer("lanes", minimum=1),
            window=_window(saved),
            shuffle=saved.flag("shuffle"),
            dataset=saved.text("dataset"),
            selection=saved.text("selection"),
            fidelity=saved.integer("fidelity", minimum=1) if saved.members.get("fidelity") is not None else None,
            cache_order=_cache_order(saved),
        )
        if state.delivered > state.num_samples:
            raise saved.refusal(f"{state.delivered} of {state.num_samples} samples are delivered", "delivered")
        return state

    def resume(self, order: Order, dataset: str = "") -> Order:
        """Return the order to continue with: that of the state, over the samples of `order`.

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
        """Return the state after `delivered` samples of the epoch; a whole epoch is the start of the next."""
        if delivered >= self.num_samples:
            return replace(self, epoch=self.epoch + 1, delivered=0)
        return replace(self, delivered=delivered)


def _window(saved: Document) -> Window | None:
    if saved.members.get("window") is None:
        return None
    window = saved.child("window")
    return Window(window.integer("run", minimum=1), window.integer("runs", minimum=1))


def _cache_order(saved: Document) -> CacheOrder | None:
    """Read what a cache that owns the order saved, under the name of its policy."""
    for name, policy in CACHES.items():
        if policy.owns_order and saved.members.get(name) is not None:
            members = saved.child(name)
            return CacheOrder(
                name,
                capacity_bytes=members.integer("capacity_bytes"),
                batch_size=members.integer("batch_size", minimum=1),
                world_size=members.integer("world_size", minimum=1),
                since=members.integer("since"),
            )
    return None


def _refusal(what: str, *, fix: str) -> ArgumentError:
    return ArgumentError(what, where="state", fix=fix, code=100)
