"""Run one task in this process and print its result: `python -m penstock.worker REQUEST`.

`penstock.limits.call_worker` starts such processes and describes the protocol. Benchmarks and lab cells run here, so
that limits on memory, cores and disk hold for the measurement alone. The command line is not involved.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping
from typing import Any

from penstock.documents import Json
from penstock.errors import ArgumentError, PenstockError
from penstock.limits.worker_call import write_error
from penstock.types import OnProgress

Task = Callable[[Mapping[str, Any], OnProgress], Json]
"""Takes the arguments of a request and returns what JSON can hold."""


def main(request: str) -> None:
    """Run the task that a request names, and print its result or its error."""
    try:
        asked = json.loads(request)
        _say({"result": _task(asked["task"])(asked["arguments"], _report)})
    except PenstockError as error:
        _say({"error": write_error(error)})


def _bench_loader(arguments: Mapping[str, Any], on_progress: OnProgress) -> Json:
    from penstock.bench.remote import run_bench_task

    return run_bench_task(arguments, on_progress)


def _lab_job(arguments: Mapping[str, Any], on_progress: OnProgress) -> Json:
    from penstock.lab.jobs import run_job_task

    return run_job_task(arguments, on_progress)


TASKS: Mapping[str, Task] = {"bench loader": _bench_loader, "lab job": _lab_job}
"""The tasks by name. Each imports what it needs when it runs."""


def _task(name: str) -> Task:
    if name not in TASKS:
        raise ArgumentError(f"there is no task {name!r}", where="worker", fix=f"use one of {', '.join(TASKS)}")
    return TASKS[name]


def _report(stage: str, done: int, total: int) -> None:
    _say({"progress": [stage, done, total]})


def _say(answer: dict[str, object]) -> None:
    os.write(1, json.dumps(answer, allow_nan=False).encode() + b"\n")


if __name__ == "__main__":
    main(sys.argv[1])
