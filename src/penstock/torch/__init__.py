"""Penstock for PyTorch; the only folder of the loader that imports torch."""

from penstock.torch.batch_decoding import decode_batch
from penstock.torch.fidelity_tuner import FidelityTuner, Probe
from penstock.torch.loader import Loader

__all__ = ["FidelityTuner", "Loader", "Probe", "decode_batch"]
