"""The loaders by name; each is imported when it is first asked for, and says what is missing."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec

from penstock.lab.jobs.contract import LeftOut
from penstock.lab.loaders.contract import LabLoader, LoaderSpec

LOADERS = {
    "dali": ("dali", "nvidia.dali"),
    "ffcv": ("ffcv_beton", "ffcv"),
    "penstock": ("ours", ""),
    "synthetic": ("synthetic", ""),
    "torch": ("torch_pillow", "torch"),
}
"""Name: its module here, and the package that it needs."""


def open_loader(name: str, spec: LoaderSpec) -> LabLoader:
    """Open a loader; `LeftOut` if its package is not installed."""
    module, package = LOADERS[name]
    if package and not _is_installed(package):
        raise LeftOut(f"{package} is not installed")
    opened: LabLoader = import_module(f"penstock.lab.loaders.{module}").open_loader(spec)
    return opened


def _is_installed(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except ModuleNotFoundError:  # of the package around it
        return False
