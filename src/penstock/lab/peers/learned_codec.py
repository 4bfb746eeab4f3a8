"""learned_codec.py FOLDER MODEL QUALITY WEIGHTS: encodes and decodes NUMBER.png with CompressAI, one image at a time.

WEIGHTS: `published` (CompressAI downloads them), `untrained`, or a file of them. Runs in CompressAI's environment,
without Penstock. Leaves NUMBER.out.png; prints bytes and seconds as JSON, or why the weights are not to be had.
"""

from __future__ import annotations

import json
import os
import sys
import time
import urllib.error
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image


def main(folder: Path, model: str, quality: int, weights: str) -> None:
    """Measure."""
    torch.set_num_threads(1)
    try:
        net = _network(model, quality, weights)
    except (urllib.error.URLError, OSError) as reason:
        _say({"no_weights": str(reason)})
        return
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
    _say(total)


def _network(model: str, quality: int, weights: str) -> Any:  # noqa: ANN401  # its networks have no common type
    from compressai.zoo import models  # type: ignore[import-not-found]  # of another environment
    from compressai.zoo.pretrained import load_pretrained  # type: ignore[import-not-found]  # likewise

    net = models[model](quality=quality, pretrained=weights == "published").eval()
    if weights not in ("published", "untrained"):
        net.load_state_dict(load_pretrained(torch.load(weights, map_location="cpu", weights_only=True)))
    net.update()  # the tables of its entropy coder, which follow from the weights
    return net


def _say(answer: dict[str, Any]) -> None:
    os.write(1, b"\n" + json.dumps(answer).encode())  # a line of its own: a download talks on this channel


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4])
