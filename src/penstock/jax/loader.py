"""`penstock.jax.Loader`: delivers batches as JAX arrays, one batch ahead."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from inspect import Parameter
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock.errors import PenstockError
from penstock.functions.sample import Drawing
from penstock.index import SampleIndex
from penstock.load import Loader as ArrayLoader
from penstock.load import LoaderPlan
from penstock.load.batch_sink import BatchSink, Delivered
from penstock.load.delivery import BatchDict
from penstock.load.loader_keywords import signature_with_keywords
from penstock.storage import AnyPlace

if TYPE_CHECKING:
    import jax
    from typing_extensions import Unpack

    from penstock.load.loader_keywords import CommonKeywords

ON_HOST = ("id",)
"""Fields that stay NumPy arrays, because JAX would convert them to 32 bits."""
Put = Callable[[Any], Any]


class ArraySink(BatchSink):
    """Give batches of JAX arrays. The copy of the next batch starts before this one is handed out."""

    def __init__(self, device: jax.Device | jax.sharding.Sharding | None) -> None:
        self._put = _putting(device)

    def finish(self, batch: BatchDict, drawing: Drawing) -> BatchDict:
        """Put arrays of numbers on the device."""
        return {name: value if name in ON_HOST else _each(value, self._put) for name, value in batch.items()}

    def ahead(self, batches: Iterator[Delivered]) -> Iterator[Delivered]:
        """Start the asynchronous copy of the next batch while the consumer works on this one."""
        waiting = next(batches, None)
        while waiting is not None:
            coming = next(batches, None)
            yield waiting
            waiting = coming


class Loader(ArrayLoader):
    """Load batches of JAX arrays; `id` stays NumPy.

    Takes the keywords of `penstock.Loader`, which documents them, and those below. What 64-bit numbers become is up to
    JAX (`jax_enable_x64`).

    Args:
        path: As for `penstock.Loader`.
        device: Device of the arrays, by default JAX's own choice. With a sharding, each process brings its part of an
            array that spans all of them, and batches must divide by the devices (`drop_last=True`).
        rank: Rank of this process; default JAX's process index.
        world_size: Number of ranks; default JAX's process count.
        layout: "NHWC" or "NCHW".

    """

    def __init__(
        self,
        path: AnyPlace | SampleIndex | LoaderPlan,
        *,
        device: jax.Device | jax.sharding.Sharding | None = None,
        rank: int | None = None,
        world_size: int | None = None,
        layout: str = "NHWC",
        **keywords: Unpack[CommonKeywords],
    ) -> None:
        try:
            import jax
        except ImportError as error:
            raise PenstockError(
                "penstock.jax needs JAX", where="import jax", fix="pip install 'penstock[jax]'", code=100
            ) from error
        self.device = device
        sink = ArraySink(device)
        if isinstance(path, LoaderPlan):
            super().__init__(path, sink=sink, **keywords)
            return
        super().__init__(
            path,
            sink=sink,
            rank=jax.process_index() if rank is None else rank,
            world_size=jax.process_count() if world_size is None else world_size,
            layout=layout,
            **keywords,
        )


Loader.__init__.__signature__ = signature_with_keywords(  # type: ignore[attr-defined]  # for help() and editors
    "path",
    Parameter("device", Parameter.KEYWORD_ONLY, default=None),
    Parameter("rank", Parameter.KEYWORD_ONLY, default=None),
    Parameter("world_size", Parameter.KEYWORD_ONLY, default=None),
)


def _putting(device: jax.Device | jax.sharding.Sharding | None) -> Put:
    import jax

    if isinstance(device, jax.sharding.Sharding):
        return lambda array: jax.make_array_from_process_local_data(device, array)
    return lambda array: jax.device_put(array, device)


def _each(value: Any, put: Put) -> Any:  # noqa: ANN401  # an array, a list of them, or what is neither
    """Return the value with every array of numbers in it on its device; texts stay."""
    if isinstance(value, list):
        return [_each(item, put) for item in value]
    if isinstance(value, dict):
        return {key: _each(item, put) for key, item in value.items()}
    return put(value) if isinstance(value, np.ndarray) and value.dtype.kind in "biuf" else value
