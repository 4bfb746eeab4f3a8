"""Detection of a loader in the wrong process, with an error that says what to write instead."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from penstock.errors import PenstockError
from penstock.functions.worker_main import Here

CANCELLED, FORKED = 500, 510


def refuse_worker() -> None:
    """Refuse to work inside a worker of torch's DataLoader, or of another Loader."""
    if _in_worker():
        raise _misplaced()
    if Here.is_worker:
        raise PenstockError(
            "a Loader was made by a worker process of another Loader, which imports the main script for its functions",
            where="Loader",
            fix='put what the script does under `if __name__ == "__main__":`, so that it can be imported',
            code=FORKED,
        )


@contextmanager
def explained() -> Iterator[None]:
    """Convert the native error about a fork to the loader's words."""
    try:
        yield
    except PenstockError as error:
        if error.code != FORKED:
            raise
        raise (_misplaced() if _in_worker() else _forked()) from None


def _in_worker() -> bool:
    data = sys.modules.get("torch.utils.data")  # nobody can be in a worker without having imported it
    return data is not None and data.get_worker_info() is not None


def _forked() -> PenstockError:
    return PenstockError(
        "this Loader was made before a fork; its threads do not exist in this process",
        where="Loader",
        fix="make the Loader after the fork, or start processes with the 'spawn' method",
        code=FORKED,
    )


def _misplaced() -> PenstockError:
    return PenstockError(
        "a Loader works inside no DataLoader worker: it reads and decodes on threads of its own",
        where="torch.utils.data.DataLoader",
        fix="write `for batch in loader:` with the Loader itself, without a DataLoader around it",
        code=FORKED,
    )
