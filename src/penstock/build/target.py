"""From a format to what the native core must know to make a field's bytes of it."""

from __future__ import annotations

from penstock import _native
from penstock.codecs import Format, Promise, find
from penstock.errors import ArgumentError
from penstock.index import Role

KEEP_ANY = 101
"""A quality above all: every JPEG is at most this good."""

RECODING = ("progressive", "optimize", "restart")


def check_format(format: Format) -> None:
    """Refuse formats that a build cannot write."""
    if format.codec in _native.codec_names() and find(format.codec).can_encode:
        return
    raise ArgumentError(
        f"a dataset cannot hold '{format}'",
        where="format",
        fix="choose a codec of Penstock's own that writes: weir, png, jpeg, pjpeg, webp, l3, raw",
        code=130,
    )


Limit = tuple[int, int]
"""Longest and shortest side that an image may have; 0 for any."""


def keep_target(role: Role, *, check: bool, limit: Limit) -> _native.Target:
    """The source's bytes as they are; an image that is too large is shrunk, to a JPEG if it was one, else to a PNG."""
    return _native.Target("", [], False, "", 0, False, role is Role.MASK, check, limit, role is not Role.IMAGE)


def target_of(format: Format, role: Role, *, check: bool, limit: Limit) -> _native.Target:
    """The bytes in a format: kept where they are in it already, transcoded where no pixel changes, else encoded."""
    exact = find(format.codec).promise(format) is Promise.EXACT
    is_jpeg = format.codec in ("jpeg", "pjpeg")
    return _native.Target(
        format.codec,
        list(format.parameters),
        exact,
        "" if is_jpeg else _kept_variant(format),
        _kept_quality(format) if is_jpeg else 0,
        format.codec == "pjpeg" or (is_jpeg and any(format.get(word) for word in RECODING)),
        role is Role.MASK,
        check,
        limit,
        role is not Role.IMAGE,
    )


def _kept_quality(format: Format) -> int:
    """A JPEG of at most this quality is kept; a subsampling that was asked for is not looked for in the source."""
    if format.codec == "pjpeg":
        return KEEP_ANY  # its coefficients stay, whatever quality other sources get
    if format.get("subsampling") is not None:
        return 0
    quality = format.get("q")
    return KEEP_ANY if quality is None else int(quality)


def _kept_variant(format: Format) -> str:
    """The variant that a source of the same codec must have to be kept: "*" any, "" none."""
    if format.codec == "weir":
        return format.get("variant") or ""
    if format.codec == "webp":
        return "lossless" if format.get("q") == "lossless" else ""
    is_plain = format.text == format.codec
    return "*" if is_plain else ""
