"""Chains of transforms, split into a native part and Python transforms."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from penstock import _native
from penstock.errors import ArgumentError
from penstock.transforms.erasing import RandomErasing
from penstock.transforms.functions import converts
from penstock.transforms.torchvision import members, recognise
from penstock.transforms.transform import Transform
from penstock.transforms.values import Normalize, Remap, ToDtype

AnyTransform: TypeAlias = Transform | Callable[[Any], Any]
"""Transform of Penstock or torchvision, or any function that takes and returns a sample."""


@dataclass(frozen=True)
class Chain:
    """Native transforms of a chain, followed by its Python transforms."""

    native: tuple[Transform, ...] = ()
    python_transforms: tuple[Callable[[Any], Any], ...] = ()
    converted: bool = False
    """True if the native part has a conversion (ToImage, ToDtype), so that later functions expect tensors."""

    def program(self) -> _native.TransformProgram:
        """Compile the native part."""
        return _native.TransformProgram(
            [operation for transform in self.native for operation in transform.operations()]
        )

    def output_bytes(self, channels: int) -> int | None:
        """Return the bytes of an image after the native part, at most; None if they depend on the image's size.

        >>> from penstock.transforms import CenterCrop, ToDtype
        >>> split([CenterCrop(8)]).output_bytes(3), split([CenterCrop(8), ToDtype("float32")]).output_bytes(3)
        (384, 768)
        >>> split([]).output_bytes(3) is None
        True
        """
        program = self.program()
        if program.fixed_size is None:
            return None
        height, width = program.fixed_size
        return height * width * channels * np.dtype(program.output_type or np.uint16).itemsize

    @property
    def rest(self) -> tuple[Callable[[Any], Any], ...]:
        """Former name of `python_transforms`, until version 0.1."""
        warnings.warn("Chain.rest is called python_transforms now", DeprecationWarning, stacklevel=2)
        return self.python_transforms

    def __repr__(self) -> str:
        lines = [f"  native  {transform!r}" for transform in self.native]
        lines += [f"  python  {transform!r}" for transform in self.python_transforms]
        return "\n".join(["Chain(", *lines, ")"])


def split(transforms: AnyTransform | Iterable[AnyTransform] | None) -> Chain:
    """Split a chain into its longest native prefix and the rest, which runs per sample in Python.

    Takes a transform, a list of them, or a torchvision Compose (v2 or v1), whose members are recognised by their class
    and attributes; torchvision is not imported.

    >>> from penstock.transforms import CenterCrop
    >>> split([CenterCrop(8), print])
    Chain(
      native  CenterCrop(size=(8, 8))
      python  <built-in function print>
    )
    """
    native: list[Transform] = []
    rest: list[Callable[[Any], Any]] = []
    converted = False
    for transform in _flatten(transforms):
        known = [transform] if isinstance(transform, Transform) else recognise(transform)
        if not rest and known is not None and _may_follow(native, known):
            native += known
            converted = converted or converts(transform) or any(isinstance(one, ToDtype) for one in known)
        elif isinstance(transform, Transform):
            raise _late(transform, [*native, *rest])
        else:
            rest.append(transform)
    return Chain(tuple(native), tuple(rest), converted)


def _flatten(transforms: AnyTransform | Iterable[AnyTransform] | None) -> Iterable[AnyTransform]:
    """Yield the transforms of nested Compose objects and lists."""
    if transforms is None:
        return
    inner = transforms if isinstance(transforms, (list, tuple)) else members(transforms)
    if inner is not None:
        for transform in inner:
            yield from _flatten(transform)
    elif isinstance(transforms, Transform) or callable(transforms):
        yield transforms
    else:
        raise ArgumentError(
            f"{transforms!r} is not a transform",
            where="transforms",
            fix="pass penstock.transforms or functions of a sample",
        )


def _may_follow(native: list[Transform], more: list[Transform]) -> bool:
    """Return whether the native part can continue with `more`; types and ranges come last."""
    return not more or (_fits(native, more[0]) and _may_follow([*native, more[0]], more[1:]))


def _fits(native: list[Transform], transform: Transform) -> bool:
    to_floats = any(isinstance(earlier, ToDtype) and earlier.is_float for earlier in native)
    if isinstance(transform, Remap):
        return True
    if isinstance(transform, RandomErasing):
        return to_floats or not transform.needs_floats
    if any(isinstance(earlier, RandomErasing) for earlier in native):
        return False
    if isinstance(transform, ToDtype):
        return transform.is_float or not to_floats
    if isinstance(transform, Normalize):
        return to_floats
    # Images of 16 bits may be made 8-bit first.
    begin = 1 if native and native[0] == ToDtype("uint8", scale=True) else 0
    return not any(isinstance(earlier, (ToDtype, Normalize)) for earlier in native[begin:])


def _late(transform: Transform, earlier: Sequence[AnyTransform]) -> ArgumentError:
    names = ", ".join(str(getattr(other, "__name__", type(other).__name__)) for other in earlier)
    return ArgumentError(
        f"{type(transform).__name__} cannot come after {names}" if names else f"{type(transform).__name__} comes first",
        where="transforms",
        fix="order them: crops, resizes, flips and colours, then ToDtype, then Normalize, then RandomErasing, then "
        "your own functions",
    )
