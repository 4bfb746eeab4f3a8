"""Penstock for JAX; imports jax when a loader is made."""

from penstock.jax.loader import Loader

__all__ = ["Loader"]
