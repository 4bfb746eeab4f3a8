"""Penstock for PyTorch: the folder that imports torch."""

from penstock.torch.decode import decode_batch

__all__ = ["decode_batch"]
