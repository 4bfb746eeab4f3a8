"""What the kernels write is what the CPU writes, in every layout and type."""

from __future__ import annotations

import pytest
import torch

import penstock
from penstock.kernels.batch_output import Layout, Output
from penstock.testing.codec import sample_image
from penstock.torch import decode_batch
from tests.unit.kernels.run import run

MEAN = (0.485, 0.456, 0.406)
STD = (0.229, 0.224, 0.225)


# Not bfloat16: the interpreter cuts where accelerators and the CPU round.
@pytest.mark.parametrize(
    ("format_text", "layout", "dtype"),
    [
        ("weir:fast", "NCHW", torch.float16),
        ("weir:dense", "NHWC", torch.float32),
        ("l3", "NCHW", torch.float32),
        ("l3", "NHWC", torch.float16),
    ],
)
def test_kernels_normalise_to_the_same_bits_as_the_cpu(format_text: str, layout: Layout, dtype: torch.dtype) -> None:
    record = penstock.encode(sample_image(2, 9, 3, "uint8"), format_text)
    images, damages = run([record], Output(layout, dtype, MEAN, STD))
    batch = decode_batch([record], layout=layout, dtype=dtype, mean=MEAN, std=STD)
    assert damages == []
    assert torch.equal(images[0], batch[0])


@pytest.mark.parametrize("format_text", ["weir:fast", "l3"])
def test_kernels_write_planes_as_the_cpu(format_text: str) -> None:
    records = [penstock.encode(sample_image(2, width, 3, "uint8"), format_text) for width in (9, 66)]
    images, damages = run(records, Output("NCHW"))
    assert damages == []
    for image, expected in zip(images, decode_batch(records), strict=True):
        assert torch.equal(image, expected)
