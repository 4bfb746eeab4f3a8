"""`decode_batch`: shapes, layouts, types, normalisation, errors."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import penstock
from penstock.errors import ArgumentError
from penstock.testing.codec import sample_image
from penstock.torch import decode_batch

MEAN = (0.485, 0.456, 0.406)
STD = (0.229, 0.224, 0.225)


def encoded(height: int, width: int, channels: int, format_text: str, dtype: str = "uint8") -> bytes:
    return penstock.encode(sample_image(height, width, channels, dtype), format_text)


def test_images_of_one_shape_become_one_tensor() -> None:
    batch = decode_batch([encoded(5, 7, 3, "weir"), encoded(5, 7, 3, "png")])
    assert isinstance(batch, torch.Tensor)
    assert batch.shape == (2, 3, 5, 7)
    assert batch.dtype == torch.uint8
    np.testing.assert_array_equal(batch[0].permute(1, 2, 0), sample_image(5, 7, 3, "uint8"))
    assert torch.equal(batch[0], batch[1])


def test_images_of_several_shapes_become_a_list() -> None:
    batch = decode_batch([encoded(5, 7, 3, "l3"), encoded(2, 9, 1, "weir", "uint16")], layout="NHWC")
    assert isinstance(batch, list)
    assert [(tuple(image.shape), image.dtype) for image in batch] == [
        ((5, 7, 3), torch.uint8),
        ((2, 9, 1), torch.uint16),
    ]
    np.testing.assert_array_equal(batch[1][:, :, 0].numpy(), sample_image(2, 9, 1, "uint16"))


def test_a_float_type_normalises() -> None:
    pixels = sample_image(4, 6, 3, "uint8")
    batch = decode_batch([penstock.encode(pixels, "weir")], dtype=torch.float32, mean=MEAN, std=STD)
    assert isinstance(batch, torch.Tensor)
    expected = (pixels / 255 - MEAN) / STD
    np.testing.assert_allclose(batch[0].permute(1, 2, 0).numpy(), expected, atol=1e-5)


def test_a_damaged_record_is_named() -> None:
    good, bad = encoded(5, 7, 3, "weir"), bytearray(encoded(5, 7, 3, "weir"))
    bad[-1] ^= 1
    with pytest.raises(penstock.CodecError, match=r"record 1: .*tile 0"):
        decode_batch([good, bad])
    with pytest.raises(penstock.CodecError, match="record 2: "):
        decode_batch([good, good, b"nothing"])


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"layout": "HWC"}, "layout 'HWC' does not exist"),
        ({"dtype": torch.int32}, "neither None nor a float type"),
        ({"mean": (0.5,)}, "need a float dtype"),
        ({"dtype": torch.float16, "std": (0.0,)}, "std has a zero"),
        ({"dtype": torch.float16, "mean": (0.1, 0.2)}, "mean has 2 values, the image 3 channels"),
    ],
)
def test_a_wrong_option_is_refused_by_name(arguments: dict[str, object], match: str) -> None:
    with pytest.raises(ArgumentError, match=match):
        decode_batch([encoded(2, 2, 3, "weir")], **arguments)  # type: ignore[arg-type]  # wrong on purpose


def test_no_records_are_refused() -> None:
    with pytest.raises(ArgumentError, match="no records"):
        decode_batch([])
