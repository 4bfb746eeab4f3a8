"""The Weir kernel gives the pixels of the native decoder, bit for bit, and survives whatever a file says."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import penstock
from penstock.codecs.weir_metadata import Entry, write_metadata
from penstock.kernels.batch_output import Output
from penstock.testing.codec import sample_image
from penstock.types import Pixels
from tests.golden import images, weir_decoded
from tests.golden.kinds import Golden, Refused
from tests.golden.make import FOLDER, REFUSED
from tests.unit.kernels.run import check_exact, run, run_beside

PROFILES = ["weir:fast", "weir:dense"]


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize(
    ("height", "width", "channels", "dtype"),
    [(1, 1, 1, "uint8"), (5, 66, 3, "uint8"), (2, 33, 4, "uint8"), (2, 64, 2, "uint16"), (5, 9, 3, "uint16")],
)
def test_kernel_is_exact(profile: str, height: int, width: int, channels: int, dtype: str) -> None:
    check_exact([sample_image(height, width, channels, dtype)], profile)


def test_kernel_is_exact_over_several_rows_of_tiles_and_chunks_of_control() -> None:
    check_exact([sample_image(65, 2, 1, "uint8")], "weir:fast")
    check_exact([sample_image(33, 2, 1, "uint8")], "weir:dense")


@pytest.mark.parametrize("profile", PROFILES)
def test_kernel_is_exact_on_noise_and_flat_planes(profile: str) -> None:
    opaque = sample_image(2, 12, 4, "uint8")
    opaque[:, :, 3] = 255
    check_exact([images.noise(2, 12, 4), images.flat(1, 12, 4), opaque], profile)


@pytest.mark.parametrize("profile", PROFILES)
def test_a_damaged_byte_is_found_by_the_checksum_and_named(profile: str) -> None:
    good = penstock.encode(sample_image(1, 3, 1, "uint8"), profile)
    bad = bytearray(penstock.encode(sample_image(1, 66, 1, "uint8"), profile))
    bad[-1] ^= 1
    _, damages = run([good, bytes(bad), good], Output("NHWC"), verify=True)
    assert [index for index, _ in damages] == [1]
    assert "tile 1 (row 0, column 1): its bytes do not match their checksum" in str(damages[0][1])


def test_a_damaged_table_is_found_by_its_checksum() -> None:
    image = penstock.encode(sample_image(1, 3, 1, "uint8"), "weir")
    bad = bytearray(write_metadata(image, [Entry.text("Comment", "at dusk")]))
    bad[bad.index(b"dusk")] ^= 1
    _, damages = run([image, bytes(bad)], Output("NHWC"), verify=True)
    assert [(index, error.code) for index, error in damages] == [(1, 330)]
    assert "tables of the weir image do not match their checksum" in str(damages[0][1])


def break_offsets(data: bytearray, tile: int) -> None:
    data[36:40] = (len(data) + 1000).to_bytes(4, "little")


def break_head(data: bytearray, tile: int) -> None:
    data[tile] |= 0x0C


def break_mode(data: bytearray, tile: int) -> None:
    data[tile + (4 if data[5] == 0 else 6)] = 0x0F


def break_control(data: bytearray, tile: int) -> None:
    data[tile + 2] ^= 1


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize(
    ("break_rule", "match"),
    [
        (break_offsets, "offsets are not in order"),
        (break_head, "head is not valid"),
        (break_mode, "unknown mode"),
        (break_control, "length"),
    ],
)
def test_a_broken_rule_is_found_without_checksums(
    profile: str, break_rule: Callable[[bytearray, int], None], match: str
) -> None:
    data = bytearray(penstock.encode(sample_image(1, 30, 1, "uint8"), profile))
    break_rule(data, int.from_bytes(data[32:36], "little"))
    _, damages = run([bytes(data)], Output("NHWC"))
    assert len(damages) == 1
    assert "tile 0 (row 0, column 0)" in str(damages[0][1])
    assert match in str(damages[0][1])


@pytest.mark.parametrize("profile", PROFILES)
def test_a_damaged_file_reads_nothing_of_its_neighbours(profile: str) -> None:
    check_neighbours(profile, num_damages=2)


@pytest.mark.long
@pytest.mark.parametrize("profile", PROFILES)
def test_files_damaged_in_many_ways_read_nothing_of_their_neighbours(profile: str) -> None:
    check_neighbours(profile, num_damages=40)


def check_neighbours(profile: str, num_damages: int) -> None:
    rng = np.random.default_rng(1)
    for _ in range(num_damages):
        data = bytearray(penstock.encode(sample_image(2, 30, 1, "uint8"), profile))
        for position in rng.integers(int.from_bytes(data[32:36], "little"), len(data), 3):
            data[position] = int(rng.integers(256))
        assert run_beside(bytes(data), 0) == run_beside(bytes(data), 255)


@st.composite
def pictures(draw: st.DrawFn) -> Pixels:
    height, width = draw(st.integers(1, 40)), draw(st.integers(1, 130))
    channels, bits = draw(st.integers(1, 4)), draw(st.sampled_from([8, 16]))
    make = draw(st.sampled_from([images.photo, images.noise]))
    return make(height, width, channels, bits, seed=draw(st.integers(1, 1000)))


@pytest.mark.long
@pytest.mark.parametrize("profile", PROFILES)
@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(pixels=pictures())
def test_any_image_is_exact(profile: str, pixels: Pixels) -> None:
    check_exact([pixels], profile)


@pytest.mark.long
@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.usefixtures("whole_interpreter")
def test_whole_tiles_are_exact_and_nothing_overflows(profile: str) -> None:
    check_exact([images.photo(64, 66, 3)], profile, verify=True)
    check_exact([images.noise(20, 64, 1, 16)], profile, verify=True)


@pytest.mark.long
@pytest.mark.parametrize("golden", weir_decoded.GOLDENS, ids=lambda golden: golden.path)
def test_golden_files_are_exact(golden: Golden) -> None:
    decoded, damages = run([(FOLDER / golden.path).read_bytes()], Output("NHWC"), verify=True)
    assert damages == []
    np.testing.assert_array_equal(decoded[0].numpy().reshape(golden.pixels().shape), golden.pixels())


@pytest.mark.long
@pytest.mark.parametrize("refused", REFUSED, ids=lambda refused: refused.path)
def test_golden_abuses_are_refused(refused: Refused) -> None:
    data = (FOLDER / refused.path).read_bytes()
    try:
        _, damages = run([data], Output("NHWC"), verify=True)
    except penstock.CodecError as error:
        damages = [(0, error)]
    assert [error.code // 100 for _, error in damages] == [3]
