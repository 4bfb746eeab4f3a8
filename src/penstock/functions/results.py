"""Results of Python functions for the samples of a batch, stacked if all are alike."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from penstock.functions.forms import Value
from penstock.functions.sample import FunctionError

ALIGNMENT = 64
Path = tuple[Any, ...]
"""Path of an array in a result: a field, then positions in lists and keys of dicts."""


@dataclass
class Answer:
    """Results of the functions for the samples of a batch."""

    samples: dict[int, dict[str, Value]] = field(default_factory=dict)
    """Samples by position in the batch, without those that failed."""
    failures: dict[int, FunctionError] = field(default_factory=dict)
    fields: dict[str, Value] | None = None
    """All samples as a batch, if their memory already has that layout."""
    seconds: float = 0.0
    """Total time of the functions, in seconds."""


def joined(answer: Answer, stacked: Sequence[str]) -> dict[str, Value]:
    """Join the samples to the fields of a batch; fields in `stacked` become arrays if all are alike."""
    if answer.fields is not None:
        return answer.fields
    samples = [answer.samples[place] for place in sorted(answer.samples)]
    found: dict[str, Value] = {}
    for name in samples[0] if samples else ():
        values = [sample[name] for sample in samples]
        found[name] = collate(values) if name in stacked else values
    return found


def collate(values: Sequence[Value]) -> Value:
    """Stack equal arrays to one array, recursively in lists and dicts; return other values unchanged.

    >>> collate([[np.zeros(2), np.ones(3)], [np.ones(2), np.ones(3)]])[0].shape
    (2, 2)
    """
    first = values[0] if values else None
    if isinstance(first, np.ndarray):
        alike = all(
            isinstance(value, np.ndarray) and value.shape == first.shape and value.dtype == first.dtype
            for value in values
        )
        return np.stack(list(values)) if alike else list(values)
    if hasattr(first, "device") and hasattr(first, "new_empty"):
        return _tensors(list(values))
    if isinstance(first, list) and first and all(isinstance(item, list) and len(item) == len(first) for item in values):
        return [collate(column) for column in zip(*values, strict=True)]
    if isinstance(first, dict) and all(isinstance(item, dict) and item.keys() == first.keys() for item in values):
        return {key: collate([item[key] for item in values]) for key in first}
    return list(values)


def _tensors(values: list[Any]) -> Value:
    """Stack tensors that are still on their device."""
    torch = sys.modules["torch"]
    alike = all(getattr(value, "shape", None) == values[0].shape and value.dtype == values[0].dtype for value in values)
    return torch.stack(values) if alike else values


@dataclass(frozen=True)
class Leaf:
    """Array that every sample of a batch is expected to have, with its offset in the batch's memory."""

    path: Path
    dtype: str
    shape: tuple[int, ...]
    offset: int

    @property
    def size(self) -> int:
        """Bytes of the array of one sample."""
        return int(np.dtype(self.dtype).itemsize * np.prod(self.shape, dtype=np.int64))


@dataclass(frozen=True)
class Plan:
    """Memory layout for the results of a batch, assuming that they are like those of the batch before."""

    leaves: tuple[Leaf, ...]
    capacity: int
    """Number of samples that fit."""

    @property
    def num_bytes(self) -> int:
        """Bytes of the memory that holds the results."""
        last = self.leaves[-1]
        return last.offset + last.size * self.capacity

    def arrays(self, memory: Any, count: int) -> dict[Path, np.ndarray[Any, Any]]:  # noqa: ANN401  # a buffer
        """Return the arrays of the first `count` samples, one per leaf with one more axis."""
        return {
            leaf.path: np.frombuffer(
                memory, leaf.dtype, count * int(np.prod(leaf.shape, dtype=np.int64)), leaf.offset
            ).reshape(count, *leaf.shape)
            for leaf in self.leaves
        }


def plan_for(samples: Sequence[dict[str, Value]], stacked: Sequence[str]) -> Plan | None:
    """Plan memory for samples like these, for fields that are alike in all; None if there is no such field."""
    leaves, offset = [], 0
    for name in stacked:
        found = [_shapes(sample[name]) for sample in samples]
        if not found[0] or any(other != found[0] for other in found):
            continue
        for path, array in leaves_of(samples[0][name], (name,)):
            offset = -(-offset // ALIGNMENT) * ALIGNMENT
            leaf = Leaf(path, array.dtype.str, array.shape, offset)
            if leaf.size == 0 or array.dtype.hasobject:
                return None
            offset += leaf.size * len(samples)
            leaves.append(leaf)
    return Plan(tuple(leaves), len(samples)) if leaves else None


def _shapes(value: Value) -> list[tuple[Path, str, tuple[int, ...]]]:
    return [(path, array.dtype.str, array.shape) for path, array in leaves_of(value)]


def leaves_of(value: Value, path: Path = ()) -> list[tuple[Path, np.ndarray[Any, Any]]]:
    """List the arrays in a value of dicts and lists, with their paths."""
    if isinstance(value, np.ndarray):
        return [(path, value)]
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [leaf for key, item in items for leaf in leaves_of(item, (*path, key))]


def with_arrays(value: Value, arrays: Mapping[Path, Value], path: Path = ()) -> Value:
    """Return the value with the arrays at these paths replaced."""
    if path in arrays:
        return arrays[path]
    if isinstance(value, dict):
        return {key: with_arrays(item, arrays, (*path, key)) for key, item in value.items()}
    if isinstance(value, list):
        return [with_arrays(item, arrays, (*path, place)) for place, item in enumerate(value)]
    return value


def settle(
    sample: dict[str, Value], plan: Plan | None, places: Mapping[Path, np.ndarray[Any, Any]], number: int
) -> dict[str, Value] | None:
    """Copy the arrays of a sample into the memory of a plan. Return the rest, or None if it does not fit."""
    if plan is None:
        return None
    found = dict(leaves_of({name: sample[name] for name in {leaf.path[0] for leaf in plan.leaves}}))
    fits = len(found) == len(plan.leaves) and all(
        leaf.path in found and found[leaf.path].shape == leaf.shape and found[leaf.path].dtype.str == leaf.dtype
        for leaf in plan.leaves
    )
    if not fits:
        return None
    for path, array in found.items():
        places[path][number] = array
    rest: dict[str, Value] = with_arrays(sample, dict.fromkeys(found))  # their places stay empty
    return rest
