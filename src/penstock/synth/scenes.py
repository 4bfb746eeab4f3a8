"""Parameters of procedural images: the size, the classes and where the label is visible."""

from __future__ import annotations

from dataclasses import dataclass

from penstock import _native
from penstock.errors import ArgumentError

VARIANTS = ("coarse", "texture", "mixed")

MAX_SIDE = 2**15
MAX_PIXELS = 2**28
MAX_CLASSES = 10_000


@dataclass(frozen=True, slots=True)
class Scenes:
    """Parameters of a set of images. Image i depends only on these fields and i, on every machine.

    Classes look the same under every seed, so two seeds give a training and a validation set.
    """

    width: int = 512
    height: int = 256
    classes: int = 10
    """Number of classes. Image i has class i modulo this number."""
    seed: int = 0
    variant: str = "mixed"
    """Part of the image that shows the label.

    "coarse": layout, colours and silhouettes, which survive strong compression. "texture": a pattern of 3 to 5 pixels,
    which does not. "mixed": classes 2n and 2n + 1 have the same structure and differ in texture.
    """
    bits: int = 8
    """Bits per value. 8: RGB. 16: grey, linear, with the values (0 to 4095) and the noise of a 12-bit sensor."""

    def __post_init__(self) -> None:
        _check_range("width", self.width, 1, MAX_SIDE)
        _check_range("height", self.height, 1, MAX_SIDE)
        _check_range("width × height", self.width * self.height, 1, MAX_PIXELS)
        _check_range("classes", self.classes, 1, MAX_CLASSES)
        _check_range("seed", self.seed, 0, 2**64 - 1)
        if self.variant not in VARIANTS:
            raise ArgumentError(
                f"there is no variant '{self.variant}'",
                where="variant",
                fix=f"choose one of {', '.join(VARIANTS)}",
                code=100,
            )
        if self.bits not in (8, 16):
            raise ArgumentError(f"images of {self.bits} bits cannot be rendered", where="bits", fix="choose 8 or 16")

    @property
    def channels(self) -> int:
        """Number of channels: 3 for 8 bits, 1 for 16."""
        return 3 if self.bits == 8 else 1

    def native(self) -> _native.SynthSpec:
        """Convert the parameters for the native core."""
        return _native.SynthSpec(self.width, self.height, self.classes, self.seed, self.variant, self.bits == 16)


def _check_range(name: str, value: int, least: int, most: int) -> None:
    if not least <= value <= most:
        raise ArgumentError(
            f"{name} is {value:,}", where=name, fix=f"choose a whole number from {least} to {most:,}", code=100
        )
