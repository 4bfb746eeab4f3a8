"""Measurements of a machine and a dataset: `profile.json`. Makes no decisions."""

from penstock.profile.fidelity_costs import choose_fidelity, measure_fidelities
from penstock.profile.profile_values import (
    Dataset,
    Disk,
    FormatCosts,
    Measurement,
    Profile,
    SampledImage,
    read_profile,
    write_profile,
)

__all__ = [
    "Dataset",
    "Disk",
    "FormatCosts",
    "Measurement",
    "Profile",
    "SampledImage",
    "choose_fidelity",
    "measure_fidelities",
    "read_profile",
    "write_profile",
]
