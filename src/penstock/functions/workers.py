"""Worker processes for Python functions: spawned, fed through anonymous memory, and ended with the loader."""

from __future__ import annotations

import json
import os
import pickle
import select
import signal
import socket
import subprocess
import sys
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from penstock.errors import ArgumentError, PenstockError
from penstock.functions.forms import Value
from penstock.functions.results import Answer, Plan, joined, plan_for, with_arrays
from penstock.functions.sample import Drawing, FunctionError, SampleFunctions
from penstock.functions.shared_memory import new_segment, pack, receive, send, unpack
from penstock.functions.worker_main import REPLY, REQUEST, RemoteTraceback
from penstock.transforms.functions import name_of

MOST_WORKERS = 8  # limit of the default
DIED = 541
POLL_MILLISECONDS = 200  # interval in which a wait checks whether another thread closed the loader
GRACE_SECONDS = 2.0
_START = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from penstock.functions.worker_main import main; main(int(sys.argv[2]))"
)


@dataclass
class Task:
    """Batch that workers are processing."""

    number: int
    ids: npt.NDArray[np.int64]
    plan: Plan | None
    memory: Any
    """Memory for the results that the plan foresees."""
    waiting: set[int]
    """First samples of the parts that are not back yet."""
    num_bytes: int
    results: dict[int, Any] = field(default_factory=dict)
    seconds: float = 0.0

    @property
    def is_done(self) -> bool:
        """True if all parts of the batch are back."""
        return not self.waiting


class Workers:
    """Processes with the same functions. Batches are divided among them, and results are returned in order."""

    def __init__(self, functions: SampleFunctions, count: int, pickled: bytes) -> None:
        self.count = count
        self._functions = functions
        self._pickled = pickled
        self.tasks: dict[int, Task] = {}
        self._number = 0
        self._plan: Plan | None = None
        self._processes: list[subprocess.Popen[bytes]] = []
        self._channels: list[socket.socket] = []
        self._ready: set[int] = set()
        self._end: weakref.finalize[Any, Any] | None = None
        self.closed = False

    @property
    def num_bytes(self) -> int:
        """Bytes of memory for batches in flight, in both directions."""
        return sum(task.num_bytes for task in self.tasks.values())

    @property
    def pids(self) -> list[int]:
        """Process ids, once the processes are started."""
        return [process.pid for process in self._processes]

    def start(self) -> None:
        """Start the processes if they are not running."""
        if self._processes or self.closed:
            return
        setting = pack(
            {
                "main": _main_setting() if b"__main__" in self._pickled else None,
                "functions": self._pickled,
            }
        )[0]
        self._end = weakref.finalize(self, _finish, os.getpid(), self._processes, self._channels)
        try:
            for _ in range(self.count):
                process, channel = _spawn()
                self._processes.append(process)
                self._channels.append(channel)
                send(channel, REQUEST.pack(0, 0, 0), [os.dup(setting)])
        finally:
            os.close(setting)

    def submit(
        self, fields: Mapping[str, Value], ids: npt.NDArray[np.int64], drawing: Drawing, *, planned: bool = True
    ) -> Task:
        """Send a batch to the workers without waiting. `planned` reserves memory for results like the last ones."""
        self.start()
        self._number += 1
        count = len(ids)
        plan = self._plan if planned and self._plan is not None and self._plan.capacity >= count else None
        request, num_bytes = pack({"fields": dict(fields), "ids": ids, "drawing": drawing, "plan": plan})
        memory, target = None, -1
        try:
            if plan is not None:
                target, memory = new_segment(plan.num_bytes)
                num_bytes += plan.num_bytes
            parts = _parts(count, self.count)
            task = Task(self._number, ids, plan, memory, {begin for begin, _ in parts}, num_bytes)
            self.tasks[task.number] = task
            for place, (begin, end) in enumerate(parts):
                worker = (self._number + place) % self.count
                sent = [os.dup(request)] + ([os.dup(target)] if plan is not None else [])
                self._send(worker, REQUEST.pack(task.number, begin, end), sent)
        finally:
            os.close(request)
            if target >= 0:
                os.close(target)
        return task

    def wait(self, task: Task) -> Answer | None:
        """Wait for the results of a batch; None if the loader was closed meanwhile."""
        while not task.is_done:
            if self.closed:
                return None
            self.receive(POLL_MILLISECONDS)
        self.tasks.pop(task.number, None)
        return self._answer(task)

    def receive(self, milliseconds: int) -> None:
        """Receive results from workers, waiting at most `milliseconds`."""
        poll = select.poll()
        numbers = {channel.fileno(): place for place, channel in enumerate(self._channels) if channel.fileno() >= 0}
        for descriptor in numbers:
            poll.register(descriptor, select.POLLIN)
        for descriptor, _ in poll.poll(milliseconds):
            if self.closed:
                return
            self._receive(numbers[descriptor])

    def drop(self, task: Task) -> None:
        """Forget a batch and discard its results."""
        self.tasks.pop(task.number, None)

    def close(self) -> None:
        """End the processes, even if they are busy."""
        self.closed = True
        self.tasks.clear()
        if self._end is not None:
            self._end()

    def _send(self, worker: int, message: bytes, descriptors: list[int]) -> None:
        try:
            send(self._channels[worker], message, descriptors)
        except (BrokenPipeError, ConnectionResetError):
            raise self._death(worker) from None

    def _receive(self, worker: int) -> None:
        try:
            message, descriptors = receive(self._channels[worker], REPLY.size)
        except ConnectionResetError:
            message, descriptors = b"", []
        if not message:
            raise self._death(worker)
        number, begin = REPLY.unpack(message)
        reply = unpack(descriptors[0])
        if "error" in reply:
            raise self._refusal(reply, is_start=worker not in self._ready)
        self._ready.add(worker)
        task = self.tasks.get(number)
        if task is not None and "results" in reply:
            task.results[begin] = reply["results"]
            task.seconds += reply["seconds"]
            task.waiting.discard(begin)

    def _answer(self, task: Task) -> Answer:
        results = [result for begin in sorted(task.results) for result in task.results[begin]]
        answer = Answer(seconds=task.seconds)
        plan = task.plan
        arrays = plan.arrays(task.memory, len(task.ids)) if plan is not None else {}
        all_settled = True
        for position, (found, other) in enumerate(results):
            if isinstance(found, FunctionError):
                answer.failures[position] = _with_cause(found, *other)
                continue
            own = {path: array[position] for path, array in arrays.items()} if other else {}
            answer.samples[position] = with_arrays(found, own)
            all_settled = all_settled and other
        if not answer.failures and results:
            first = answer.samples[0]
            if plan is not None and all_settled:
                # They are contiguous already: nothing is copied.
                planned = {path[0] for path in arrays}
                others = Answer({place: _without(sample, planned) for place, sample in answer.samples.items()})
                answer.fields = {name: with_arrays(first[name], arrays, (name,)) for name in planned}
                answer.fields |= joined(others, self._functions.stacked)
            else:
                self._plan = plan_for(list(answer.samples.values()), self._functions.stacked)
        return answer

    def _death(self, worker: int) -> PenstockError:
        process = self._processes[worker]
        try:
            status = process.wait(GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            status = None
        self.close()
        how = f"with exit status {status}" if status is not None else "without a word"
        if status is not None and status < 0:
            how = f"of signal {-status} ({signal.Signals(-status).name})"
        return PenstockError(
            f"worker process {process.pid} of the Python part died {how}",
            where=f"transform: {', '.join(self._functions.names)}",
            fix="see its output above; SIGKILL usually means too little memory: use fewer python_workers. "
            "python_workers=0 runs the functions in this process, where a debugger can see them",
            code=DIED,
        )

    def _refusal(self, reply: dict[str, Any], *, is_start: bool) -> PenstockError:
        self.close()
        what = "could not be loaded in a worker process" if is_start else "gave what cannot be sent back"
        found = PenstockError(
            f"the Python part of the chain {what}: {reply['error']}",
            where=f"transform: {', '.join(self._functions.names)}",
            fix="define functions in a module that can be imported by itself, or run them here: python_workers=0",
            code=DIED,
        )
        found.__cause__ = RemoteTraceback(reply["text"])
        return found


def pickled(functions: SampleFunctions, each: Sequence[object]) -> bytes:
    """Pickle the functions for worker processes. Raise ArgumentError with the name of one that cannot be sent."""
    for function in each:
        try:
            pickle.dumps(function)
        except Exception as error:
            raise ArgumentError(
                f"{name_of(function)} cannot be sent to a worker process: {error}",
                where="transform",
                fix="define it at the top of a module (no lambda, no nested function), or run it in this "
                "process: python_workers=0",
                code=100,
            ) from error
    return pickle.dumps(functions)


def _without(sample: dict[str, Value], names: set[Any]) -> dict[str, Value]:
    return {name: value for name, value in sample.items() if name not in names}


def _parts(count: int, workers: int) -> list[tuple[int, int]]:
    """Divide the samples of a batch into parts of about equal size, one per worker.

    >>> _parts(5, 2), _parts(1, 3)
    ([(0, 3), (3, 5)], [(0, 1)])
    """
    edges = [-(-count * place // workers) for place in range(workers + 1)]
    return [(begin, end) for begin, end in pairwise(edges) if begin < end]


def _with_cause(error: FunctionError, cause: BaseException | None, text: str) -> FunctionError:
    """Attach the cause and the remote traceback to an error, as if it had been raised here."""
    remote = RemoteTraceback(text)
    if cause is not None:
        cause.__cause__ = remote
    error.__cause__ = cause or remote
    return error


def _main_setting() -> dict[str, Any]:
    """Return what a new interpreter needs to import the program's main module."""
    from multiprocessing import spawn

    found = spawn.get_preparation_data("penstock")
    return {
        name: value
        for name, value in found.items()
        if name.startswith("init_main") or name in ("sys_argv", "dir", "orig_dir")
    }


def _spawn() -> tuple[subprocess.Popen[bytes], socket.socket]:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    # Ctrl-C reaches the whole group, but the program decides what ends. The signal mask is inherited, without a gap.
    masked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        with theirs:
            arguments = [sys.executable, "-c", _START, json.dumps(sys.path), str(theirs.fileno())]
            process = subprocess.Popen(arguments, stdin=subprocess.DEVNULL, pass_fds=[theirs.fileno()])
    except BaseException:
        ours.close()
        raise
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, masked)
    return process, ours


def _finish(owner: int, processes: list[subprocess.Popen[bytes]], channels: list[socket.socket]) -> None:
    """End all processes. In a fork of the program, which does not own them, only forget them."""
    for channel in channels:
        channel.close()
    if os.getpid() != owner:
        for process in processes:
            process.returncode = 0  # not ours to wait for
        return
    for process in processes:
        process.terminate()
    for process in processes:
        try:
            process.wait(GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
