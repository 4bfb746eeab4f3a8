"""Bad input does not make memory grow: a process that may hold little decodes every bad header there is."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.hostile.test_bad_input import CODECS

PROGRAM = """
import json, resource, sys
import penstock
from penstock.codecs import DecodeOptions, find
from tests.hostile.headers import HEADERS, claiming, photograph

codec, max_pixels, room = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
side = HEADERS[codec].max_side
data = claiming(codec, side, side)
find(codec).decode(HEADERS[codec].write(photograph()), DecodeOptions())  # whatever is loaded on first use
mapped = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (mapped + room, mapped + room))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    find(codec).decode(data, DecodeOptions(max_pixels=max_pixels))
    outcome = "decoded"
except penstock.CodecError as error:
    outcome = error.code
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps({"outcome": outcome, "grown_kib": after - before}))
"""


def decode_with_little_memory(codec: str, max_pixels: int, room_bytes: int) -> dict[str, int]:
    command = [sys.executable, "-c", PROGRAM, codec, str(max_pixels), str(room_bytes)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    result: dict[str, int] = json.loads(done.stdout)
    return result


@pytest.mark.parametrize("codec", CODECS)
def test_an_impossible_header_costs_no_memory(codec: str) -> None:
    result = decode_with_little_memory(codec, 2**20, 1 << 28)
    assert result["outcome"] == 340
    assert result["grown_kib"] < 4096


@pytest.mark.parametrize("codec", CODECS)
def test_running_out_of_memory_is_a_codec_error(codec: str) -> None:
    result = decode_with_little_memory(codec, 2**40, 1 << 28)
    assert 300 <= result["outcome"] < 400
    assert result["grown_kib"] < 1 << 18
