"""List the loaders of the lab by name; each is imported when it is first opened."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec

from penstock.lab.jobs.contract import LeftOut
from penstock.lab.loaders.contract import LabLoader, LoaderSpec

OWN = {"penstock": "ours", "synthetic": "synthetic"}
"""Name and module of `penstock.lab.loaders`."""

RIVALS = {
    "dali": ("dali", "nvidia.dali"),
    "ffcv": ("ffcv_beton", "ffcv"),
    "tfdata": ("tfdata", "tensorflow"),
    "torch": ("torch_dataloader", "torch"),
}
"""Name, module of `penstock.lab.rivals`, and the package that it needs."""

LOADERS = tuple(sorted((*OWN, *RIVALS)))


def open_loader(name: str, spec: LoaderSpec) -> LabLoader:
    """Open a loader; `LeftOut` if its package is not installed or it cannot do what the spec asks for."""
    if name in OWN:
        opened: LabLoader = import_module(f"penstock.lab.loaders.{OWN[name]}").open_loader(spec)
        return opened
    module, package = RIVALS[name]
    if not _is_installed(package):
        raise LeftOut(f"{package} is not installed")
    from penstock.lab.loaders.rival_loader import open_rival_loader

    return open_rival_loader(module, spec)


def _is_installed(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except ModuleNotFoundError:  # of the package around it
        return False
