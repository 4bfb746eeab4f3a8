"""Random erasing of finished samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from penstock import _native
from penstock.errors import ArgumentError
from penstock.transforms.transform import Transform, check_probability, number_range, set_fields

MAX_AREAS = 8
RANDOM_VALUES = {"random": "pixel", "random_color": "color"}


@dataclass(frozen=True)
class RandomErasing(Transform):
    """Overwrite random areas of the image with probability `p`, as the last transform of a chain.

    Args:
        p: Probability of erasing.
        scale: Range of the erased area, as a share of the image.
        ratio: Range of height to width of an area.
        value: A number, or one per channel, in the units of the result; after Normalize, 0 is the mean. "random" draws
            every pixel from a normal distribution (torchvision's "random", timm's "pixel"), "random_color" one colour
            per area (timm's "rand"). Both need floating point.
        inplace: Has no effect; it exists because torchvision has it.
        count: Number of areas, or (min, max), which share `scale`, as in timm. At most 8.

    >>> RandomErasing(0.25, value="random").scale
    (0.02, 0.33)
    """

    p: float = 0.5
    scale: Sequence[float] = (0.02, 0.33)
    ratio: Sequence[float] = (0.3, 3.3)
    value: float | Sequence[float] | str = 0
    inplace: bool = False
    count: int | Sequence[int] = 1

    def __post_init__(self) -> None:
        check_probability(self.p, "RandomErasing")
        ratio = number_range("ratio", self.ratio)
        if ratio[0] == 0:
            raise ArgumentError("ratio begins at 0", where="RandomErasing", fix="pass ratios above 0")
        set_fields(self, scale=number_range("scale", self.scale, high=1.0), ratio=ratio)
        self._values()
        self._counts()

    @property
    def needs_floats(self) -> bool:
        """True if erased areas are random, which only floating-point results can be."""
        return isinstance(self.value, str)

    def operation(self) -> _native.RandomErasingOperation:  # noqa: D102
        mode, values = self._values()
        return _native.RandomErasingOperation(
            self.p, list(self.scale), list(self.ratio), mode, values, list(self._counts())
        )

    def _values(self) -> tuple[str, list[float]]:
        if isinstance(self.value, str):
            if self.value not in RANDOM_VALUES:
                raise ArgumentError(
                    f"value={self.value!r} is not known",
                    where="RandomErasing",
                    fix=f"pass a number, one per channel, or one of {', '.join(RANDOM_VALUES)}",
                )
            return RANDOM_VALUES[self.value], [0.0]
        values = [float(value) for value in self.value] if isinstance(self.value, Sequence) else [float(self.value)]
        if not 1 <= len(values) <= 4:
            raise ArgumentError(
                f"value={self.value!r} is not a colour",
                where="RandomErasing",
                fix="pass one number, or one per channel",
            )
        return "constant", values

    def _counts(self) -> tuple[int, int]:
        pair = tuple(self.count) if isinstance(self.count, Sequence) else (self.count, self.count)
        if len(pair) != 2 or not 1 <= pair[0] <= pair[1] <= MAX_AREAS:
            raise ArgumentError(
                f"count={self.count!r} is not a number of areas",
                where="RandomErasing",
                fix=f"pass a number from 1 to {MAX_AREAS}, or (min, max)",
            )
        return pair[0], pair[1]
