"""Uses a loader from several threads at once: `python -m tests.races SCENARIO EXTENSION FOLDER`.

EXTENSION is the native module to use in place of the installed one: one built with ThreadSanitizer, whose runtime is
preloaded. Prints `done` before the interpreter ends, or raises what is wrong.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
import signal
import sys
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from penstock import Loader

ROUNDS = 30
THREADS = 3


def use_extension(path: str) -> None:
    """Make `import penstock._native` give this file."""
    spec = importlib.util.spec_from_file_location("penstock._native", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["penstock._native"] = module
    spec.loader.exec_module(module)


def make_images(folder: Path, count: int = 24) -> None:
    import numpy as np

    import penstock

    noise = np.random.default_rng(0).integers(0, 256, (48, 64, 3), np.uint8)
    folder.mkdir(exist_ok=True)
    for number in range(count):
        text = ("png:level=1", "jpeg:q=80", "weir:fast")[number % 3]
        ending = {"png": "png", "jpeg": "jpg", "weir": "weir"}[text.split(":")[0]]
        (folder / f"{number:02}.{ending}").write_bytes(penstock.encode(noise, text))


def open_loader(folder: Path, cache: str = "none") -> Loader:
    import penstock

    return penstock.Loader(folder, batch_size=4, threads=THREADS, memory="300MB", cache=cache)


def close_while_iterating(folder: Path) -> None:
    """One thread iterates, one asks for statistics, one closes: earlier or later, in each round."""
    import penstock

    wrong: list[BaseException | str] = []

    def until_closed(work: Callable[[], object]) -> None:
        try:
            while True:
                work()
        except penstock.PenstockError as error:
            if "the loader is closed" not in str(error):
                wrong.append(error)
        except BaseException as error:  # a thread's exceptions are for the main one
            wrong.append(error)

    for number in range(ROUNDS):
        loader = open_loader(folder, cache=("none", "rolling")[number % 2])
        works: tuple[Callable[[], object], ...] = (partial(list, loader), loader.stats)
        threads = [threading.Thread(target=until_closed, args=(work,)) for work in works]
        for thread in threads:
            thread.start()
        while threads[0].is_alive() and loader.runner.pipeline.stats()["num_decoded"] < number:
            pass
        loader.close()
        for thread in threads:
            thread.join(60)
            assert not thread.is_alive()
    assert not wrong, wrong


def abandon(folder: Path) -> None:
    """Two loaders, each iterated by a thread of its own, which leaves one epoch after the other in the middle."""

    def leave(loader: Loader) -> None:
        for _ in range(ROUNDS // 3):
            batches = iter(loader)
            held = [next(batches), next(batches)]
            next(iter(loader))
            del batches, held

    loaders = [open_loader(folder, cache=cache) for cache in ("none", "rolling")]
    threads = [threading.Thread(target=leave, args=(loader,)) for loader in loaders]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for loader in loaders:
        loader.close()


def fork(folder: Path) -> None:
    """Children that decode and free batches, forked while other threads load and decode."""
    import penstock

    data = next(folder.glob("*.png")).read_bytes()
    stop = threading.Event()

    def decode() -> None:
        while not stop.is_set():
            penstock.decode(data)

    threads = [threading.Thread(target=decode) for _ in range(2)]
    for thread in threads:
        thread.start()
    failed = 0
    with open_loader(folder) as loader:
        for batch in (batch for _ in range(3) for batch in loader):
            child = os.fork()
            if child == 0:
                signal.alarm(60)
                del batch
                penstock.decode(data)
                os._exit(0)
            failed += os.waitpid(child, 0)[1] != 0
    stop.set()
    for thread in threads:
        thread.join()
    assert not failed


def start_iterating(loader: Loader, *, daemon: bool, epochs: int) -> None:
    """A thread that has begun when this returns."""
    began = threading.Event()

    def iterate() -> None:
        for _ in range(epochs):
            for _ in loader:
                began.set()

    threading.Thread(target=iterate, daemon=daemon).start()
    began.wait()


def exit_while_waiting(folder: Path) -> None:
    """The interpreter ends while a daemon thread waits for a batch."""
    loader = open_loader(folder)
    start_iterating(loader, daemon=True, epochs=10**6)
    loader.runner.pipeline.stall(None, 1.0, 8)


def exit_with_threads(folder: Path) -> None:
    """The main thread ends while others iterate; nobody closes the loaders."""
    for _ in range(2):
        start_iterating(open_loader(folder), daemon=False, epochs=4)


def count_from_two_threads(library: ctypes.CDLL, num_together: int) -> None:
    """Native code that two threads run, of `planted_race.cpp`."""
    threads = [threading.Thread(target=library.count_together, args=(num_together,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def planted(library: Path) -> None:
    """A race: ctypes releases the interpreter's lock."""
    count_from_two_threads(ctypes.CDLL(str(library)), 2)


def planted_locked(library: Path) -> None:
    """The same code under the interpreter's lock, one thread after the other: no race."""
    count_from_two_threads(ctypes.PyDLL(str(library)), 1)


LOADING: dict[str, Callable[[Path], None]] = {
    "close": close_while_iterating,
    "abandon": abandon,
    "fork": fork,
    "exit-while-waiting": exit_while_waiting,
    "exit-with-threads": exit_with_threads,
}
PLANTED: dict[str, Callable[[Path], None]] = {"planted": planted, "planted-locked": planted_locked}


def main(name: str, extension: str, place: str) -> None:
    """Run a scenario."""
    use_extension(extension)
    if name in PLANTED:
        PLANTED[name](Path(place))
    else:
        make_images(Path(place))
        LOADING[name](Path(place))
    print("done", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
