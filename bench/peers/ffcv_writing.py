"""FFCV's writer: a folder of images to a file of raw pixels. Prints the seconds, imports left aside."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from ffcv.fields import IntField, RGBImageField
from ffcv.writer import DatasetWriter

from bench.peers.ffcv_beton import PAGE_BYTES, Images
from bench.peers.serving import image_files

if __name__ == "__main__":
    images = Images(image_files(Path(sys.argv[1])))
    begin = time.perf_counter()
    fields = {"image": RGBImageField(write_mode="raw"), "label": IntField()}
    DatasetWriter(sys.argv[2], fields, num_workers=2, page_size=PAGE_BYTES).from_indexed_dataset(images)
    print(time.perf_counter() - begin)
