"""Options that take one of a few words: `--help` names each of them, and so does the refusal of another."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import typer.main

import penstock
from penstock.build import build
from penstock.cli.app import app
from penstock.export.exporting import LAYOUTS
from penstock.load.cache_layout import CHOICES as KEPT
from penstock.load.loader_options import CACHES, DECODES, POLICIES
from penstock.profile import write_profile
from penstock.sources import SOURCES
from penstock.synth.scenes import VARIANTS
from penstock.transforms.named import NAMED
from tests.unit.plan.conftest import make_profile

if TYPE_CHECKING:
    from tests.unit.cli.conftest import Call

CHOICES: dict[tuple[str, str], Iterable[object]] = {
    ("auto", "--transform"): NAMED,
    ("bench loader", "--cache"): CACHES,
    ("bench loader", "--cache-format"): KEPT,
    ("bench loader", "--decode"): DECODES,
    ("bench loader", "--on-error"): POLICIES,
    ("bench loader", "--transform"): NAMED,
    ("build", "--on-error"): ("fail", "skip"),
    ("build", "--source"): [source.kind for source in SOURCES],
    ("codec decode", "--scale"): (1, 2, 4, 8),
    ("doctor", "--transform"): NAMED,
    ("export", "--as"): LAYOUTS,
    ("plan", "--method"): ("lp", "liquid"),
    ("profile", "--transform"): NAMED,
    ("synth", "--bits"): (8, 16),
    ("synth", "--variant"): VARIANTS,
}
OPEN = {
    *("--format", "--formats", "--image-format", "--mix", "--field"),  # formats, whose errors say what exists
    *("--memory", "--storage-limit", "--shard-size", "--disk", "--window", "--emulate"),  # bytes and rates
    *("--plan", "--data", "--report", "--out", "--on"),  # paths
    *("--size", "--region", "--compute-rate", "--cores", "--min-ms-ssim", "--max-pixels"),  # numbers
    *("--split", "--step", "--set"),  # names that the user's data or program has
}
"""Options of any command that take more than a few words."""


def options_of(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, str, Any]]:  # noqa: ANN401  # click's
    """Each option that takes a value, with its command's name."""
    for parameter in command.params:
        if parameter.param_type_name == "option" and not parameter.is_flag:
            yield " ".join(path), parameter.opts[0], parameter
    for name, child in getattr(command, "commands", {}).items():
        yield from options_of(child, (*path, name))


OPTIONS = {(command, name): option for command, name, option in options_of(typer.main.get_command(app))}


def call_of(command: str, folder: Path) -> list[str]:
    """The shortest call of a command that gets as far as its options."""
    images = folder / "images"
    images.mkdir()
    for number in range(3):
        pixels = np.full((8, 8, 3), number, np.uint8)
        (images / f"{number}.png").write_bytes(penstock.encode(pixels, "png"))
    words: dict[str, list[str | Path]] = {
        "auto": [images, folder / "out.pen", "--sample", "2"],
        "bench loader": [images],
        "build": [images, folder / "out.pen", "--format", "png"],
        "codec decode": [folder / "photo.jpg", folder / "out.png"],
        "doctor": ["--data", images, "--", "true"],
        "export": [folder / "in.pen", folder / "out"],
        "plan": [folder / "profile.json", "--out", folder / "plan.json"],
        "profile": [images, "--out", folder / "profile.json", "--sample", "2"],
        "synth": [folder / "out"],
    }
    if command == "codec decode":  # of a codec that has all scales
        (folder / "photo.jpg").write_bytes(penstock.encode(pixels, "jpeg"))
    if command == "export":
        build(images, folder / "in.pen", mix="png=1")
    if command == "plan":
        profile = make_profile({"png": (1.0, 20.0)}, source="png", disk=1e9)
        (folder / "profile.json").write_bytes(write_profile(profile))
    return [str(word) for word in words[command]]


def test_every_option_has_few_words_or_many() -> None:
    counted = {key for key, option in OPTIONS.items() if option.min is not None}
    unknown = {key for key in OPTIONS if key not in CHOICES and key not in counted and key[1] not in OPEN}

    assert not unknown
    assert set(CHOICES) <= set(OPTIONS)


@pytest.mark.parametrize("key", CHOICES, ids=" ".join)
def test_help_names_every_choice(key: tuple[str, str]) -> None:
    option = OPTIONS[key]
    words = set(re.findall(r"[\w:]+", f"{option.metavar} {option.help}"))

    assert {str(choice) for choice in CHOICES[key]} <= {word.removesuffix(":") for word in words}


@pytest.mark.parametrize("key", CHOICES, ids=" ".join)
def test_another_word_is_refused_with_every_choice(key: tuple[str, str], cli: Call, tmp_path: Path) -> None:
    command, option = key
    other = "3" if all(isinstance(choice, int) for choice in CHOICES[key]) else "another"

    answer = cli(*command.split(), option, other, *call_of(command, tmp_path))

    assert answer.status in (1, 2)
    assert other in answer.stderr
    fix = answer.stderr.rpartition("fix:")[2]
    assert {str(choice) for choice in CHOICES[key]} <= {word.rstrip(":") for word in re.findall(r"[\w:]+", fix)}
