"""What a machine and a dataset can do, measured: `profile.json`. Decides nothing."""

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

__all__ = ["Dataset", "Disk", "Figure", "FormatCosts", "Profile", "SampledImage", "read_profile", "write_profile"]
