"""Profiles made by hand, whose best plans are known."""

from __future__ import annotations

import numpy as np

from penstock.profile import Dataset, Disk, FormatCosts, Measurement, Profile, SampledImage

MEGABYTE = 10**6


def make_profile(
    formats: dict[str, tuple[float, float]],
    *,
    source: str,
    disk: float,
    cores: int = 2,
    num_samples: int = 10_000,
    num_images: int = 50,
    spread: float = 0.0,
    compute: float | None = None,
    lossy: dict[str, float] | None = None,
) -> Profile:
    """Images of a million pixels, give or take `spread`; a format is (bytes per pixel, decode nanoseconds per pixel).

    `lossy` names the formats that lose something, with their MS-SSIM. Source bytes vary on their own, by `spread` too.
    """
    rng = np.random.default_rng(0)
    pixels = MEGABYTE * (1 + spread * rng.uniform(-1, 1, num_images))
    detail = 1 + spread * rng.uniform(-1, 1, num_images)
    costs = {}
    for name, (bytes_per_pixel, nanoseconds) in formats.items():
        size = pixels * bytes_per_pixel * (1 if name == "raw" else detail)
        ms_ssim = (lossy or {}).get(name, 1.0)
        costs[name] = FormatCosts(
            is_exact=ms_ssim == 1.0,
            bytes=np.round(size),
            decode_seconds=pixels * nanoseconds * 1e-9,
            encode_seconds=pixels * 20e-9,
            ms_ssim=np.full(num_images, ms_ssim),
            psnr=np.full(num_images, np.inf if ms_ssim == 1.0 else 35.0),
        )
    images = tuple(
        SampledImage(1000, max(1, round(count / 1000)), 3, 8, int(size))
        for count, size in zip(pixels, costs[source].bytes, strict=True)
    )
    return Profile(
        cpu="test",
        simd="portable",
        cores=cores,
        memory_bytes=8 * 2**30,
        scaling=((1, Measurement.exactly(1.0)), (cores, Measurement.exactly(float(cores)))) if cores > 1 else (),
        disk=Disk(Measurement.exactly(disk), Measurement.exactly(0.0), Measurement.exactly(0.0)),
        dataset=Dataset(num_samples, int(costs[source].bytes.mean() * num_samples), 10, source),
        images=images,
        formats=costs,
        compute=Measurement.exactly(compute) if compute is not None else None,
        compute_from="given" if compute is not None else "unknown",
    )
