"""Anonymous shared memory: values are sent as a file descriptor over a socket, and arrays are not copied.

A segment holds a pickle, followed by the memory of its arrays. A process that dies leaves nothing behind: the kernel
frees a segment with its last descriptor and mapping.
"""

from __future__ import annotations

import mmap
import os
import pickle
import socket
import struct
from typing import Any

ALIGNMENT = 64
_COUNT = struct.Struct("<QQ")


def new_segment(size: int) -> tuple[int, mmap.mmap]:
    """Allocate a segment of `size` bytes. Return its descriptor, which the caller closes, and its mapping."""
    descriptor = os.memfd_create("penstock", os.MFD_CLOEXEC)
    try:
        os.ftruncate(descriptor, size)
        return descriptor, mmap.mmap(descriptor, size)
    except BaseException:
        os.close(descriptor)
        raise


def map_segment(descriptor: int) -> mmap.mmap:
    """Map the memory of a descriptor and close the descriptor; the mapping keeps the memory."""
    try:
        return mmap.mmap(descriptor, os.fstat(descriptor).st_size)
    finally:
        os.close(descriptor)


def pack(value: object) -> tuple[int, int]:
    """Put a value into a new segment. Return its descriptor, which the caller closes, and its size."""
    buffers: list[pickle.PickleBuffer] = []
    data = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
    views = [buffer.raw() for buffer in buffers]
    sizes = [len(data), *(view.nbytes for view in views)]
    head = _COUNT.pack(len(sizes), 0) + struct.pack(f"<{len(sizes)}Q", *sizes)
    places = _places(len(head), sizes)
    total = places[-1] + sizes[-1]
    descriptor, memory = new_segment(total)
    parts: list[bytes | memoryview] = [data, *views]
    with memoryview(memory) as target:
        target[: len(head)] = head
        for place, size, view in zip(places, sizes, parts, strict=True):
            target[place : place + size] = view
    memory.close()
    return descriptor, total


def unpack(descriptor: int) -> Any:  # noqa: ANN401  # whatever was packed
    """Read the value of a segment and close its descriptor. Arrays stay in the segment's memory."""
    memory = memoryview(map_segment(descriptor))
    count, _ = _COUNT.unpack_from(memory)
    sizes = struct.unpack_from(f"<{count}Q", memory, _COUNT.size)
    places = _places(_COUNT.size + 8 * count, sizes)
    parts = [memory[place : place + size] for place, size in zip(places, sizes, strict=True)]
    return pickle.loads(parts[0], buffers=parts[1:])  # written by our own process


def send(channel: socket.socket, message: bytes, descriptors: list[int]) -> None:
    """Send a message with descriptors, and close the descriptors in any case."""
    try:
        socket.send_fds(channel, [message], descriptors)
    finally:
        for descriptor in descriptors:
            os.close(descriptor)


def receive(channel: socket.socket, size: int) -> tuple[bytes, list[int]]:
    """Receive a message of at most `size` bytes with its descriptors; empty if the other end is closed."""
    message, descriptors, _, _ = socket.recv_fds(channel, size, 4)
    return message, list(descriptors)


def _places(begin: int, sizes: Any) -> list[int]:  # noqa: ANN401  # a sequence of numbers
    places = []
    for size in sizes:
        begin = -(-begin // ALIGNMENT) * ALIGNMENT
        places.append(begin)
        begin += size
    return places
