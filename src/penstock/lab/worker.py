"""python -m penstock.lab.worker: runs one job in a process of its own, so that limits can be put around it.

The order is the first argument, as JSON. Each line of the output is an object: `progress` while it works, then
`measures`, `left_out`, or the `error` that the job raised.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from typing import Any

from penstock.errors import ArgumentError, PenstockError
from penstock.lab.jobs import LeftOut, Order, run_job


def main(text: str) -> None:
    """Run the job."""
    try:
        _say({"measures": run_job(Order(**json.loads(text)), _report)})
    except LeftOut as reason:
        _say({"left_out": str(reason)})
    except PenstockError as error:
        told = {"what": error.what, "where": error.where, "fix": error.fix, "code": error.code}
        _say({"error": {"is_argument": isinstance(error, ArgumentError), **told}})


def told_error(answer: Mapping[str, Any]) -> PenstockError:
    """The error that a worker told, as one of this process."""
    kind = ArgumentError if answer["is_argument"] else PenstockError
    return kind(answer["what"], where=answer["where"], fix=answer["fix"], code=answer["code"])


def _report(stage: str, done: int, total: int) -> None:
    _say({"progress": [stage, done, total]})


def _say(answer: dict[str, object]) -> None:
    os.write(1, json.dumps(answer, allow_nan=False).encode() + b"\n")


if __name__ == "__main__":
    main(sys.argv[1])
