"""Makes the kernel refuse system calls to this process, for good: what a container's filter does. x86-64 Linux."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Sequence

LOAD, JUMP_EQUAL, JUMP_SET, RETURN = 0x20, 0x15, 0x45, 0x06
ALLOW, ERROR = 0x7FFF0000, 0x00050000
NO_NEW_PRIVILEGES, SECCOMP, FILTER = 38, 22, 2
NUMBER_AT, THIRD_ARGUMENT_AT = 0, 32

IO_URING_SETUP, OPENAT = 425, 257
O_DIRECT = 0o40000

Instruction = tuple[int, int, int, int]


def refuse_io_uring() -> None:
    """Let io_uring_setup fail with EPERM."""
    _install(
        [(LOAD, 0, 0, NUMBER_AT), (JUMP_EQUAL, 0, 1, IO_URING_SETUP), (RETURN, 0, 0, ERROR | 1), (RETURN, 0, 0, ALLOW)]
    )


def refuse_direct_reads() -> None:
    """Let openat fail with EINVAL when it asks for O_DIRECT, as a file system without it does."""
    _install(
        [
            (LOAD, 0, 0, NUMBER_AT),
            (JUMP_EQUAL, 0, 3, OPENAT),
            (LOAD, 0, 0, THIRD_ARGUMENT_AT),
            (JUMP_SET, 0, 1, O_DIRECT),
            (RETURN, 0, 0, ERROR | 22),
            (RETURN, 0, 0, ALLOW),
        ]
    )


def _install(program: Sequence[Instruction]) -> None:
    code = b"".join(struct.pack("HBBI", *instruction) for instruction in program)
    text = ctypes.create_string_buffer(code, len(code))
    filter_program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(program), ctypes.addressof(text)))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0) != 0 or libc.prctl(SECCOMP, FILTER, filter_program, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "the kernel takes no filter")
