"""What a build can be asked for beside its mix."""

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
    """Options that decide what is written. Threads and paths are none: they change no byte."""

    seed: int = 0
    runs: int = 1
    """Neighbours of the source that stay together on disk."""
    shard_bytes: int = DEFAULT_SHARD_BYTES
    check: bool = True
    """Decode what was encoded without loss, and compare it with the source before it is committed."""
    skip_errors: bool = False
    """Leave out samples that cannot be read or decoded, and list them in the manifest."""
    keep_source: bool = False
    """Store the source's bytes of `image` beside the chosen format, as the field `source`."""
    max_side: int = 0
    """Images with a longer side are shrunk to it (Lanczos; masks by the nearest pixel). Never enlarges; 0: no limit."""
    short_side: int = 0
    """The same for the shorter side."""
    max_pixels: int = DEFAULT_MAX_PIXELS
    """Refuse a source image that claims more pixels, before anything of it is allocated."""
    formats: Mapping[str, str] = field(default_factory=dict)
    """Formats of further image fields (`mask`); one not named keeps the source's bytes, "none" leaves it out."""
    source_kind: str = ""
    """Kind of the source; "" lets it be recognised."""
    allow_outside: bool = False
    """Let a manifest name files outside of its own folder, which are then copied into the dataset."""

    def field_formats(self) -> dict[str, Format]:
        """The formats, parsed."""
        return {name: parse_format(text) for name, text in self.formats.items() if text != LEFT_OUT}

    def fields_left_out(self) -> frozenset[str]:
        """Image fields of the source that the dataset shall not have."""
        return frozenset(name for name, text in self.formats.items() if text == LEFT_OUT)

    def check_values(self) -> None:
        """Refuse what makes no sense."""
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
        """The members of a manifest's recipe."""
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
