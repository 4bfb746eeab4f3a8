"""FFCV's writer: a folder of images to a file of raw pixels. Prints the seconds, imports left aside."""

from __future__ import annotations

import sys
import time
from importlib import import_module
from pathlib import Path

import ffcv.writer  # noqa: F401  # its import is not timed

from bench.contenders.rival import LAB
from bench.contenders.serving import image_files

if __name__ == "__main__":
    sys.path.insert(0, str(LAB))
    rival = import_module("rivals.ffcv_beton")
    files = [(path, number) for number, path in enumerate(image_files(Path(sys.argv[1])))]
    begin = time.perf_counter()
    rival.write_beton(sys.argv[2], files)
    print(time.perf_counter() - begin)
