"""Options of a build, except its mix."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from penstock.codecs import Format, parse_format
from penstock.codecs.contract import DEFAULT_MAX_PIXELS
from penstock.errors import ArgumentError

DEFAULT_SHARD_BYTES = 256 << 20
LEFT_OUT = "none"


@dataclass(frozen=True, slots=True)
class BuildOptions:
    """Options that affect the bytes of a dataset. Threads and paths are not among them."""

    seed: int = 0
    runs: int = 1
    """Number of neighbours in the source that stay together on disk."""
    shard_bytes: int = DEFAULT_SHARD_BYTES
    check: bool = True
    """Decode losslessly encoded images, and compare them with the source before they are accepted."""
    skip_errors: bool = False
    """Leave out samples that cannot be read or decoded, and list them in the manifest."""
    keep_source: bool = False
    """Store the source's bytes of `image` too, as the field `source`."""
    max_side: int = 0
    """Largest longer side. Larger images are shrunk (Lanczos; nearest pixel for masks); 0 means no limit."""
    short_side: int = 0
    """Largest shorter side, like `max_side`."""
    max_pixels: int = DEFAULT_MAX_PIXELS
    """Refuse a source image that claims more pixels, before allocating memory."""
    formats: Mapping[str, str] = field(default_factory=dict)
    """Formats of other image fields (`mask`). By default they keep the source's bytes; "none" leaves one out."""
    source_kind: str = ""
    """Kind of the source; "" detects it."""
    allow_outside: bool = False
    """Let a manifest name files outside its own folder, which are then copied into the dataset."""

    def field_formats(self) -> dict[str, Format]:
        """Parse the formats of the fields."""
        return {name: parse_format(text) for name, text in self.formats.items() if text != LEFT_OUT}

    def fields_left_out(self) -> frozenset[str]:
        """Return the image fields of the source that the dataset leaves out."""
        return frozenset(name for name, text in self.formats.items() if text == LEFT_OUT)

    def check_values(self) -> None:
        """Refuse invalid values."""
        if min(self.max_side, self.short_side, self.seed) < 0:
            raise ArgumentError("sides and seeds are not negative", where="options", fix="use 0 or more", code=130)
        if self.max_pixels < 1:
            raise ArgumentError(
                f"images of {self.max_pixels} pixels", where="max_pixels", fix="use 1 or more", code=130
            )
        if self.runs < 1:
            raise ArgumentError(f"runs of {self.runs} samples", where="runs", fix="use 1 or more", code=130)
        if self.shard_bytes < 4096:
            raise ArgumentError(
                f"a shard of {self.shard_bytes} bytes is too small",
                where="shard size",
                fix="use 4096 or more",
                code=130,
            )

    def recipe(self) -> dict[str, object]:
        """Return the members of a manifest's recipe."""
        limit = {} if self.max_pixels == DEFAULT_MAX_PIXELS else {"max_pixels": self.max_pixels}
        return {
            **limit,
            "seed": self.seed,
            "runs": self.runs,
            "shard_bytes": self.shard_bytes,
            "check": self.check,
            "on_error": "skip" if self.skip_errors else "fail",
            "keep_source": self.keep_source,
            "max_side": self.max_side,
            "short_side": self.short_side,
        }
