"""Measurements of a format."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.bench.spread import Spread


@dataclass(frozen=True, slots=True)
class Speed:
    """Speed of a job over the repeats. Megabytes are millions of bytes of raw pixels."""

    megabytes_per_second: Spread
    images_per_second: Spread
    cpu_seconds: Spread
    """One pass over the images, all threads together."""
    wall_seconds: Spread
    """One pass over the images."""


@dataclass(frozen=True, slots=True)
class Distortion:
    """Difference between decoded and original images."""

    psnr: Spread
    """In dB; infinite for an image that came back exactly."""
    ms_ssim: Spread


@dataclass(frozen=True, slots=True)
class FormatResult:
    """Result of a format on the images that it can hold."""

    format: str
    lossless: bool
    """Whether the format promises to be; if so, every image was compared before anything was timed."""
    threads: int
    num_images: int
    num_refused: int
    refusal: str
    """Why the first of them was refused."""
    pixel_bytes: int
    encoded_bytes: int
    encode: Speed | None
    """None for files as they are stored, and for a format that holds none of the images."""
    decode: Speed | None
    distortion: Distortion | None
    """None for a lossless format."""

    @property
    def ratio(self) -> float:
        """Bytes of raw pixels per encoded byte."""
        return self.pixel_bytes / self.encoded_bytes if self.encoded_bytes else 0.0
