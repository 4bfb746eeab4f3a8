"""The same batches without PyTorch: NumPy arrays.

python -m examples.numpy_loop FOLDER|DATASET
"""

from __future__ import annotations

import sys

import numpy as np

import penstock
from penstock.transforms import CenterCrop, Resize


def main(path: str) -> tuple[float, float]:
    """Compute mean and deviation of all pixels over one epoch."""
    total, squares, count = 0.0, 0.0, 0
    with penstock.Loader(path, batch_size=64, shuffle=False, transform=[Resize(72), CenterCrop(64)]) as loader:
        for batch in loader:
            pixels = batch["image"].astype(np.float64) / 255
            total += pixels.sum()
            squares += np.square(pixels).sum()
            count += pixels.size
    mean = total / count
    deviation = float(np.sqrt(squares / count - mean**2))
    print(f"mean {mean:.3f}, deviation {deviation:.3f}")
    return mean, deviation


if __name__ == "__main__":
    main(sys.argv[1])
