"""Encodes and decodes NUMBER.png with CompressAI, one by one.

learned_codec.py FOLDER MODEL QUALITY METRIC WEIGHTS

WEIGHTS: `published` (CompressAI downloads them), `untrained`, or a file with weights. Runs in CompressAI's environment,
without Penstock. Leaves NUMBER.out.png; prints bytes and seconds as JSON, or the reason why it cannot.
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


class CannotError(Exception):
    """Reason why this network cannot be measured."""


def main(folder: Path, network: tuple[str, int, str], weights: str) -> None:
    """Measure the network on a folder."""
    torch.set_num_threads(1)
    try:
        net = _network(*network, weights)
    except CannotError as reason:
        _say({"left_out": str(reason)})
        return
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


def _network(model: str, quality: int, metric: str, weights: str) -> Any:  # noqa: ANN401  # they have no common type
    from compressai.zoo import models  # type: ignore[import-not-found]  # of another environment

    if model not in models:
        raise CannotError(f"CompressAI has no {model}; it has {', '.join(models)}")
    try:
        net = models[model](quality=quality, metric=metric, pretrained=weights == "published").eval()
    except ValueError as reason:  # a quality or a metric that it has not
        raise CannotError(f"CompressAI does not make {model}: {reason}") from reason
    if weights not in ("published", "untrained"):
        _load(net, weights)
    net.update()  # the tables of its entropy coder, which follow from the weights
    return net


def _load(net: Any, path: str) -> None:  # noqa: ANN401  # as above
    """Load a state dict, or a checkpoint with one, as CompressAI's training example writes them."""
    from compressai.zoo.pretrained import load_pretrained  # type: ignore[import-not-found]  # of another environment

    try:
        held = torch.load(path, map_location="cpu", weights_only=True)
    except OSError:
        raise
    except Exception as reason:  # whatever reading makes of bytes that are something else
        raise CannotError(f"{path} is not a file of weights: {str(reason).splitlines()[0][:100]}") from reason
    found = held.get("state_dict", held) if isinstance(held, dict) else {}
    try:
        net.load_state_dict(load_pretrained(found))
    except (RuntimeError, AttributeError) as reason:
        missing = len(net.state_dict().keys() - found.keys())
        raise CannotError(f"{path} has weights of another network ({missing} of this one's are missing)") from reason


def _say(answer: dict[str, Any]) -> None:
    os.write(1, b"\n" + json.dumps(answer).encode())  # a line of its own: a download talks on this channel


if __name__ == "__main__":
    main(Path(sys.argv[1]), (sys.argv[2], int(sys.argv[3]), sys.argv[4]), sys.argv[5])
