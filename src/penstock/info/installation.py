"""Summary of an installation: versions, processor, memory, codecs and plug-ins."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points

from penstock import _native
from penstock.codecs import Codec, Promise, find, names, parse_format
from penstock.codecs.table import BUILTIN, ENTRY_POINT_GROUP, plug_ins
from penstock.info.libraries import warnings_of
from penstock.machine import Machine, this_machine
from penstock.version import __version__


@dataclass(frozen=True, slots=True)
class CodecSummary:
    """Facts about a codec that a user needs."""

    name: str
    extensions: tuple[str, ...]
    can_encode: bool
    lossless: bool
    """True if the format without parameters is lossless."""
    parameters: tuple[str, ...]
    """Parameters that may follow the name: words, and keys such as `q=…`."""
    built_in: bool


@dataclass(frozen=True, slots=True)
class PlugIn:
    """Entry point of an installed package."""

    name: str
    package: str
    target: str
    status: str
    """Status of the plug-in: "in use", or the reason why it is not."""


@dataclass(frozen=True, slots=True)
class Environment:
    """Facts that `penstock info` prints."""

    version: str
    python: str
    machine: Machine
    libraries: dict[str, str]
    codecs: tuple[CodecSummary, ...]
    plug_ins: tuple[PlugIn, ...]
    warnings: tuple[str, ...]
    """Libraries that should be updated, and why."""


def environment() -> Environment:
    """Describe this installation and this machine."""
    libraries = dict(_native.library_versions())
    return Environment(
        version=__version__,
        python=f"{platform.python_implementation()} {platform.python_version()}",
        machine=this_machine(),
        libraries=libraries,
        codecs=tuple(_summary(find(name)) for name in names()),
        plug_ins=tuple(_plug_ins()),
        warnings=warnings_of(libraries, _native.webp_package()),
    )


def _summary(codec: Codec) -> CodecSummary:
    words: list[str] = []
    for key, parameter in codec.parameters.items():
        words += parameter.bare or (f"{key}=…",)
    return CodecSummary(
        name=codec.name,
        extensions=codec.extensions,
        can_encode=codec.can_encode,
        lossless=codec.promise(parse_format(codec.name)) is Promise.EXACT,
        parameters=tuple(words),
        built_in=codec in BUILTIN,
    )


def _plug_ins() -> list[PlugIn]:
    found = []
    for point in entry_points(group=ENTRY_POINT_GROUP):
        package = f"{point.dist.name} {point.dist.version}" if point.dist else "unknown package"
        found.append(PlugIn(point.name, package, point.value, _status_of(point)))
    return found


def _status_of(point: EntryPoint) -> str:
    try:
        codec = point.load()
    except Exception as error:  # a module of a third party may raise anything
        return f"not loaded: {type(error).__name__}: {error}"
    if not isinstance(codec, Codec):
        return f"not used: {point.value} is no codec"
    return "in use" if codec in plug_ins() else "not used: its name is taken"
