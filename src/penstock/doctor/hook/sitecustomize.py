"""Hook in every Python that `penstock doctor` starts: times the batches of torch's DataLoader and changes nothing.

Python imports a module of this name at start-up; `doctor` puts this folder on PYTHONPATH. The hook uses only the
standard library, because the program may have none of Penstock's packages, and it never raises into the program.
"""

from __future__ import annotations

import atexit
import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any

VARIABLE = "PENSTOCK_DOCTOR_RESULTS"
DATALOADER = "torch.utils.data.dataloader"
FLUSH_SECONDS = 1.0


class Recorder:
    """Recorder of waiting and working time in each pass over a loader, in a file that is rewritten regularly."""

    def __init__(self, folder: str) -> None:
        self.process = os.getpid()
        self.path = Path(folder, f"{self.process}.json")
        self.epochs: dict[int, dict[str, Any]] = {}
        self.ends: dict[int, float] = {}
        self.flushed = 0.0

    def record(self, iterator: object, begin: float, end: float) -> None:
        """Record that one batch was requested at `begin` and arrived at `end`."""
        if os.getpid() != self.process:
            return
        epoch = self.epochs.get(id(iterator))
        if epoch is None:
            epoch = self.epochs[id(iterator)] = self.new_epoch(iterator)
        epoch["num_batches"] += 1
        if epoch["num_batches"] == 1:
            epoch["first_wait_seconds"] = end - begin  # starting workers is not what an epoch waits for
        else:
            epoch["wait_seconds"] += end - begin
            epoch["step_seconds"] += begin - self.ends[id(iterator)]
        self.ends[id(iterator)] = end
        if end - self.flushed > FLUSH_SECONDS:
            self.flush()
            self.flushed = end

    @staticmethod
    def new_epoch(iterator: object) -> dict[str, Any]:
        """Describe a pass that has begun, with facts about its loader for the advice."""
        dataset = attribute(iterator, "_dataset")
        sampler = attribute(iterator, "_index_sampler")
        return {
            "num_batches": 0,
            "first_wait_seconds": 0.0,
            "wait_seconds": 0.0,
            "step_seconds": 0.0,
            "num_workers": number(attribute(iterator, "_num_workers")),
            "dataset": type(dataset).__name__,
            "root": root_of(dataset),
            "batch_size": number(attribute(sampler, "batch_size")),
        }

    def flush(self) -> None:
        """Write the records; errors such as a full disk are ignored, so that the program is not affected."""
        try:
            part = self.path.with_suffix(".part")
            part.write_text(json.dumps(list(self.epochs.values())))
            part.replace(self.path)
        except OSError:
            pass


def attribute(thing: object, name: str) -> Any:  # noqa: ANN401
    """Return an attribute of an object of the program; None if it does not exist or raises."""
    try:
        return getattr(thing, name, None)
    except Exception:  # a property may raise anything
        return None


def number(value: object) -> int:
    """Return a count from an object of the program; 0 if it is not an integer."""
    return value if isinstance(value, int) else 0


def root_of(dataset: object) -> str:
    """Return the folder that a dataset reads: its own answer, or the common folder of its first and last files."""
    try:
        return find_root(dataset)
    except Exception:  # paths on two drives, a `root` that is no text: then it is not known
        return ""


def find_root(dataset: object) -> str:
    """Return the same as `root_of`, but let errors of odd values through."""
    for _ in range(8):  # a Subset, or what else wraps a dataset
        root, inner = attribute(dataset, "root"), attribute(dataset, "dataset")
        if root is not None:
            return str(root)
        if inner is None:
            break
        dataset = inner
    for name in ("samples", "imgs", "files", "paths", "image_paths"):
        listed = attribute(dataset, name)
        if isinstance(listed, list) and listed:
            ends = [item[0] if isinstance(item, tuple) else item for item in (listed[0], listed[-1])]
            if all(isinstance(end, (str, os.PathLike)) for end in ends):
                return str(Path(os.path.commonpath([Path(end).absolute().parent for end in ends])))
    return ""


class Finder(importlib.abc.MetaPathFinder):
    """Import hook that wraps the iterators of torch's DataLoader with timers once it is imported."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Find the module as usual, and time it once it has run."""
        if fullname != DATALOADER:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        if spec is not None and spec.loader is not None:
            original = spec.loader.exec_module

            def execute(module: ModuleType) -> None:
                original(module)
                with suppress(Exception):  # a DataLoader that cannot be timed is not timed
                    time_iterators(module, self.recorder)

            spec.loader.exec_module = execute  # type: ignore[method-assign]
        return spec


def time_iterators(module: ModuleType, recorder: Recorder) -> None:
    """Wrap `__next__` of the DataLoader's iterators."""
    base = getattr(module, "_BaseDataLoaderIter", None)
    if base is None:
        return
    original = base.__next__

    def timed(self: object) -> object:
        begin = time.perf_counter()
        batch = original(self)
        with suppress(Exception):  # whatever the program's objects do when they are looked at
            recorder.record(self, begin, time.perf_counter())
        return batch

    base.__next__ = timed


def run_the_hidden_one() -> None:
    """Run another module of this name, if this one hides it."""
    here = Path(__file__).resolve().parent
    others = [place for place in sys.path if Path(place).resolve() != here]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", others)
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


def install() -> None:
    """Install the hook if `doctor` asked for it."""
    folder = os.environ.get(VARIABLE)
    if folder is None:
        return
    recorder = Recorder(folder)
    sys.meta_path.insert(0, Finder(recorder))

    def flush_at_end() -> None:
        with suppress(Exception):
            if os.getpid() == recorder.process and recorder.epochs:
                recorder.flush()

    atexit.register(flush_at_end)


install()
run_the_hidden_one()
