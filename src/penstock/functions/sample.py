"""Python functions applied to one sample at a time, each with the input that it was written for.

A function gets a Pillow image up to the chain's own conversion, and tensors or arrays after it. It gets the whole
sample if it can move masks, boxes and points. Its random numbers are a function of (seed, epoch, id).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.errors import PenstockError
from penstock.functions.forms import Forms, Value, as_pillow, is_pillow, size_of, to_axes
from penstock.functions.keywords import call_with_keywords
from penstock.transforms.functions import Takes, converts, is_of_torchvision, name_of, takes, wants_pillow
from penstock.transforms.seeding import seed_everything, seed_for

FAILED = 540
PIXELS = ("image", "mask")
"""Roles of fields that are stored as images."""


class FunctionError(PenstockError):
    """Error in a user's function for a sample."""


@dataclass(frozen=True)
class Drawing:
    """Inputs of the random numbers, except the sample."""

    seed: int
    epoch: int


@dataclass
class _State:
    """Sample between two functions."""

    image: Value
    axes: str
    others: dict[str, Value]
    wrapped: bool = False


class SampleFunctions:
    """Functions of a chain. The object can be sent to worker processes."""

    def __init__(
        self,
        functions: Sequence[Callable[[Any], Any]],
        roles: Mapping[str, str],
        forms: Forms,
        layout: str,
        *,
        converted: bool = False,
    ) -> None:
        """Prepare functions for fields with these `roles`; `converted` means that the native part had a conversion."""
        self._functions = tuple(functions)
        self._kinds = tuple(takes(function) for function in functions)
        self._roles = dict(roles)
        self._forms = forms
        self._wanted = layout[1:]
        self._pillow = not converted and wants_pillow(self._functions)
        self._of_torchvision = tuple(
            kind is Takes.TENSORS or is_of_torchvision(function)
            for kind, function in zip(self._kinds, functions, strict=True)
        )

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the functions, for messages."""
        return tuple(name_of(function) for function in self._functions)

    @property
    def needs_pillow(self) -> bool:
        """True if the first function gets a Pillow image."""
        return self._pillow

    @property
    def fields(self) -> tuple[str, ...]:
        """Fields of a sample that the functions change: the image, and everything that moves with it."""
        return "image", *self._roles

    @property
    def stacked(self) -> tuple[str, ...]:
        """Fields that become one array per batch if all samples are alike."""
        return "image", *(name for name, role in self._roles.items() if role in PIXELS)

    @property
    def layout(self) -> str:
        """Layout of the pixels that the first function needs, so that axes are not reordered twice."""
        if self._pillow or self._kinds[0] is Takes.KEYWORDS:
            return "NHWC"
        return "NCHW" if self._of_torchvision[0] else f"N{self._wanted}"

    def __call__(self, sample: Mapping[str, Value], drawing: Drawing, id: int) -> dict[str, Value]:  # noqa: A002
        """Apply the functions to one sample and return its fields. Raise FunctionError if a function fails."""
        if "torch" in sys.modules:
            return self._applied(sample, drawing, id)
        kept = {name: value.copy() for name, value in sample.items()}
        found = self._applied(sample, drawing, id)
        # A function that has just imported torch used a generator that was not seeded.
        return self._applied(kept, drawing, id) if "torch" in sys.modules else found

    def _applied(self, sample: Mapping[str, Value], drawing: Drawing, id: int) -> dict[str, Value]:  # noqa: A002
        number = seed_for(drawing.seed, drawing.epoch, id)
        seed_everything(number)
        pixels = sample["image"]
        image = as_pillow(pixels) if self._pillow else self._forms.own(pixels)
        axes = self.layout[1:]
        others = {name: self._turned(sample[name], role, axes, "CHW") for name, role in self._roles.items()}
        state = _State(image, axes, others)
        for place, function in enumerate(self._functions):
            try:
                self._call(place, state, number)
            except Exception as error:
                raise _failure(name_of(function), id, error) from error
        return self._result(state)

    def _call(self, place: int, state: _State, number: int) -> None:
        function, kind = self._functions[place], self._kinds[place]
        if kind is Takes.KEYWORDS:
            self._call_with_keywords(function, state, number)
            return
        was_pillow = is_pillow(state.image)
        changes_form = converts(function) or type(function).__name__ == "ToPILImage"
        if self._of_torchvision[place] and not is_pillow(state.image) and not changes_form:
            state.image = self._forms.as_tensor(state.image, state.axes)
            state.axes = "CHW"
        elif self._of_torchvision[place] and isinstance(state.image, np.ndarray):
            state.image = to_axes(state.image, state.axes, "HWC")  # conversions expect this order of arrays
        if kind in (Takes.TENSORS, Takes.SAMPLE) and (self._roles or kind is Takes.SAMPLE):
            self._call_with_all(function, state)
        else:
            state.image = function(state.image)
        if self._of_torchvision[place]:
            state.axes = "HWC" if isinstance(state.image, np.ndarray) and not converts(function) else "CHW"
        elif was_pillow:
            state.axes = "HWC" if isinstance(_first(state.image), np.ndarray) else "CHW"  # tensors have planes

    def _call_with_all(self, function: Callable[[Any], Any], state: _State) -> None:
        if not state.wrapped:
            size = size_of(state.image, state.axes)
            state.others = {
                name: self._forms.wrap(role, state.others[name], size) for name, role in self._roles.items()
            }
            state.wrapped = True
        found = function({"image": state.image, **state.others})
        if not isinstance(found, Mapping):
            raise TypeError(f"a function of whole samples gives a dict back, not {type(found).__name__}")
        state.image = found.get("image", state.image)
        state.others = {name: found.get(name, value) for name, value in state.others.items()}

    def _call_with_keywords(self, function: Any, state: _State, number: int) -> None:  # noqa: ANN401  # of albumentations
        pixels = np.asarray(self._forms.unwrap(state.image))
        axes = "HWC" if is_pillow(state.image) else state.axes
        others = {
            name: self._turned(self._forms.unwrap(value), self._roles[name], "CHW", "HWC")
            for name, value in state.others.items()
        }
        function.set_random_seed(number & 0xFFFFFFFF)  # it has generators of its own
        state.image, state.others = call_with_keywords(function, to_axes(pixels, axes, "HWC"), others, self._roles)
        state.axes = "HWC" if isinstance(state.image, np.ndarray) else "CHW"
        state.wrapped = False
        state.others = {
            name: self._turned(self._forms.unwrap(value), self._roles[name], "HWC", "CHW")
            for name, value in state.others.items()
        }

    def _result(self, state: _State) -> dict[str, Value]:
        return {
            "image": self._image(state.image, state.axes),
            **{
                name: self._turned(self._forms.unwrap(value), self._roles[name], "CHW", self._wanted)
                for name, value in state.others.items()
            },
        }

    def _turned(self, value: Value, role: str, axes: str, wanted: str) -> Value:
        """Reorder the axes of masks to C×H×W between functions. Most masks have no channel axis."""
        return to_axes(value, axes, wanted) if role in PIXELS and isinstance(value, np.ndarray) else value

    def _image(self, value: Value, axes: str) -> Value:
        """Convert the image, or several views of it, to arrays in the layout of the batch."""
        if isinstance(value, (list, tuple)):
            return [self._image(item, axes) for item in value]
        if isinstance(value, Mapping):
            return {key: self._image(item, axes) for key, item in value.items()}
        if is_pillow(value):
            pixels = np.asarray(value)
            return to_axes(pixels if pixels.ndim == 3 else pixels[..., None], "HWC", self._wanted)
        found = self._forms.unwrap(value)
        return to_axes(found, axes, self._wanted) if isinstance(found, np.ndarray) else found


def _first(value: Value) -> Value:
    """Return the first of several views, or the only one."""
    while isinstance(value, (list, tuple, Mapping)) and value:
        value = next(iter(value.values())) if isinstance(value, Mapping) else value[0]
    return value


def _failure(name: str, sample: int, error: Exception) -> FunctionError:
    return FunctionError(
        f"{name} failed: {type(error).__name__}: {error}",
        where=f"sample {sample}, transform",
        fix="call it on this sample by itself (penstock.transforms.seeded gives it the same random numbers); "
        "on_error='skip' goes on without such samples",
        code=FAILED,
    )
