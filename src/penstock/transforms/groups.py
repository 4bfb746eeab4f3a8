"""Groups of native transforms: apply some of them, choose one, or apply all in random order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from penstock import _native
from penstock.errors import ArgumentError
from penstock.transforms.transform import Operation, Transform, check_probability


class Group(Transform):
    """Transform that plays others."""

    __slots__ = ()

    def operation(self) -> Operation:
        """Refuse: a group has several operations."""
        raise ArgumentError("a group has no single operation", where="transforms", fix="use operations()")


@dataclass(frozen=True)
class RandomApply(Group):
    """Apply a list of native transforms, all of them, with probability `p`; otherwise none.

    >>> from penstock.transforms import ColorJitter, RandomApply
    >>> RandomApply([ColorJitter(0.4, 0.4, 0.2, 0.1)], p=0.8).p
    0.8
    """

    transforms: Sequence[Transform]
    p: float = 0.5

    def __post_init__(self) -> None:
        check_probability(self.p, "RandomApply")
        object.__setattr__(self, "transforms", _members("RandomApply", self.transforms))

    def operations(self) -> list[Operation]:  # noqa: D102
        return _grouped("apply", [self.p], self.transforms)


@dataclass(frozen=True)
class RandomChoice(Group):
    """Apply one of several native transforms, with the probabilities `p` (default: all alike).

    >>> from penstock.transforms import Resize, RandomChoice
    >>> RandomChoice([Resize(256), Resize(320)], p=[3, 1]).p
    (0.75, 0.25)
    """

    transforms: Sequence[Transform]
    p: Sequence[float] | None = None

    def __post_init__(self) -> None:
        members = _members("RandomChoice", self.transforms)
        weights = [1.0] * len(members) if self.p is None else [float(weight) for weight in self.p]
        if len(weights) != len(members) or min(weights) < 0 or not 0 < sum(weights) < float("inf"):
            raise ArgumentError(
                f"p={self.p!r} are not the probabilities of {len(members)} transforms",
                where="RandomChoice",
                fix="pass a probability for every transform",
            )
        object.__setattr__(self, "transforms", members)
        object.__setattr__(self, "p", tuple(weight / sum(weights) for weight in weights))

    def operations(self) -> list[Operation]:  # noqa: D102
        return _grouped("choice", list(self.p or ()), self.transforms)


@dataclass(frozen=True)
class RandomOrder(Group):
    """Apply several native transforms in random order."""

    transforms: Sequence[Transform]

    def __post_init__(self) -> None:
        object.__setattr__(self, "transforms", _members("RandomOrder", self.transforms))

    def operations(self) -> list[Operation]:  # noqa: D102
        return _grouped("order", [], self.transforms)


@dataclass(frozen=True)
class Sequential(Group):
    """Several native transforms as one member of a group, in this order. It may be empty, and then does nothing."""

    transforms: Sequence[Transform]

    def __post_init__(self) -> None:
        object.__setattr__(self, "transforms", tuple(self.transforms) and _members("Sequential", self.transforms))

    def operations(self) -> list[Operation]:  # noqa: D102
        return [operation for transform in self.transforms for operation in transform.operations()]


def _members(where: str, transforms: Sequence[Transform]) -> tuple[Transform, ...]:
    members = tuple(transforms)
    if not members or not all(isinstance(member, Transform) for member in members):
        raise ArgumentError(
            f"{where} takes native transforms, not {transforms!r}",
            where=where,
            fix="pass a list of transforms of penstock.transforms; put Python functions behind it",
        )
    return members


def _grouped(kind: str, p: list[float], transforms: Sequence[Transform]) -> list[Operation]:
    members = [transform.operations() for transform in transforms]
    head = _native.GroupOperation(kind, p, [len(member) for member in members])
    return [head, *(operation for member in members for operation in member)]
