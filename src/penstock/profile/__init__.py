"""What a machine and a dataset can do, measured: `profile.json`. Decides nothing."""

from penstock.profile.fidelity import choose_fidelity, measure_fidelities
from penstock.profile.values import (
    Dataset,
    Disk,
    Figure,
    FormatCosts,
    Profile,
    SampledImage,
    read_profile,
    write_profile,
)

__all__ = [
    "Dataset",
    "Disk",
    "Figure",
    "FormatCosts",
    "Profile",
    "SampledImage",
    "choose_fidelity",
    "measure_fidelities",
    "read_profile",
    "write_profile",
]
