"""Bytes that another thread writes to while they are decoded: an error or pixels, and no write past the output."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import struct, threading, time, zlib
import penstock

def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

def header(width):
    return chunk(b"IHDR", struct.pack(">IIBBBBB", width, 8, 8, 0, 0, 0, 0))

# Many chunks between header and pixels: time for a header to change after it was looked at.
small, large = header(8), header(60000)
pixels = zlib.compress(b"".join(b"\\0" + b"A" * 60000 for _ in range(8)))
rest = chunk(b"tEXt", b"k\\0") * 20_000 + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")
data = bytearray(b"\\x89PNG\\r\\n\\x1a\\n" + small + rest)
ended = threading.Event()

def write():
    while not ended.is_set():
        for content in (small, large):
            data[8 : 8 + len(small)] = content
            time.sleep(0.0002)

writer = threading.Thread(target=write)
writer.start()
refused = 0
kept = []
try:
    for _ in range(3000):
        if refused >= 20:
            break
        try:
            kept.append(penstock.decode(data))
        except penstock.CodecError as error:
            refused += "changed" in error.what
        del kept[:-20]
finally:
    ended.set()
    writer.join()
print(refused)
"""


def test_a_png_whose_size_changes_is_refused() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 0, "the header never changed between both looks"
