"""Which versions of libraries are warned of."""

from __future__ import annotations

import pytest

from penstock import _native
from penstock.info.libraries import warnings_of


@pytest.mark.parametrize(
    ("webp", "package", "is_warned_of"),
    [
        ("1.3.2", "", False),
        ("1.6.0", "", False),
        ("1.3.1", "", True),
        ("1.2.4", "", True),
        ("1.2.4", "1.2.4-0.2", True),
        ("1.2.4", "1.2.4-0.2+deb12u1", False),
        ("1.2.4", "1.2.4-0.2+deb12u2", False),
        ("1.2.2", "1.2.2-2ubuntu0.22.04.1", True),
        ("1.2.2", "1.2.2-2ubuntu0.22.04.2", False),
    ],
)
def test_libwebp_is_warned_of_unless_it_was_repaired(webp: str, package: str, is_warned_of: bool) -> None:
    warnings = warnings_of({"libjpeg-turbo": "3.0.4", "libwebp": webp}, package)

    assert any("CVE-2023-4863" in warning for warning in warnings) == is_warned_of


@pytest.mark.parametrize(("jpeg", "is_warned_of"), [("2.1.2", True), ("2.1.3", False), ("3.0.0", False)])
def test_libjpeg_turbo_is_warned_of(jpeg: str, is_warned_of: bool) -> None:
    assert bool(warnings_of({"libjpeg-turbo": jpeg, "libwebp": "1.6.0"}, "")) == is_warned_of


def test_the_package_of_libwebp_agrees_with_its_version() -> None:
    package = _native.webp_package()

    assert package == "" or package.startswith(dict(_native.library_versions())["libwebp"])
