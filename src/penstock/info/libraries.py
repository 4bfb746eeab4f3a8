"""Versions of libraries with known holes: what `penstock info` warns of. SECURITY.md lists the least versions."""

from __future__ import annotations

import re
from collections.abc import Mapping

WEBP_REPAIRED = (1, 3, 2)
"""The first version without CVE-2023-4863: a crafted lossless WebP writes past a table."""
WEBP_PACKAGES = ("1.2.4-0.2+deb12u1", "1.2.2-2ubuntu0.22.04.2", "1.2.4-0.1ubuntu0.23.04.2", "1.2.4-0.3ubuntu1")
"""Packages of older versions in which the distribution repaired it."""
JPEG_REPAIRED = (2, 1, 3)
"""The first version that crops rows and upsamples them plainly without writing past them."""


def warnings_of(versions: Mapping[str, str], webp_package: str) -> tuple[str, ...]:
    """Say which of these libraries should be updated; `webp_package` is the Debian version that was built with.

    >>> warnings_of({"libjpeg-turbo": "2.1.5", "libwebp": "1.2.4"}, "1.2.4-0.2+deb12u1")
    ()
    >>> warnings_of({"libjpeg-turbo": "3.0.4", "libwebp": "1.2.4"}, "")
    ('libwebp 1.2.4 may have CVE-2023-4863: decode no WebP from strangers, or build with libwebp 1.3.2 or later',)
    """
    found = []
    if _numbers(versions["libwebp"])[:3] < WEBP_REPAIRED and not _is_repaired(webp_package):
        found.append(
            f"libwebp {versions['libwebp']} may have CVE-2023-4863: decode no WebP from strangers, "
            "or build with libwebp 1.3.2 or later"
        )
    if _numbers(versions["libjpeg-turbo"])[:3] < JPEG_REPAIRED:
        found.append(
            f"libjpeg-turbo {versions['libjpeg-turbo']} overruns rows that are cropped with fast=True: "
            "they are decoded whole, which is slower; build with libjpeg-turbo 2.1.3 or later"
        )
    return tuple(found)


def _is_repaired(package: str) -> bool:
    """Whether it is one of those packages, or a later update in the same release of its distribution."""
    for repaired in WEBP_PACKAGES:
        same = re.split(r"\d+$", repaired)[0]
        if package.startswith(same) and _numbers(package[len(same) :])[:1] >= _numbers(repaired[len(same) :]):
            return True
    return False


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version))
