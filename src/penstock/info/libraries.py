"""Library versions with known vulnerabilities, for warnings of `penstock info`. SECURITY.md lists minimum versions."""

from __future__ import annotations

import re
from collections.abc import Mapping

WEBP_REPAIRED = (1, 3, 2)
"""First version without CVE-2023-4863, by which a crafted lossless WebP writes past a table."""
WEBP_PACKAGES = ("1.2.4-0.2+deb12u1", "1.2.2-2ubuntu0.22.04.2", "1.2.4-0.1ubuntu0.23.04.2", "1.2.4-0.3ubuntu1")
"""Packages of older versions in which the distribution fixed it."""
JPEG_REPAIRED = (2, 1, 3)
"""First version that crops rows with fast upsampling without writing past their end."""


def warnings_of(versions: Mapping[str, str], webp_package: str) -> tuple[str, ...]:
    """List the libraries that should be updated; `webp_package` is the Debian version at build time.

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
    """Return whether a package has the fix: one of the listed versions, or a later update in the same release."""
    for repaired in WEBP_PACKAGES:
        same = re.split(r"\d+$", repaired)[0]
        if package.startswith(same) and _numbers(package[len(same) :])[:1] >= _numbers(repaired[len(same) :]):
            return True
    return False


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version))
