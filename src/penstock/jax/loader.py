"""`penstock.jax.Loader`: batches as arrays of JAX, one batch ahead."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock.errors import PenstockError
from penstock.load import Loader as ArrayLoader
from penstock.load.delivery import BatchDict

if TYPE_CHECKING:
    import jax

ON_HOST = ("id",)
"""What stays a NumPy array: JAX would make 32-bit numbers of it."""
Put = Callable[[Any], Any]


class Loader(ArrayLoader):
    """As `penstock.Loader`, with arrays of JAX on `device`, by default JAX's own choice; `id` stays NumPy.

    The copy of the next batch starts before this one is handed out. `device` may be a sharding: then each process
    brings its part of an array that spans all of them, and batches must divide by the devices (`drop_last=True`).
    `rank` and `world_size` are JAX's process index and count. What 64-bit numbers become is up to JAX
    (`jax_enable_x64`).
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        device: jax.Device | jax.sharding.Sharding | None = None,
        rank: int | None = None,
        world_size: int | None = None,
        **keywords: Any,  # noqa: ANN401  # those of penstock.Loader, which checks them
    ) -> None:
        try:
            import jax
        except ImportError as error:
            raise PenstockError(
                "penstock.jax needs JAX", where="import jax", fix="pip install 'penstock[jax]'", code=100
            ) from error
        self.device = device
        self._put = _putting(device)
        super().__init__(
            path,
            rank=jax.process_index() if rank is None else rank,
            world_size=jax.process_count() if world_size is None else world_size,
            **keywords,
        )

    def _finish(self, batch: BatchDict) -> BatchDict:
        batch = super()._finish(batch)
        return {name: value if name in ON_HOST else _each(value, self._put) for name, value in batch.items()}

    def _ahead(self, batches: Iterator[tuple[BatchDict, int]]) -> Iterator[tuple[BatchDict, int]]:
        """Copies are asynchronous: the next one is under way while the consumer works on this batch."""
        waiting = next(batches, None)
        while waiting is not None:
            coming = next(batches, None)
            yield waiting
            waiting = coming


def _putting(device: jax.Device | jax.sharding.Sharding | None) -> Put:
    import jax

    if isinstance(device, jax.sharding.Sharding):
        return lambda array: jax.make_array_from_process_local_data(device, array)
    return lambda array: jax.device_put(array, device)


def _each(value: Any, put: Put) -> Any:  # noqa: ANN401  # an array, a list of them, or what is neither
    """The value with every array of numbers in it on its device; texts stay."""
    if isinstance(value, list):
        return [_each(item, put) for item in value]
    if isinstance(value, dict):
        return {key: _each(item, put) for key, item in value.items()}
    return put(value) if isinstance(value, np.ndarray) and value.dtype.kind in "biuf" else value
