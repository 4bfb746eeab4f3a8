"""Samples that failed to load: as exceptions, as counts, and with replacements."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from penstock import _native
from penstock.errors import ArgumentError, CodecError, DatasetError, PenstockError, StorageError
from penstock.index import Ids
from penstock.load.loader_options import ErrorOptions

KEPT_ERRORS = 20
OUT_OF_MEMORY = 360
SUBSTITUTES = 0x5B571  # the stream of random numbers that chooses them
FAMILIES: dict[int, type[PenstockError]] = {1: ArgumentError, 2: DatasetError, 3: CodecError, 4: StorageError}

NativeFailure = tuple[int, int, int, str, str, str, int]


@dataclass(frozen=True, slots=True)
class Failure:
    """Sample that failed to load."""

    position: int
    """Position in the batch."""
    id: int
    error: PenstockError

    @classmethod
    def of(cls, native: NativeFailure) -> Failure:
        """Convert a failure of the native pipeline."""
        position, sample, code, what, where, fix, errno = native
        error = FAMILIES.get(code // 100, PenstockError)(what, where=f"sample {sample}, {where}", fix=fix, code=code)
        if errno and isinstance(error, OSError):
            error.errno = errno
        return cls(position, sample, error)


@dataclass
class FailureLog:
    """Log of failures over a loader's life, which raises when there are too many."""

    policy: ErrorOptions
    num_errors: int = 0
    """A sample counts every time it fails."""
    samples: set[int] = field(default_factory=set)
    """Each of them counts once towards `max_errors`."""
    kept: list[Failure] = field(default_factory=list)

    def add(self, failures: list[Failure]) -> None:
        """Record failures. Raise if the policy says so, or if memory ran out, which is not a fault of a sample."""
        for failure in failures:
            if failure.error.code == OUT_OF_MEMORY:
                raise failure.error
        for failure in failures:
            self.num_errors += 1
            if failure.id not in self.samples and len(self.kept) < KEPT_ERRORS:
                self.kept.append(failure)
            self.samples.add(failure.id)
        first = failures[0].error
        if self.policy.on_error == "raise":
            raise first
        if len(self.samples) > self.policy.max_errors:
            raise PenstockError(
                f"{len(self.samples)} samples failed, more than max_errors={self.policy.max_errors}",
                where=first.where,
                fix="repair or remove them (stats()['errors'] lists the first ones), or raise max_errors",
                code=530,
            ) from first


def substitutes(selection: Ids, seed: int, epoch: int, failed: list[int], attempt: int) -> Ids:
    """Choose samples to replace failed ones, as a function of (seed, epoch, id) and the attempt."""
    number = ((epoch << 8) | attempt) & 0xFFFFFFFF
    blocks = (_native.random_block(seed, sample, SUBSTITUTES, number) for sample in failed)
    picks = [((block[0] << 32) | block[1]) % len(selection) for block in blocks]
    return selection[np.array(picks, np.int64)]
