"""Call one task of `penstock.worker` in a process of its own, under limits.

A request is one JSON object, the process's first argument: the task's name and its arguments. Each line that the
process prints is a JSON object too: `progress` while it works, then the `result`, or the `error` that the task raised.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from penstock import errors
from penstock.documents import Json
from penstock.errors import PenstockError
from penstock.limits.limit_values import NO_LIMITS, Limits
from penstock.limits.limited_run import Completed, Enforcement, run
from penstock.types import OnProgress, no_progress

WORKER = "penstock.worker"
"""The module that the process runs."""

TOLD_BYTES = 2000
"""The end of a failed worker's error output that is repeated in the error."""


@dataclass(frozen=True, slots=True)
class WorkerReply:
    """The outcome of a task, and of the process that it ran in."""

    task: str
    answer: Mapping[str, Any] | None
    """The last line that the process printed; None if it ended before that."""
    completed: Completed

    @property
    def was_killed_for_memory(self) -> bool:
        """Tell whether the kernel killed the process at its memory limit."""
        return self.completed.was_killed_for_memory

    @property
    def enforced_by(self) -> Enforcement:
        """Return what enforced each limit."""
        return self.completed.enforced_by

    def result(self) -> Any:  # noqa: ANN401  # whatever JSON holds
        """Return the task's result.

        Raises the task's own error, as it was raised in the worker; PenstockError if the process failed otherwise.
        """
        if self.answer is not None and "error" in self.answer:
            raise read_error(self.answer["error"])
        if self.answer is None or self.completed.exit_code != 0:
            told = self.completed.stderr.decode(errors="replace").strip()[-TOLD_BYTES:]
            raise PenstockError(
                f"the worker ended with status {self.completed.exit_code}:\n{told}",
                where=f"worker task {self.task!r}",
                fix="run it again; if it fails again, report the lines above",
                code=500,
            )
        return self.answer["result"]


def call_worker(
    task: str,
    arguments: Mapping[str, Json],
    limits: Limits = NO_LIMITS,
    *,
    on: str | os.PathLike[str] = ".",
    on_progress: OnProgress = no_progress,
) -> WorkerReply:
    """Run a task of `penstock.worker` in a new process and wait for it.

    Args:
        task: A name of `penstock.worker.TASKS`.
        arguments: The task's arguments, as JSON holds them.
        limits: What the process may use.
        on: A file or folder on the disk that a disk limit is meant for.
        on_progress: Called with each progress report of the task.

    """
    answers: list[dict[str, Any]] = []

    def take(line: bytes) -> None:
        answer = json.loads(line)
        if "progress" in answer:
            on_progress(*answer["progress"])
        else:
            answers.append(answer)

    request = json.dumps({"task": task, "arguments": dict(arguments)}, allow_nan=False)
    completed = run([sys.executable, "-m", WORKER, request], limits, on=on, quiet=True, on_line=take)
    return WorkerReply(task, answers[-1] if answers else None, completed)


def write_error(error: PenstockError) -> dict[str, Json]:
    """Return an error as a worker prints it."""
    told: dict[str, Json] = {"what": error.what, "where": error.where, "fix": error.fix, "code": error.code}
    return {"kind": type(error).__name__, **told}


def read_error(told: Mapping[str, Any]) -> PenstockError:
    """Return the error that a worker printed, of the same class where it is one of `penstock.errors`.

    >>> read_error(write_error(errors.ArgumentError("no such format", where="--mix", fix="write one")))
    ArgumentError('no such format')
    """
    kind = getattr(errors, told["kind"], PenstockError)
    error: PenstockError = kind(told["what"], where=told["where"], fix=told["fix"], code=told["code"])
    return error
