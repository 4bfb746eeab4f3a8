"""Penstock for PyTorch: the folder that imports torch."""

from penstock.torch.decode import decode_batch
from penstock.torch.fidelity import FidelityTuner, Probe
from penstock.torch.loader import Loader

__all__ = ["FidelityTuner", "Loader", "Probe", "decode_batch"]
