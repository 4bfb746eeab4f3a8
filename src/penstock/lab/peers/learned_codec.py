"""learned_codec.py FOLDER MODEL QUALITY: encodes and decodes NUMBER.png with CompressAI, one image at a time.

Runs in CompressAI's environment, without Penstock. Leaves NUMBER.out.png; prints bytes and seconds as JSON.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

import numpy as np
import torch
from PIL import Image


def main(folder: Path, model: str, quality: int) -> None:
    """Measure."""
    from compressai.zoo import models  # type: ignore[import-not-found]  # of another environment

    torch.set_num_threads(1)
    net = models[model](quality=quality, pretrained=True).eval()
    total = {"encoded_bytes": 0, "encode_seconds": 0.0, "decode_seconds": 0.0}
    for path in sorted(folder.glob("?????.png")):
        pixels = np.asarray(Image.open(path))
        height, width = pixels.shape[:2]
        padded = np.pad(pixels, ((0, -height % 64), (0, -width % 64), (0, 0)), mode="edge")
        batch = torch.from_numpy(padded).permute(2, 0, 1)[None].float() / 255
        begin = time.thread_time()
        with torch.no_grad():
            sent = net.compress(batch)
        total["encode_seconds"] += time.thread_time() - begin
        total["encoded_bytes"] += sum(len(text) for strings in sent["strings"] for text in strings)
        begin = time.thread_time()
        with torch.no_grad():
            back = net.decompress(sent["strings"], sent["shape"])["x_hat"]
        total["decode_seconds"] += time.thread_time() - begin
        image = (back[0].clamp(0, 1) * 255).round().byte().permute(1, 2, 0).numpy()[:height, :width]
        Image.fromarray(image).save(path.with_suffix(".out.png"))
    os.write(1, json.dumps(total).encode())


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
