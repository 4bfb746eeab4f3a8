"""torchvision, timm and albumentations themselves: found in the folder that `scripts.setup vision` fills.

PyPI's torchvision is built for CUDA, and beside a torch for CPUs its native part does not load: two operators that its
Python part asks for are declared here, before it is imported. Nothing of the transforms needs them.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import torch

FOLDER = Path(sys.prefix) / "vision"


def _declare() -> torch.library.Library:
    library = torch.library.Library("torchvision", "DEF")  # type: ignore[no-untyped-call]
    for name in ("nms", "qnms"):
        library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")  # type: ignore[no-untyped-call]
    return library


if str(FOLDER) not in sys.path:
    assert FOLDER.is_dir(), f"{FOLDER} is missing: make setup"
    sys.path.append(str(FOLDER))
_LIBRARY = _declare()


class Prepared:
    """Does nothing, but where it is loaded the packages can be imported: the first function of chains for workers."""

    _penstock_takes = "still image"

    def __call__(self, image: Any) -> Any:  # noqa: ANN401  # whatever the chain holds
        return image
