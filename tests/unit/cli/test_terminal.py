"""What a user sees in a terminal, a pipe and with odd names: bars, colours, widths."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

import penstock
from penstock.cli.output import Output, as_json, new_table

if TYPE_CHECKING:
    from tests.unit.cli.conftest import Call


def in_a_terminal(*words: str | Path, columns: int = 80, **environment: str) -> str:
    """What `penstock` shows in a terminal of so many columns."""
    ours, theirs = pty.openpty()
    env = {**os.environ, "TERM": "xterm-256color", "COLUMNS": str(columns), **environment}
    command = [sys.executable, "-m", "penstock", *map(str, words)]
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=env):
        os.close(theirs)
        shown = b""
        try:
            while piece := os.read(ours, 65536):
                shown += piece
        except OSError:  # how Linux says that the other side of a terminal is closed
            pass
    os.close(ours)
    return shown.decode()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.raw").write_bytes(penstock.encode(np.zeros((64, 64, 3), np.uint8), "raw"))
    return tmp_path


def test_a_terminal_gets_a_bar_that_goes_away(folder: Path) -> None:
    shown = in_a_terminal("bench", "codecs", folder, "--formats", "raw", "--repeats", "2")

    assert "timing" in shown
    assert "timing" not in shown.rpartition("\x1b[2K")[2]
    assert "exact" in shown


def test_no_color_leaves_no_colour_in_a_terminal(tmp_path: Path) -> None:
    assert "\x1b[1;31merror: " in in_a_terminal("info", tmp_path / "missing")
    assert "\x1b[" not in in_a_terminal("info", tmp_path / "missing", NO_COLOR="1")


def test_a_narrow_terminal_cuts_no_figure(folder: Path) -> None:
    shown = in_a_terminal("info", folder / "a.raw", columns=20)

    assert str(folder / "a.raw") in shown
    assert "12,320" in shown
    assert "…" not in shown


def test_a_pipe_gets_no_bar(shell: Call, folder: Path) -> None:
    answer = shell("bench", "codecs", folder, "--formats", "raw", "--repeats", "1", FORCE_COLOR="1", TTY_COMPATIBLE="1")

    assert answer.stderr == ""
    assert "\x1b" not in answer.stdout


def test_a_file_name_may_hold_any_bytes(cli: Call, folder: Path) -> None:
    odd = os.fsdecode(os.fsencode(folder) + b"/caf\xe9 [bold].raw")
    (folder / "a.raw").rename(odd)

    assert "caf\\udce9 [bold].raw" in cli("info", odd).stdout
    images = cli("info", odd, "--json").json["images"]
    assert isinstance(images, list)
    assert images[0]["path"] == odd


def test_an_ascii_terminal_gets_no_exception(shell: Call, folder: Path) -> None:
    answer = shell("info", folder / "a.raw", PYTHONIOENCODING="ascii")

    assert answer.status == 0
    assert "64\\xd764\\xd73" in answer.stdout


def test_messages_and_tables_leave_stdout_to_json(capsys: pytest.CaptureFixture[str]) -> None:
    out = Output(json=True)
    out.show("a finding")
    out.message("a message")
    out.warn("a warning")
    out.result({"answer": 42})

    captured = capsys.readouterr()
    assert captured.out == '{\n  "answer": 42\n}\n'
    assert captured.err == "a finding\na message\nwarning: a warning\n"


def test_without_json_a_result_is_silent(capsys: pytest.CaptureFixture[str]) -> None:
    out = Output()
    out.show("a finding")
    out.result({"answer": 42})

    assert capsys.readouterr().out == "a finding\n"


@dataclass
class Value:
    path: Path
    share: float


def test_json_holds_what_people_return_and_null_for_what_is_no_number() -> None:
    assert as_json({"a": Value(Path("x"), float("inf")), 1: (2, float("nan"))}) == (
        '{\n  "a": {\n    "path": "x",\n    "share": null\n  },\n  "1": [\n    2,\n    null\n  ]\n}'
    )


def test_names_cannot_command_the_terminal(tmp_path: Path) -> None:
    evil = "a\x1b]0;owned\x07\x1b[2J\x9b31mall is well\u202e.png"
    (tmp_path / "img").mkdir()
    (tmp_path / "img" / evil).write_bytes(b"\x89PNG\r\n\x1a\nbroken")

    shown = in_a_terminal("build", tmp_path / "img", tmp_path / "o.pen", "--mix", "raw=1")
    found = in_a_terminal("info", tmp_path / "img" / evil)

    for text in (shown, found):
        assert "all is well" in text
        assert "\\x1b]0;owned" in text
        assert not any(sequence in text for sequence in ("\x1b]0;", "\x1b[2J", "\x9b", "\u202e"))


def test_errors_and_tables_show_control_characters(capsys: pytest.CaptureFixture[str]) -> None:
    error = penstock.PenstockError("it broke: \x1b[2J", where="a\x1b]0;x\x07", fix="look\nhere")
    table = new_table("name")
    table.add_row("\x1b[31mred")

    Output().error(error)
    Output().show(table, "\x1b[8mhidden")

    out, err = capsys.readouterr()
    assert "\x1b" not in out + err + str(error)
    assert str(error) == "it broke: \\x1b[2J\n  where: a\\x1b]0;x\\x07\n  fix:   look\nhere"
    assert "\\x1b[31mred" in out
