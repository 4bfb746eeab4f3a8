"""Disk reads and memory of this process's control group. Uses only the standard library.

python -m bench.contenders.counting EPOCHS -- COMMAND…: lets a contender (`serving.py`) load epochs, in the group that
this process is in, and prints what each of them read.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

GROUPS = Path("/sys/fs/cgroup")


def group_of(controller: str) -> Path | None:
    """Return the folder of our own group; None without such a controller of version 1."""
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if controller in controllers.split(","):
            return GROUPS / controller / path.lstrip("/")
    return None


def disk_bytes() -> int | None:
    """Return the bytes that the group's processes have read; None if they are not counted."""
    group = group_of("blkio")
    if group is None or not (group / "blkio.throttle.io_service_bytes").exists():
        return None
    lines = (group / "blkio.throttle.io_service_bytes").read_text().splitlines()
    return sum(int(words[2]) for line in lines if len(words := line.split()) == 3 and words[1] == "Read")


def held_bytes() -> int | None:
    """Return the memory that the group's processes need: their own pages, and those of programs and libraries."""
    group = group_of("memory")
    if group is None:
        return None
    fields = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
    return int(fields["total_rss"]) + int(fields["total_mapped_file"])


def main(arguments: list[str]) -> None:
    """Print the epochs after the first, which warms up, as one JSON object per line."""
    epochs, command = int(arguments[0]), arguments[2:]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as contender:
        assert contender.stdin is not None
        assert contender.stdout is not None
        answer = contender.stdout.readline()
        for _ in range(epochs):
            if not answer:
                sys.exit("the contender ended")
            before = disk_bytes()
            contender.stdin.write("\n")
            contender.stdin.flush()
            answer = contender.stdout.readline()
            after, held = disk_bytes(), held_bytes()
            found = json.loads(answer)
            read = None if before is None or after is None else after - before
            sys.stdout.write(json.dumps({**found, "disk_bytes": read, "held_bytes": held}) + "\n")
            sys.stdout.flush()
        contender.stdin.close()


if __name__ == "__main__":
    main(sys.argv[1:])
