"""Share what the Python targets need: errors that must be ours, files in memory, a mutator that knows JSON."""

from __future__ import annotations

import json
import logging
import os
import random
import sys
import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock.errors import PenstockError

SOURCE = Path(__file__).resolve().parents[2] / "src"

HOSTILE: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2, 63, 64, 65, 255, 256, 4096, 65536),
    *(2**31 - 1, 2**31, -(2**31), 2**32 - 1, 2**32, 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1, 2**64, -(2**63), 10**30),
    *(0.5, -0.0, 1e-300, 1e300, -1.5, "", "0", "image", "../x", "/etc/x", "a\0b", "\ud800", "x" * 300),
    *([], {}, [0], [None], {"": 0}, [[]], ["a", 1]),
)
"""Values that are often too large, too small, of another type or of another length."""


def instrumented(*modules: str) -> AbstractContextManager[None]:
    """Import modules of penstock so that atheris sees what they reach; plainly where penstock is imported already.

    The latter is a test that replays a corpus, where atheris need not be installed.
    """
    if "penstock" in sys.modules:
        return nullcontext()
    import atheris

    # It instruments what Python's own importer finds, so that one must come before the importer of the editable
    # install, which then only finds the extension.
    sys.path.insert(0, str(SOURCE))
    sys.meta_path.sort(key=lambda finder: type(finder).__module__.startswith("_editable"))
    context: AbstractContextManager[None] = atheris.instrument_imports(include=list(modules))
    return context


def check_error(error: PenstockError) -> None:
    """Fail unless an error says what, where and how to fix it."""
    if not (error.what and error.where and error.fix):
        raise AssertionError(f"error lacks what, where or fix: {error!r}") from error


def memory_folder() -> Path:
    """Make a folder in memory that is removed when the process ends."""
    base = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    folder = tempfile.TemporaryDirectory(prefix="penstock-fuzz-", dir=base)
    _FOLDERS.append(folder)
    return Path(folder.name)


_FOLDERS: list[tempfile.TemporaryDirectory[str]] = []


def fuzz(check: Callable[[bytes], None], mutate: Callable[[bytes, int, int], bytes] | None = None) -> None:
    """Hand the process over to libFuzzer."""
    import atheris

    logging.disable()
    if mutate is None:
        atheris.Setup(sys.argv, check)
    else:
        atheris.Setup(sys.argv, check, custom_mutator=mutate)
    atheris.Fuzz()


def mutate_json(data: bytes, max_size: int, seed: int) -> bytes:
    """Change some values of a JSON text, now and then its bytes."""
    rng = random.Random(seed)
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        document = None
    if rng.random() < 0.1 or not isinstance(document, dict):
        return mutate_bytes(data, max_size)
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        edit(document, rng)
    changed = json.dumps(document, separators=(",", ":")).encode()
    return changed if len(changed) <= max_size else data[:max_size]


def mutate_bytes(data: bytes, max_size: int) -> bytes:
    """Change bytes as libFuzzer does."""
    import atheris

    return bytes(atheris.Mutate(data, max_size))


def edit(document: Any, rng: random.Random) -> None:  # noqa: ANN401  # JSON
    """Make one change to a JSON value, in place."""
    places = list(_places(document))
    if not places:
        return
    container, key = rng.choice(places)
    kind = rng.random()
    if kind < 0.35:
        container[key] = _tweaked(container[key], rng)
    elif kind < 0.7:
        container[key] = _copy(rng.choice(HOSTILE))
    elif kind < 0.85:
        other, its_key = rng.choice(places)
        container[key] = _copy(other[its_key])
    elif isinstance(container, list):
        container.insert(rng.randrange(len(container) + 1), _copy(rng.choice([*HOSTILE, container[key]])))
    else:
        del container[key]


def _copy(value: Any) -> Any:  # noqa: ANN401  # JSON
    """Copy a value without shared parts, because a value inside itself would have no end."""
    return json.loads(json.dumps(value))


def _places(value: Any) -> list[tuple[Any, Any]]:  # noqa: ANN401  # JSON
    found: list[tuple[Any, Any]] = []
    waiting = [value]
    while waiting:
        container = waiting.pop()
        if isinstance(container, dict):
            keys: Any = list(container)
        elif isinstance(container, list):
            keys = range(len(container))
        else:
            continue
        for key in keys:
            found.append((container, key))
            waiting.append(container[key])
    return found


def _tweaked(value: Any, rng: random.Random) -> Any:  # noqa: ANN401  # JSON
    """Return a similar value of the same type."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return rng.choice((value + 1, value - 1, -value, value * 2, value // 2, value ^ 1 << rng.randrange(64)))
    if isinstance(value, float):
        return rng.choice((-value, value * 2, value / 3, int(value) if abs(value) < 1e18 else 0))
    if isinstance(value, str):
        return _other_text(value, rng)
    if isinstance(value, list):
        return value[: rng.randrange(len(value) + 1)] if rng.random() < 0.5 else value * 2
    return value


def _other_text(text: str, rng: random.Random) -> str:
    """Change, add or remove one digit, letter or sign; hexadecimal texts stay hexadecimal."""
    at = rng.randrange(len(text) + 1)
    letters = "0123456789abcdef" if set(text) <= set("0123456789abcdef") else "0a-_.:/=+ \0é"
    letter = rng.choice(letters)
    return rng.choice((text[:at] + letter + text[at + 1 :], text[:at] + letter + text[at:], text[:at], text[at:]))
