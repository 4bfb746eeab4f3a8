"""The L3 kernels give the pixels of the native decoder, bit for bit, and survive whatever a file says."""

from __future__ import annotations

import numpy as np
import pytest

import penstock
from penstock.kernels.batch_output import Output
from penstock.testing.codec import sample_image
from tests import published_l3
from tests.golden import images
from tests.unit.kernels.run import check_exact, run, run_beside


@pytest.mark.parametrize(
    ("height", "width", "channels", "patch"), [(1, 1, 1, 64), (5, 70, 3, 64), (10, 9, 4, 8), (2, 150, 2, 100)]
)
def test_kernel_is_exact(height: int, width: int, channels: int, patch: int) -> None:
    check_exact([sample_image(height, width, channels, "uint8")], f"l3:patch={patch}")


def test_kernel_is_exact_on_noise_and_flat_rows() -> None:
    check_exact([images.noise(3, 70, 1), images.flat(3, 7, 1)], "l3", verify=True)


def test_published_files_decode() -> None:
    pixels = published_l3.image(64, 64)
    decoded, damages = run([published_l3.write(pixels)], Output("NHWC"), verify=True)
    assert damages == []
    np.testing.assert_array_equal(decoded[0].numpy(), pixels)


def test_a_damaged_cell_is_found_by_its_patch_s_checksum() -> None:
    data = bytearray(penstock.encode(sample_image(1, 66, 3, "uint8"), "l3"))
    data[-1] ^= 1
    _, damages = run([bytes(data)], Output("NHWC"), verify=True)
    assert "patch 1 (row 0, column 1): its bytes do not match their checksum" in str(damages[0][1])


def test_a_damaged_header_is_found_by_its_checksum() -> None:
    data = bytearray(penstock.encode(np.full((4, 9), 7, np.uint8), "l3"))
    data[4] = 10  # one column more: rows of equal pixels have the same length
    assert run([bytes(data)], Output("NHWC"))[1] == []
    _, damages = run([bytes(data)], Output("NHWC"), verify=True)
    assert "header: header and tables do not match their checksum" in str(damages[0][1])


@pytest.mark.parametrize(
    ("position", "value", "match"),
    [(20, 0xFF, "header: its patches do not fill the file"), (20 + 2 * 2 + 4 * 2, 0x0F, "more than 8 bits")],
)
def test_a_broken_rule_is_found_without_checksums(position: int, value: int, match: str) -> None:
    data = bytearray(penstock.encode(sample_image(3, 70, 1, "uint8"), "l3"))
    data[position] = value
    _, damages = run([bytes(data)], Output("NHWC"))
    assert match in str(damages[0][1])


@pytest.mark.parametrize("num_damages", [3, pytest.param(40, marks=pytest.mark.long)])
def test_a_damaged_file_reads_nothing_of_its_neighbours(num_damages: int) -> None:
    rng = np.random.default_rng(2)
    for _ in range(num_damages):
        data = bytearray(penstock.encode(sample_image(2, 30, 1, "uint8"), "l3"))
        for position in rng.integers(20, len(data), 3):
            data[position] = int(rng.integers(256))
        assert run_beside(bytes(data), 0) == run_beside(bytes(data), 255)


@pytest.mark.long
@pytest.mark.usefixtures("whole_interpreter")
@pytest.mark.parametrize("patch", [31, 64, 128])
def test_whole_patches_are_exact_and_nothing_overflows(patch: int) -> None:
    check_exact([images.photo(70, 130, 1)], f"l3:patch={patch}", verify=True)
