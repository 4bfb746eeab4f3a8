"""Worker process that applies functions to parts of batches until the other end of its socket is closed.

`penstock.functions.workers` starts it as a new interpreter and never forks, so it inherits no lock, thread or device
of the program.
"""

from __future__ import annotations

import os
import pickle
import select
import socket
import struct
import sys
import time
import traceback
from typing import Any

from penstock.functions.results import Plan, settle
from penstock.functions.sample import Drawing, FunctionError, SampleFunctions
from penstock.functions.shared_memory import map_segment, pack, receive, send, unpack

REQUEST = struct.Struct("<QII")
"""Number of a batch, and the range of its samples: begin, end."""
REPLY = struct.Struct("<QI")
"""Number of a batch, and its first sample in this reply."""
LOOK_SECONDS = 2.0  # interval in which a worker checks that its parent is alive


class Here:
    """State of this process."""

    is_worker = False


class RemoteTraceback(Exception):  # noqa: N818  # what Python calls its own
    """Traceback of an error in a worker."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text

    def __str__(self) -> str:
        return f"\n{self.text}"


def main(descriptor: int) -> None:
    """Serve the process at the other end of a socket."""
    Here.is_worker = True
    channel = socket.socket(fileno=descriptor)
    parent = os.getppid()
    functions: SampleFunctions | None = None
    while True:
        while not select.select([channel], [], [], LOOK_SECONDS)[0]:
            if os.getppid() != parent:
                return  # a fork of the parent may still hold the other end
        try:
            message, descriptors = receive(channel, REQUEST.size)
        except ConnectionResetError:
            return
        if not message:
            return
        number, begin, end = REQUEST.unpack(message)
        if functions is None:
            functions, reply = _prepare(unpack(descriptors[0]))
        else:
            reply = _work(functions, begin, end, descriptors)
        try:
            send(channel, REPLY.pack(number, begin), [_packed(reply)])
        except (BrokenPipeError, ConnectionResetError):
            return
        del reply


def _prepare(setting: dict[str, Any]) -> tuple[SampleFunctions | None, dict[str, Any]]:
    try:
        if setting["main"] is not None:
            from multiprocessing import spawn

            spawn.prepare(setting["main"])
        functions = pickle.loads(setting["functions"])  # written by the process that started this one
        _one_thread_each()
    except Exception as error:
        return None, {"error": f"{type(error).__name__}: {error}", "text": traceback.format_exc()}
    return functions, {}


def _one_thread_each() -> None:
    """Limit libraries to one thread, because the workers themselves run in parallel."""
    for name in ("torch", "cv2"):
        module = sys.modules.get(name)
        if module is not None:
            (module.set_num_threads if name == "torch" else module.setNumThreads)(1)


def _work(functions: SampleFunctions, begin: int, end: int, descriptors: list[int]) -> dict[str, Any]:
    """Compute samples `begin` to `end` of a batch; arrays that its plan foresees are written to its memory."""
    request = unpack(descriptors[0])
    plan: Plan | None = request["plan"]
    memory = map_segment(descriptors[1]) if plan is not None else None
    places = plan.arrays(memory, plan.capacity) if plan is not None else {}
    drawing: Drawing = request["drawing"]
    began = time.perf_counter()
    results: list[Any] = []
    for position in range(begin, end):
        sample = {name: values[position] for name, values in request["fields"].items()}
        try:
            found = functions(sample, drawing, int(request["ids"][position]))
        except FunctionError as error:
            results.append((error, (_sendable(error.__cause__), traceback.format_exc())))
            continue
        rest = settle(found, plan, places, position)
        results.append((found, False) if rest is None else (rest, True))
    return {"results": results, "seconds": time.perf_counter() - began}


def _sendable(error: BaseException | None) -> BaseException | None:
    """Return an error if another process can unpickle it, else None."""
    try:
        pickle.loads(pickle.dumps(error))  # our own
    except Exception:
        return None
    return error


def _packed(reply: dict[str, Any]) -> int:
    try:
        return pack(reply)[0]
    except Exception as error:
        return pack({"error": f"{type(error).__name__}: {error}", "text": traceback.format_exc()})[0]
