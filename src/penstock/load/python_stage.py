"""Stage of a loader that runs functions in Python: ahead of the consumer in processes, or inside `next()`."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from time import perf_counter

import numpy as np

from penstock.errors import ArgumentError, PenstockError
from penstock.functions.results import Answer, joined
from penstock.functions.sample import Drawing, FunctionError, SampleFunctions
from penstock.functions.workers import MOST_WORKERS, Task, Workers, pickled
from penstock.load.delivery import MOST_SUBSTITUTIONS, BatchDict, Delivery
from penstock.load.failures import Failure, FailureLog
from penstock.load.process import CANCELLED
from penstock.transforms.seeding import kept_states

LOG = logging.getLogger("penstock")
AHEAD = 2  # batches that workers are at while the consumer has one
SAID_AFTER = 2  # batches, whose cost is told
Counted = tuple[BatchDict, int]


@dataclass
class Counters:
    """Counters of the stage."""

    images: int = 0
    busy_seconds: float = 0.0
    """Busy seconds of all workers together."""
    wait_seconds: float = 0.0
    """Seconds that the consumer waited for the functions."""
    batches: int = 0


@dataclass(frozen=True)
class Place:
    """Place where the functions run."""

    workers: Workers | None
    reason: str = ""
    """Reason why the functions run in this process, if that was not requested."""


def choose_place(functions: SampleFunctions, each: Sequence[object], python_workers: int | None, threads: int) -> Place:
    """Choose worker processes if requested, or by default if the functions can be pickled."""
    if python_workers == 0:
        return Place(None)
    try:
        data = pickled(functions, each)
    except ArgumentError as error:
        if python_workers is not None:
            raise
        return Place(None, error.what)
    if python_workers is not None:
        return Place(Workers(functions, python_workers, data))
    if b"__main__" in data:
        return Place(None, "a function of the main script goes to worker processes only if python_workers says so")
    return Place(Workers(functions, max(1, min(MOST_WORKERS, threads // 2)), data))


class PythonStage:
    """Stage that applies functions to batches of the native part, in order."""

    def __init__(self, functions: SampleFunctions, place: Place, log: FailureLog) -> None:
        self.functions = functions
        self.workers = place.workers
        self._reason = place.reason
        self.log = log
        self._is_said = False
        self.counters = Counters()

    @property
    def num_workers(self) -> int:
        """Number of worker processes; 0 if functions run in this process."""
        return self.workers.count if self.workers is not None else 0

    @property
    def pids(self) -> list[int]:
        """Ids of the running worker processes."""
        return self.workers.pids if self.workers is not None else []

    def as_stats(self) -> dict[str, float]:
        """Return the statistics under the names of the guide."""
        counters = self.counters
        return {
            "busy_seconds": counters.busy_seconds,
            "wait_seconds": counters.wait_seconds,
            "images": counters.images,
            "milliseconds_per_image": 1000 * counters.busy_seconds / max(1, counters.images),
            "workers": self.num_workers,
            "memory_bytes": self.workers.num_bytes if self.workers is not None else 0,
        }

    def run(self, batches: Iterator[Counted], drawing: Drawing, delivery: Delivery | None = None) -> Iterator[Counted]:
        """Yield the batches with the functions applied. Batches ahead of the consumer do not count as delivered."""
        if self.workers is None:
            for batch, delivered in batches:
                answer = self._run_here(batch, drawing)
                self._count(answer.seconds, delivery)
                yield self._finished(batch, answer, drawing, delivery), delivered
            return
        yield from self._run_ahead(self.workers, batches, drawing, delivery)

    def close(self) -> None:
        """End the worker processes."""
        if self.workers is not None:
            self.workers.close()

    def _run_ahead(
        self, workers: Workers, batches: Iterator[Counted], drawing: Drawing, delivery: Delivery | None
    ) -> Iterator[Counted]:
        workers.start()
        under_way: deque[tuple[Task, BatchDict, int]] = deque()
        failure: BaseException | None = None
        is_over = False
        try:
            while True:
                while not is_over and len(under_way) <= self._depth(under_way):
                    try:
                        following = next(batches, None)
                    except Exception as error:  # batches before it still come
                        failure, following = error, None
                    if following is None:
                        is_over = True
                        break
                    batch, delivered = following
                    under_way.append((self._submit(workers, batch, drawing), batch, delivered))
                if not under_way:
                    break
                task, batch, delivered = under_way.popleft()
                answer = self._wait(workers, task, delivery)
                if answer is None:
                    raise PenstockError("the loader is closed", where="loader", fix="make a new one", code=CANCELLED)
                yield self._finished(batch, answer, drawing, delivery), delivered
        finally:
            for task, _, _ in under_way:
                workers.drop(task)
        if failure is not None:
            raise failure

    def _depth(self, under_way: deque[tuple[Task, BatchDict, int]]) -> int:
        """Return the number of batches ahead; more if a batch is too small for all workers."""
        size = max(1, len(under_way[0][1]["id"])) if under_way else 1
        return max(AHEAD, -(-2 * self.num_workers // size)) if under_way else AHEAD

    def _submit(self, workers: Workers, batch: BatchDict, drawing: Drawing, *, planned: bool = True) -> Task:
        fields = {name: batch[name] for name in self.functions.fields}
        return workers.submit(fields, batch["id"], drawing, planned=planned)

    def _wait(self, workers: Workers, task: Task, delivery: Delivery | None) -> Answer | None:
        began = perf_counter()
        answer = workers.wait(task)
        self._count(perf_counter() - began, delivery)
        if answer is not None:
            self._add(len(task.ids), answer.seconds)
        return answer

    def _run_here(self, batch: BatchDict, drawing: Drawing) -> Answer:
        """Run the functions in the caller's thread, and restore its random generators."""
        began = perf_counter()
        answer = Answer()
        with kept_states():
            for position, sample in enumerate(batch["id"].tolist()):
                fields = {name: batch[name][position] for name in self.functions.fields}
                try:
                    answer.samples[position] = self.functions(fields, drawing, sample)
                except FunctionError as error:
                    answer.failures[position] = error
        answer.seconds = perf_counter() - began
        self._add(len(batch["id"]), answer.seconds)
        return answer

    def _finished(self, batch: BatchDict, answer: Answer, drawing: Drawing, delivery: Delivery | None) -> BatchDict:
        """Return the batch with the results, with failures treated by the loader's policy."""
        rows = None
        if answer.failures:
            failed = [Failure(place, int(batch["id"][place]), error) for place, error in answer.failures.items()]
            if delivery is None:
                raise failed[0].error
            self.log.add(failed)
            rows = {place: _row(batch, place, self.functions.fields) for place in answer.samples}
            if self.log.policy.on_error == "replace":
                self._replace(rows, answer, failed, drawing, delivery)
        if rows is not None:
            batch = _rejoined(batch, [rows[place] for place in sorted(rows)])
        return batch | joined(answer, self.functions.stacked)

    def _replace(
        self, rows: dict[int, BatchDict], answer: Answer, failed: list[Failure], drawing: Drawing, delivery: Delivery
    ) -> None:
        """Replace failed samples by others."""
        wanted = {failure.position: failure.id for failure in failed}
        for attempt in range(MOST_SUBSTITUTIONS):
            places = sorted(wanted)
            found = delivery.replacements([wanted[place] for place in places], attempt)
            made = self._applied(found, drawing)
            for number, sample in made.samples.items():
                place = places[number]
                rows[place] = _row(found, number, self.functions.fields) | {"valid": np.bool_(False)}
                answer.samples[place] = sample
                del wanted[place]
            if not wanted:
                return
            failed = [Failure(places[at], int(found["id"][at]), error) for at, error in made.failures.items()]
            self.log.add(failed)
        raise failed[0].error

    def _applied(self, batch: BatchDict, drawing: Drawing) -> Answer:
        if self.workers is None:
            return self._run_here(batch, drawing)
        answer = self._wait(self.workers, self._submit(self.workers, batch, drawing, planned=False), None)
        return Answer() if answer is None else answer

    def _count(self, seconds: float, delivery: Delivery | None) -> None:
        self.counters.wait_seconds += seconds
        if delivery is not None:
            delivery.count_wait(seconds)

    def _add(self, images: int, seconds: float) -> None:
        counters = self.counters
        counters.images += images
        counters.busy_seconds += seconds
        counters.batches += 1
        if counters.batches >= SAID_AFTER and not self._is_said:
            self._is_said = True
            LOG.warning("%s", self.said())

    def said(self) -> str:
        """Describe which functions are not native, their cost, and where they run."""
        counters = self.counters
        where = "inside next()" if self.workers is None else f"ahead, in {self.num_workers} worker processes"
        if self.num_workers == 1:
            where = "ahead, in a worker process"
        why = f" ({self._reason})" if self._reason else ""
        cost = 1000 * counters.busy_seconds / max(1, counters.images)
        return f"Loader: not native: {', '.join(self.functions.names)}: {cost:.1f} ms an image in Python, {where}{why}"


def _row(batch: BatchDict, place: int, but: Sequence[str]) -> BatchDict:
    """Return one sample of a batch, without the fields that functions make."""
    return {name: values[place] for name, values in batch.items() if name not in but}


def _rejoined(batch: BatchDict, rows: list[BatchDict]) -> BatchDict:
    """Join samples to a batch again, with each field as it was: an array, or a list."""
    names = [name for name in batch if not rows or name in rows[0]]
    columns = {name: [row[name] for row in rows] for name in names}
    return {
        name: np.array(values, batch[name].dtype) if isinstance(batch[name], np.ndarray) else values
        for name, values in columns.items()
    }
