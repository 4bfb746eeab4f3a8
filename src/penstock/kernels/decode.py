"""Decoding of batches of Weir and L3 files on a device."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import torch

from penstock.codecs.contract import ImageInfo
from penstock.kernels.batch_output import Output
from penstock.kernels.launch import Damage, Kind, kind_of
from penstock.kernels.table import Record
from penstock.types import Buffer

MAX_POSITION = 2**31 - 1
"""Positions inside a file, and inside an image, are 32-bit numbers on the device."""


def can_decode(data: Buffer, info: ImageInfo) -> bool:
    """Return whether this file can be decoded on a device."""
    samples = info.width * info.height * info.channels
    return info.codec in ("weir", "l3") and len(data) <= MAX_POSITION and samples <= MAX_POSITION


def decode_into(
    images: Sequence[torch.Tensor],
    records: Sequence[Buffer],
    infos: Sequence[ImageInfo],
    output: Output,
    *,
    verify: bool = True,
) -> list[Damage]:
    """Decode each record into its image (of a `Canvas`, on the device), and return the damaged records.

    `infos` come from `penstock.inspect`. The function waits for the device, because damage is known only then. The
    image of a damaged record has arbitrary pixels.
    """
    kinds: defaultdict[tuple[Kind, torch.dtype], list[Record]] = defaultdict(list)
    for index, (image, data, info) in enumerate(zip(images, records, infos, strict=True)):
        kinds[kind_of(data, info), image.dtype].append(Record(index, data, info, image))
    damages: list[Damage] = []
    for (kind, _), members in kinds.items():
        damages += kind.launch(members, output, verify=verify)
    return sorted(damages, key=lambda damage: damage[0])
