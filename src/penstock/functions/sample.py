"""Functions in Python, applied to one sample after the other: each gets what it was written for.

A Pillow image until the chain's own conversion, tensors or arrays after it; the whole sample where it knows how to
move masks, boxes and points. The random numbers that it draws are a function of (seed, epoch, id).
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
"""Roles of what is stored as an image."""


class FunctionError(PenstockError):
    """A function of the user's that failed on a sample."""


@dataclass(frozen=True)
class Drawing:
    """What random numbers depend on, beside the sample."""

    seed: int
    epoch: int


@dataclass
class _State:
    """A sample between two functions."""

    image: Value
    axes: str
    others: dict[str, Value]
    wrapped: bool = False


class SampleFunctions:
    """A chain's functions. An object goes to worker processes as it is."""

    def __init__(
        self,
        functions: Sequence[Callable[[Any], Any]],
        roles: Mapping[str, str],
        forms: Forms,
        layout: str,
        *,
        converted: bool = False,
    ) -> None:
        """`roles` are those of the fields beside `image`; `converted` says that the native part had a conversion."""
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
        """Of the functions, for messages."""
        return tuple(name_of(function) for function in self._functions)

    @property
    def needs_pillow(self) -> bool:
        """Whether the first function gets a Pillow image."""
        return self._pillow

    @property
    def fields(self) -> tuple[str, ...]:
        """What of a sample the functions take part in: the image, and what moves with it."""
        return "image", *self._roles

    @property
    def stacked(self) -> tuple[str, ...]:
        """Fields that a batch has as one array, if all samples are alike."""
        return "image", *(name for name, role in self._roles.items() if role in PIXELS)

    @property
    def layout(self) -> str:
        """How pixels are to come: as the first function needs them, so that nothing is turned around twice."""
        if self._pillow or self._kinds[0] is Takes.KEYWORDS:
            return "NHWC"
        return "NCHW" if self._of_torchvision[0] else f"N{self._wanted}"

    def __call__(self, sample: Mapping[str, Value], drawing: Drawing, id: int) -> dict[str, Value]:  # noqa: A002
        """The fields of one sample as the functions leave them; FunctionError if one of them fails."""
        if "torch" in sys.modules:
            return self._applied(sample, drawing, id)
        kept = {name: value.copy() for name, value in sample.items()}
        found = self._applied(sample, drawing, id)
        # Who imported torch just now has drawn from a generator that was not seeded.
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
            state.image = to_axes(state.image, state.axes, "HWC")  # which conversions expect of arrays
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
        """Pixels beside the image: C×H×W between functions, whatever the batch has. Most masks have no such axis."""
        return to_axes(value, axes, wanted) if role in PIXELS and isinstance(value, np.ndarray) else value

    def _image(self, value: Value, axes: str) -> Value:
        """The image, or several views of it, as arrays in the layout of the batch."""
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
    """The first of several views, or the only one."""
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
