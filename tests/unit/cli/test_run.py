"""Exit status, errors and streams of every call."""

from __future__ import annotations

import subprocess
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import typer.main

import penstock
from penstock.cli import info_command as info
from penstock.cli.app import app
from penstock.errors import ArgumentError, CodecError

if TYPE_CHECKING:
    from tests.unit.cli.conftest import Call


def command_paths(command: object, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """Every command and group, as the words that name it."""
    paths = [path]
    for name, child in getattr(command, "commands", {}).items():
        paths += command_paths(child, (*path, name))
    return paths


COMMANDS = command_paths(typer.main.get_command(app))
LEAVES = [path for path in COMMANDS if not any(other[:-1] == path for other in COMMANDS if other)]


def raising(error: BaseException) -> object:
    def fail() -> None:
        raise error

    return fail


def test_alone_it_shows_its_help_and_says_that_nothing_ran(cli: Call) -> None:
    answer = cli()

    assert answer.status == 2
    assert answer.stdout == ""
    assert "Commands:" in answer.stderr


def test_version_is_the_packages(cli: Call) -> None:
    assert cli("--version").stdout == f"penstock {penstock.__version__}\n"


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_every_command_has_help(cli: Call, path: tuple[str, ...]) -> None:
    answer = cli(*path, "--help")

    assert answer.status == 0
    assert answer.stdout.startswith("Usage: penstock")
    assert answer.stdout.endswith("\n")
    assert answer.stderr == ""


@pytest.mark.parametrize("path", LEAVES, ids=" ".join)
def test_every_command_has_examples_and_json(cli: Call, path: tuple[str, ...]) -> None:
    text = cli(*path, "--help").stdout

    assert f"  penstock {' '.join(path)}" in text.partition("Examples:")[2]
    assert "--json" in text


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_an_unknown_option_is_wrong_usage(cli: Call, path: tuple[str, ...]) -> None:
    answer = cli(*path, "--no-such-option")

    assert answer.status == 2
    assert answer.stdout == ""
    assert answer.stderr.startswith("error: no such option: --no-such-option")
    assert f"fix:   see `{' '.join(('penstock', *path))} --help`" in answer.stderr


def test_a_misspelled_command_is_guessed(cli: Call) -> None:
    answer = cli("inof")

    assert answer.status == 2
    assert "Did you mean 'info'?" in answer.stderr


def test_an_error_is_told_as_what_where_and_fix(cli: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(info, "environment", raising(CodecError("it broke", where="byte 7", fix="mend it", code=320)))

    answer = cli("info")

    assert answer.status == 1
    assert answer.stderr == "error: it broke\n  where: byte 7\n  fix:   mend it\n"


def test_an_error_is_an_object_when_json_was_asked_for(cli: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(info, "environment", raising(ArgumentError("it broke", where="here", fix="mend it", code=130)))

    answer = cli("info", "--json")

    assert answer.status == 2
    assert answer.json == {"error": {"what": "it broke", "where": "here", "fix": "mend it", "code": 130}}
    assert "it broke" in answer.stderr


def test_an_unexpected_error_says_how_to_see_its_traceback(cli: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(info, "environment", raising(ZeroDivisionError("division by zero")))

    answer = cli("info")

    assert answer.status == 1
    assert "error: unexpected ZeroDivisionError: division by zero" in answer.stderr
    assert "penstock --traceback info" in answer.stderr
    assert "Traceback" not in answer.stderr


def test_a_traceback_is_shown_when_asked_for(cli: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(info, "environment", raising(ZeroDivisionError("division by zero")))

    assert "Traceback (most recent call last)" in cli("--traceback", "info").stderr


def test_an_interrupt_is_quiet(cli: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(info, "environment", raising(KeyboardInterrupt()))

    answer = cli("info")

    assert (answer.status, answer.stdout, answer.stderr) == (130, "", "")


def test_a_reader_that_leaves_early_is_no_error() -> None:
    words = [sys.executable, "-m", "penstock", "info"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(60) == 141


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_an_output_that_cannot_be_written_is_an_error() -> None:
    with Path("/dev/full").open("w") as full:
        words = [sys.executable, "-m", "penstock", "info"]
        done = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False)

    assert done.returncode == 1
    assert done.stderr.startswith("error: No space left on device")
    assert "Exception ignored" not in done.stderr


def test_a_warning_of_a_library_is_shown_in_our_form(cli: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    def environment() -> None:
        warnings.warn("plug-in 'x' could not be loaded", RuntimeWarning, stacklevel=2)
        raise CodecError("it broke")

    monkeypatch.setattr(info, "environment", environment)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        answer = cli("info")

    assert answer.stderr == "warning: plug-in 'x' could not be loaded\nerror: it broke\n"


def test_what_follows_two_dashes_is_not_ours(cli: Call) -> None:
    answer = cli("info", "--", "--json")

    assert answer.status == 1
    assert "where: --json" in answer.stderr
    assert answer.stdout == ""
