"""Records of the published PCR code: the same JPEGs out of them, each once, and no trust in what they say."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import penstock
from penstock.build import build, open_source
from penstock.codecs import DecodeOptions, find
from penstock.codecs.pjpeg import scan_ends
from penstock.errors import SourceError
from penstock.pixels import psnr
from penstock.sources.protobuf import integers, read_fields
from tests.progressive_files import picture


@pytest.fixture
def fixture(shared_data: Path) -> Path:
    return shared_data / "pcr-fixture"


def test_the_published_fixture_is_rebuilt_byte_for_byte(fixture: Path) -> None:
    source = open_source(fixture)
    listing = source.listing()

    assert source.kind == "pcr"
    assert listing.keys.to_pylist() == ["PCR_0/00000.jpg"]  # its index lists the record ten times
    assert listing.columns["label"].to_pylist() == [0]
    assert list(source.read("image", np.array([0]))) == [(fixture / "small_progressive.jpg").read_bytes()]


def test_ten_truncations_of_the_fixture_decode_ever_better(fixture: Path) -> None:
    data = (fixture / "small_progressive.jpg").read_bytes()
    whole = penstock.decode(data)
    found = [find("pjpeg").decode(data[:end], DecodeOptions()) for end in scan_ends(data)]

    quality = [psnr(whole, pixels) for pixels in found]
    assert len(quality) == 10
    assert quality == sorted(quality)
    assert np.array_equal(found[-1], whole)


def test_the_fixture_builds_into_blocks_with_its_pixels(fixture: Path, tmp_path: Path) -> None:
    built = build(fixture, tmp_path / "data.pen", mix="pjpeg:groups=all=1")
    sample = penstock.open(built.path)[0]
    assert sample["label"] == 0
    assert np.array_equal(sample["image"], penstock.decode((fixture / "small_progressive.jpg").read_bytes()))


def test_records_of_several_images_with_fewer_scans_are_read(tmp_path: Path) -> None:
    images = [penstock.encode(picture(number, channels=3 - 2 * (number % 2)), "pjpeg") for number in range(5)]
    write_records(tmp_path, images, per_record=2)

    source = open_source(tmp_path)
    listing = source.listing()

    assert listing.columns["label"].to_pylist() == [0, 10, 20, 30, 40]
    assert list(source.read("image", np.arange(5))) == images
    assert listing.images["image"].length.tolist() == [len(image) for image in images]


@pytest.mark.parametrize(
    ("damage", "what"),
    [
        (lambda index, record: (index[:-3], record), "protobuf"),
        (lambda index, record: (index, record[:-1]), "bytes"),
        (lambda index, record: (index.replace(b"PCR_0.pcr", b"../../etc"), record), "not in its folder"),
        (lambda index, record: (index.replace(b"PCR_0.pcr", b"PCR\0.pcrs"), record), "no file can be called"),
        (lambda index, record: (index, record.replace(b"\x18\x01", b"\x18\x02", 1)), "version 2"),
        (lambda index, record: (b"", record), "no record"),
    ],
)
def test_damaged_records_are_refused(tmp_path: Path, damage: object, what: str) -> None:
    write_records(tmp_path, [penstock.encode(picture(1), "pjpeg")], per_record=1)
    index, record = tmp_path / "PCR_index.pb", tmp_path / "PCR_0.pcr"
    changed = damage(index.read_bytes(), record.read_bytes())  # type: ignore[operator]  # a function of the table
    index.write_bytes(changed[0])
    record.write_bytes(changed[1])
    with pytest.raises(SourceError, match=what):
        open_source(tmp_path).listing()


def test_records_without_a_protobuf_index_say_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "PCR_0.pcr").write_bytes(b"x")
    with pytest.raises(SourceError, match=r"PCR_index\.pb") as caught:
        open_source(tmp_path).listing()
    assert "pickle" in caught.value.fix


def test_fields_of_every_wire_type_are_read() -> None:
    message = (
        b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01" + b"\x11" + bytes(8) + b"\x1d" + bytes(4) + b"\x22\x02\x01\x02"
    )
    found = list(read_fields(message))
    assert [number for number, _ in found] == [1, 2, 3, 4]
    assert integers(found[0][1]) == [-1]
    assert integers(found[3][1]) == [1, 2]
    for cut in (5, 12, 21, len(message) - 1):
        with pytest.raises(ValueError, match="byte"):
            list(read_fields(message[:cut]))


def write_records(folder: Path, images: list[bytes], per_record: int) -> None:
    """As the reference's converter writes them, its repeated index entries included."""
    index = b""
    for number, first in enumerate(range(0, len(images), per_record)):
        own = images[first : first + per_record]
        labels = b"".join(b"\x08" + varint(10 * (first + place)) for place in range(len(own)))
        ends = [[0, *scan_ends(image)] for image in own]
        levels = max(map(len, ends)) - 1
        parts = [labels + b"\x10" + varint(levels) + b"\x18\x01"]
        for level in range(levels):
            pieces = [
                image[edge[level] : edge[level + 1]] if level + 1 < len(edge) else b""
                for image, edge in zip(own, ends, strict=True)
            ]
            parts.append(b"".join(b"\x0a" + varint(len(piece)) + piece for piece in pieces))
        name = f"PCR_{number}.pcr"
        (folder / name).write_bytes(b"".join(parts))
        entry = b"\x0a" + varint(len(name)) + name.encode() + b"".join(b"\x10" + varint(len(part)) for part in parts)
        index += (b"\x0a" + varint(len(entry)) + entry) * levels
    (folder / "PCR_index.pb").write_bytes(index)


def varint(value: int) -> bytes:
    out = b""
    while value >= 0x80:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])
