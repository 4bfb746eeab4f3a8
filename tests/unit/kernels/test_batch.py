"""What `decode_batch` does on CUDA, done here on the CPU: kernels for what they can decode, pixels for the rest."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import torch

import penstock
from penstock.kernels.batch_output import Canvas, Output
from penstock.testing.codec import sample_image
from penstock.torch import decode_batch
from penstock.torch.batch_decoding import decode_on_device
from penstock.types import Buffer
from tests.unit.kernels.run import CPU

PIXELS = sample_image(2, 66, 3, "uint8")


def decoded_there(records: Sequence[Buffer]) -> tuple[list[torch.Tensor], list[int]]:
    """The images, and which records are left to the CPU."""
    infos = [penstock.inspect(record) for record in records]
    canvas = Canvas.allocate(infos, Output(), CPU)
    return canvas.images, decode_on_device(records, infos, canvas, Output(), verify=True)


def test_kernels_decode_weir_and_l3_and_leave_the_rest() -> None:
    records = [penstock.encode(PIXELS, name) for name in ("png", "weir:fast", "l3", "weir:dense")]
    images, left = decoded_there(records)
    assert left == [0]
    for image, expected in zip(images[1:], decode_batch(records)[1:], strict=True):
        assert torch.equal(image, expected)


def test_a_damaged_record_is_named_with_its_tile() -> None:
    good = penstock.encode(PIXELS, "png")
    bad = bytearray(penstock.encode(PIXELS, "weir:fast"))
    bad[-1] ^= 1
    with pytest.raises(penstock.CodecError, match=r"record 1: tile 1 \(row 0, column 1\): .* checksum"):
        decoded_there([good, bytes(bad)])
