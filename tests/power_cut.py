"""What a power cut may leave of a folder: a model that follows a log of calls (tests/native/disk_shim.c).

A file keeps what it had at its last fsync; of later writes everything, nothing, half, or zeros in their place may be
there. A folder keeps the names it had at its last fsync; of later changes any part may be there, in any order. A rename
inside a folder happens or does not; one between folders may leave the file under both names, and never under none.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

State = Mapping[str, bytes | None]
"""Relative paths; None for a folder."""


@dataclass(frozen=True, slots=True)
class Call:
    """A line of the log."""

    kind: str
    descriptor: int
    number: int
    first: str
    second: str
    data: bytes


def read_log(path: Path) -> list[Call]:
    """All calls, in the order in which they happened."""
    text, at, calls = path.read_bytes(), 0, []
    while at < len(text):
        end = text.index(b"\n", at)
        kind, *numbers = text[at:end].decode().split(" ")
        descriptor, number, first, second, size = map(int, numbers)
        parts = []
        at = end + 1
        for length in (first, second, size):
            parts.append(text[at : at + length])
            at += length
        calls.append(Call(kind, descriptor, number, parts[0].decode(), parts[1].decode(), parts[2]))
    return calls


@dataclass(eq=False)
class File:
    """Content now, and content that the disk is known to hold."""

    now: bytearray = field(default_factory=bytearray)
    synced: bytes = b""

    def left(self, way: str) -> bytes:
        """What is there after the cut."""
        if way == "synced":
            return self.synced
        if way == "zeros":
            kept = self.synced[: len(self.now)]
            return kept + bytes(len(self.now) - len(kept))
        if way == "torn":
            common = next(
                (at for at, (a, b) in enumerate(zip(self.synced, self.now, strict=False)) if a != b),
                min(len(self.synced), len(self.now)),
            )
            return bytes(self.now[: (common + len(self.now)) // 2])
        return bytes(self.now)


WAYS = ("synced", "zeros", "torn", "all")


@dataclass(eq=False)
class Change:
    """A change of a folder's names that the disk may not hold yet: each name gets a node, or goes (None)."""

    names: Mapping[str, File | Folder | None]
    needs: tuple[Folder, Change] | None = None
    """A change of another folder without which this one is not there."""

    def is_possible(self, kept: Collection[int] = ()) -> bool:
        """Whether the disk holds what it needs, or will because it is among those `kept`."""
        return self.needs is None or self.needs[1] not in self.needs[0].pending or id(self.needs[1]) in kept


@dataclass(eq=False)
class Folder:
    """Names now, and changes since the disk was known to hold them."""

    now: dict[str, File | Folder] = field(default_factory=dict)
    synced: dict[str, File | Folder] = field(default_factory=dict)
    pending: list[Change] = field(default_factory=list)

    def change(self, names: Mapping[str, File | Folder | None], needs: tuple[Folder, Change] | None = None) -> Change:
        change = Change(names, needs)
        _apply(self.now, change)
        self.pending.append(change)
        return change

    def sync(self) -> None:
        # A file that was moved elsewhere loses its old name for good only when the disk holds the new one.
        waiting = [change for change in self.pending if not change.is_possible()]
        for change in self.pending:
            if change not in waiting:
                _apply(self.synced, change)
        self.pending = waiting


def _apply(names: dict[str, File | Folder], change: Change) -> None:
    for name, node in change.names.items():
        if node is None:
            names.pop(name, None)
        else:
            names[name] = node


class Disk:
    """A folder `root` that is followed call by call."""

    def __init__(self, root: Path, before: State) -> None:
        self.prefix = str(root.resolve())
        self.top = Folder()
        self.open: dict[int, File | Folder] = {}
        for path, content in sorted(before.items()):
            parent, name = self._parent(f"{self.prefix}/{path}")
            parent.change({name: Folder() if content is None else File(bytearray(content), content)})
        self.sync_all()

    def follow(self, call: Call) -> None:
        """Take a call into account."""
        if call.kind in ("fsync", "fdatasync"):
            node = self.open[call.descriptor]
            if isinstance(node, Folder):
                node.sync()
            else:
                node.synced = bytes(node.now)
        elif call.kind == "syncfs":
            self.sync_all()
        elif call.kind == "close":
            self.open.pop(call.descriptor, None)
        elif call.kind in ("write", "truncate"):
            self._write(call)
        else:
            self._name(call)

    def _write(self, call: Call) -> None:
        node = self.open[call.descriptor]
        assert isinstance(node, File)
        if call.kind == "truncate":
            node.now[:] = node.now[: call.number].ljust(call.number, b"\0")
            return
        if len(node.now) < call.number:
            node.now.extend(bytes(call.number - len(node.now)))
        node.now[call.number : call.number + len(call.data)] = call.data

    def _name(self, call: Call) -> None:
        if call.kind in ("open", "truncate_open"):
            node = self._node(call.first)
            self.open[call.descriptor] = node
            if call.kind == "truncate_open" and isinstance(node, File):
                node.now.clear()
            return
        parent, name = self._parent(call.first)
        if call.kind == "create":
            self.open[call.descriptor] = made = File()
            parent.change({name: made})
        elif call.kind == "mkdir":
            parent.change({name: Folder()})
        elif call.kind in ("unlink", "rmdir"):
            parent.change({name: None})
        elif call.kind == "rename":
            other, new = self._parent(call.second)
            if other is parent:
                parent.change({name: None, new: parent.now[name]})
            else:
                parent.change({name: None}, needs=(other, other.change({new: parent.now[name]})))
        else:
            raise AssertionError(f"the model does not know '{call.kind}'")

    def _parent(self, path: str) -> tuple[Folder, str]:
        found = self._node(str(PurePosixPath(path).parent))
        assert isinstance(found, Folder)
        return found, PurePosixPath(path).name

    def _node(self, path: str) -> File | Folder:
        node: File | Folder = self.top
        for name in path.removeprefix(self.prefix).strip("/").split("/"):
            if name:
                assert isinstance(node, Folder)
                node = node.now[name]
        return node

    def nodes(self) -> Iterator[File | Folder]:
        """Everything that has a name, now or after a cut."""
        seen: set[int] = set()
        waiting: list[File | Folder] = [self.top]
        while waiting:
            node = waiting.pop()
            if id(node) in seen:
                continue
            seen.add(id(node))
            yield node
            if isinstance(node, Folder):
                changed = [below for change in node.pending for below in change.names.values() if below is not None]
                waiting += [*node.now.values(), *node.synced.values(), *changed]

    def sync_all(self) -> None:
        """The disk holds everything."""
        for node in list(self.nodes()):
            if isinstance(node, Folder):
                node.sync()
            else:
                node.synced = bytes(node.now)

    def now(self) -> State:
        """What the running system sees."""
        return dict(_walk(self.top, lambda folder: folder.now, lambda _: "all", ""))

    def cuts(self, rng: random.Random) -> Iterator[State]:
        """States that a cut may leave: the extremes, each change alone and each one missing, and a few at random."""
        pending = [change for node in self.nodes() if isinstance(node, Folder) for change in node.pending]
        everything, nothing = set(map(id, pending)), set[int]()
        for kept in (everything, nothing):
            for way in WAYS:
                yield self._cut(kept, lambda _, way=way: way)  # type: ignore[misc]
        for change in pending:
            for way in ("synced", "zeros"):
                yield self._cut({id(change)}, lambda _, way=way: way)  # type: ignore[misc]
                yield self._cut(everything - {id(change)}, lambda _, way=way: way)  # type: ignore[misc]
        for _ in range(4 if pending else 1):
            yield self._cut({id(change) for change in pending if rng.random() < 0.5}, lambda _: rng.choice(WAYS))

    def _cut(self, kept: set[int], way: Callable[[File], str]) -> State:
        def names(folder: Folder) -> dict[str, File | Folder]:
            left = dict(folder.synced)
            for change in folder.pending:
                if id(change) in kept and change.is_possible(kept):
                    _apply(left, change)
            return left

        return dict(_walk(self.top, names, way, ""))


def _walk(
    folder: Folder, names: Callable[[Folder], dict[str, File | Folder]], way: Callable[[File], str], prefix: str
) -> Iterator[tuple[str, bytes | None]]:
    for name, node in sorted(names(folder).items()):
        if isinstance(node, Folder):
            yield prefix + name, None
            yield from _walk(node, names, way, f"{prefix}{name}/")
        else:
            yield prefix + name, node.left(way(node))


def states_after_cuts(root: Path, before: State, calls: Sequence[Call]) -> Iterator[tuple[int, State]]:
    """States with the number of calls before the cut; each state once, and all states after the last call."""
    disk, rng, seen = Disk(root, before), random.Random(0), set[int]()
    for number in range(len(calls) + 1):
        for state in disk.cuts(rng):
            key = hash(tuple(state.items()))
            if key not in seen or number == len(calls):
                seen.add(key)
                yield number, state
        if number < len(calls):
            disk.follow(calls[number])


def lay_out(state: State, folder: Path) -> None:
    """Make a folder that holds a state."""
    folder.mkdir()
    for path, content in sorted(state.items()):
        if content is None:
            (folder / path).mkdir()
        else:
            (folder / path).write_bytes(content)


def state_of(folder: Path) -> State:
    """What a folder holds."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
    }
