"""Parser for the text of formats and mixes, and the only place that reads it.

format   codec (":" item)*          weir:dense    jpeg:q=85:subsampling=420    pjpeg:groups=1+2+5+10
item     key "=" value | word
formats  format ("," format)*
mix      format "=" share ("," …)*  weir:fast=0.6,jpeg=0.4      split at the last "="
"""

from __future__ import annotations

import math

from penstock.codecs.contract import Codec
from penstock.codecs.format import Format
from penstock.codecs.table import find
from penstock.errors import ArgumentError


def parse_format(text: str) -> Format:
    """Parse the text of one format.

    >>> str(parse_format("raw"))
    'raw'
    """
    return format_of(find(text.strip().partition(":")[0]), text)


def format_of(codec: Codec, text: str) -> Format:
    """Parse the text of a format of this codec, which need not be registered.

    >>> str(format_of(find("raw"), "raw"))
    'raw'
    """
    name, *items = text.strip().split(":")
    if name != codec.name:
        raise ArgumentError(
            f"'{text}' is not a format of codec '{codec.name}'",
            where="format",
            fix=f"begin it with {codec.name}",
            code=130,
        )
    given: dict[str, str] = {}
    for item in items:
        key, value = _read_item(codec, item)
        if key in given:
            raise ArgumentError(f"format '{text}' sets {key} twice", where="format", fix=f"keep one {key}", code=130)
        given[key] = codec.parameters[key].canonical(key, value)
    return _finish(codec, given)


def parse_formats(text: str) -> list[Format]:
    """Parse formats that are separated by commas.

    >>> [str(f) for f in parse_formats("raw, raw")]
    ['raw', 'raw']
    """
    return [parse_format(part) for part in text.split(",") if part.strip()]


def parse_mix(text: str) -> dict[Format, float]:
    """Parse a mix, FORMAT=SHARE separated by commas. Shares are positive and add up to 1.

    >>> {str(f): share for f, share in parse_mix("raw=1").items()}
    {'raw': 1.0}
    """
    mix: dict[Format, float] = {}
    for part in text.split(","):
        format_text, separator, share_text = part.rpartition("=")
        try:
            share = float(share_text)
        except ValueError:
            separator, share = "", math.nan
        if not separator or not format_text or not 0 < share <= 1:
            raise ArgumentError(
                f"mix item '{part}' is not FORMAT=SHARE with a share above 0 and at most 1",
                where="mix",
                fix="for example weir:fast=0.6,jpeg=0.4",
                code=130,
            )
        format = parse_format(format_text)
        if format in mix:
            raise ArgumentError(f"mix names {format} twice", where="mix", fix="add its shares up", code=130)
        mix[format] = share
    total = math.fsum(mix.values())
    if abs(total - 1) > 1e-6:
        raise ArgumentError(f"shares add up to {total:g}, not 1", where="mix", fix="adjust a share", code=130)
    return mix


def _read_item(codec: Codec, item: str) -> tuple[str, str]:
    key, separator, value = item.partition("=")
    if separator and key in codec.parameters:
        return key, value
    if not separator:
        for name, parameter in codec.parameters.items():
            if item in parameter.bare:
                return name, item
    words = [word for parameter in codec.parameters.values() for word in parameter.bare]
    keys = [f"{name}=…" for name, parameter in codec.parameters.items() if name not in parameter.bare]
    known = ", ".join(dict.fromkeys(words + keys)) or "no parameters"
    raise ArgumentError(
        f"codec '{codec.name}' has no parameter '{item}'",
        where="format",
        fix=f"{codec.name} takes {known}",
        code=130,
    )


def _finish(codec: Codec, given: dict[str, str]) -> Format:
    values: list[tuple[str, str]] = []
    spelled = [codec.name]
    for key, parameter in codec.parameters.items():
        value = given.get(key, parameter.default)
        if value is None:
            continue
        values.append((key, value))
        if value in parameter.bare:
            spelled.append(value)
        elif value == "true" and key in parameter.bare:
            spelled.append(key)
        elif value != parameter.default:
            spelled.append(f"{key}={value}")
    return Format(codec.name, tuple(values), ":".join(spelled))
