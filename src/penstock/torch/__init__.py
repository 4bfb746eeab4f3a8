"""Penstock for PyTorch: the folder that imports torch."""

from penstock.torch.decode import decode_batch
from penstock.torch.loader import Loader

__all__ = ["Loader", "decode_batch"]
