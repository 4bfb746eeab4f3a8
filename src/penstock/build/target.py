"""Conversion of a format to the target that the native core needs."""

from __future__ import annotations

from penstock import _native
from penstock.codecs import Format, Promise, find
from penstock.codecs.sluice import layer_bits
from penstock.errors import ArgumentError
from penstock.index import Role

KEEP_ANY = 101
"""Quality above the maximum, so that every JPEG is kept."""

RECODING = ("progressive", "optimize", "restart")


def check_format(format: Format) -> None:
    """Refuse formats that a build cannot write."""
    if format.codec in _native.codec_names() and find(format.codec).can_encode:
        if format.codec == "sluice":
            layer_bits(format)  # refuses bits without a second layer
        return
    raise ArgumentError(
        f"a dataset cannot hold '{format}'",
        where="format",
        fix="choose a codec of Penstock's own that writes: weir, png, jpeg, pjpeg, sluice, webp, l3, raw",
        code=130,
    )


Limit = tuple[int, int]
"""Largest longer and shorter side of an image; 0 for any."""


def keep_target(role: Role, *, check: bool, limit: Limit) -> _native.Target:
    """Make a target that keeps the source's bytes. An image that is too large is shrunk, to JPEG or else to PNG."""
    return _native.Target("", [], False, "", 0, False, role is Role.MASK, check, limit, role is not Role.IMAGE)


def target_of(format: Format, role: Role, *, check: bool, limit: Limit) -> _native.Target:
    """Make a target for a format: bytes are kept if possible, transcoded if no pixel changes, else encoded."""
    exact = find(format.codec).promise(format) is Promise.EXACT
    is_jpeg = format.codec in ("jpeg", "pjpeg")
    is_sluice = format.codec == "sluice"
    return _native.Target(
        format.codec,
        list(format.parameters),
        exact,
        "" if is_jpeg else _kept_variant(format),
        _kept_quality(format) if is_jpeg or is_sluice else 0,
        format.codec == "pjpeg" or is_sluice or (is_jpeg and any(format.get(word) for word in RECODING)),
        role is Role.MASK,
        check,
        limit,
        role is not Role.IMAGE,
    )


def is_trained(format: Format) -> bool:
    """Return whether a build trains tables for this format. Two layers use the tables that come with the codec."""
    return format.codec == "sluice" and format.get("tables") != "default" and format.get("layers") != "2"


def _kept_quality(format: Format) -> int:
    """Return the highest quality at which a JPEG is kept. The source's subsampling is not checked."""
    if format.codec in ("pjpeg", "sluice"):
        return KEEP_ANY  # its coefficients stay, whatever quality other sources get
    if format.get("subsampling") is not None:
        return 0
    quality = format.get("q")
    return KEEP_ANY if quality is None else int(quality)


def _kept_variant(format: Format) -> str:
    """Return the variant that a source of the same codec must have to be kept: "*" for any, "" for none."""
    if format.codec == "sluice":
        return "*"
    if format.codec == "weir":
        return format.get("variant") or ""
    if format.codec == "webp":
        return "lossless" if format.get("q") == "lossless" else ""
    is_plain = format.text == format.codec
    return "*" if is_plain else ""
