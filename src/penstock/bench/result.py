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
    """PSNR in dB; infinite for an image that was restored exactly."""
    ms_ssim: Spread


@dataclass(frozen=True, slots=True)
class FormatResult:
    """Result of a format on the images that it can hold."""

    format: str
    lossless: bool
    """True if the format is lossless; every image was then compared before timing."""
    threads: int
    num_images: int
    num_refused: int
    refusal: str
    """Reason why the first of them was refused."""
    pixel_bytes: int
    encoded_bytes: int
    encode: Speed | None
    """Speed of encoding; absent for stored files, and for a format that holds none of the images."""
    decode: Speed | None
    distortion: Distortion | None
    """Distortion of a lossy format; absent for a lossless one."""

    @property
    def ratio(self) -> float:
        """Bytes of raw pixels per encoded byte."""
        return self.pixel_bytes / self.encoded_bytes if self.encoded_bytes else 0.0
