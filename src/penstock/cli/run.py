"""One call of the command line, and its exit status: 0 done, 1 the job failed, 2 wrong usage, 130 interrupted.

Every error is printed as what, where and fix; a traceback is shown only on request.
"""

from __future__ import annotations

import os
import shlex
import sys
import traceback
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn, TextIO

import typer

from penstock.cli.app import app
from penstock.cli.output import Output, error_fields
from penstock.errors import ArgumentError, PenstockError, printable

DONE, FAILED, WRONG_USAGE, INTERRUPTED, BROKEN_PIPE = 0, 1, 2, 130, 141

# Typer does not export the base of its usage errors, and keeps it in another module in every version.
UsageError: type[Exception] = typer.BadParameter.__bases__[0]


def run(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit the process."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")  # a file name may hold any bytes
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            status = _status_of(words)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader has gone. Python would complain once more when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = BROKEN_PIPE
    except OSError as error:
        Output().error(_told(error, words))
        status = FAILED
    sys.exit(status)


def _status_of(words: list[str]) -> int:
    try:
        status = app(words, prog_name="penstock", standalone_mode=False)
    except SystemExit:  # how typer answers a broken pipe
        raise BrokenPipeError from None
    except (KeyboardInterrupt, typer.Abort):
        return INTERRUPTED
    except Exception as error:
        own = _own_words(words)
        if "--traceback" in own:
            sys.stderr.write(printable(traceback.format_exc()))
        out, told = Output(json="--json" in own), _told(error, words)
        out.error(told)
        out.result({"error": error_fields(told)})
        return WRONG_USAGE if isinstance(error, (UsageError, ArgumentError)) else FAILED
    return status if isinstance(status, int) else DONE


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Print a library's warning in our form, without its line of code."""
    Output().warn(str(message))


def _own_words(words: list[str]) -> list[str]:
    """Return the arguments before `--`; the rest belongs to the command that `doctor` runs."""
    return words[: words.index("--")] if "--" in words else words


def _told(error: Exception, words: list[str]) -> PenstockError:
    """Convert an error to what, where and fix."""
    if isinstance(error, PenstockError):
        return error
    if isinstance(error, UsageError):
        return _told_usage(error)
    if isinstance(error, OSError):
        return PenstockError(
            error.strerror or str(error) or type(error).__name__,
            where=os.fsdecode(error.filename) if error.filename else "input or output",
            fix="check that the path exists, that you may use it, and that the disk is not full",
        )
    if isinstance(error, MemoryError):
        return PenstockError("out of memory", where=_place_of(error), fix="use fewer or smaller images at once")
    again = shlex.join(["penstock", "--traceback", *words])
    return PenstockError(
        f"unexpected {type(error).__name__}: {error}",
        where=_place_of(error),
        fix=f"this is a mistake in Penstock: report it with what `{again}` prints",
    )


def _told_usage(error: Exception) -> PenstockError:
    message = error.format_message().rstrip(".") if hasattr(error, "format_message") else str(error)
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "penstock"
    return PenstockError(message[:1].lower() + message[1:], where=command, fix=f"see `{command} --help`", code=100)


def _place_of(error: Exception) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    return f"{Path(frames[-1].filename).name}, line {frames[-1].lineno}" if frames else "unknown"
