"""Small real models that train on a few cores in minutes, and a way to name any other."""

from penstock.torch.models.named import MODELS, make_model

__all__ = ["MODELS", "make_model"]
