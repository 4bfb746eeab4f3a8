"""Joins control groups, then runs a command in place of itself.

python -m penstock.limits.join [--cores LIST] [GROUP…] -- COMMAND…

This is a separate process, because a group counts only the memory that is touched after joining.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path


def main(arguments: list[str]) -> int:
    """Join the groups and execute the command; return 127 if it does not exist, like a shell."""
    end = arguments.index("--")
    options, command = arguments[:end], arguments[end + 1 :]
    for option in options:
        if option.startswith("--cores="):
            os.sched_setaffinity(0, {int(core) for core in option.removeprefix("--cores=").split(",")})
        else:
            Path(option).write_text(str(os.getpid()))
    try:
        os.execvp(command[0], command)
    except OSError as error:
        os.write(2, f"{command[0]}: {error.strerror}\n".encode())
        return 127


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
