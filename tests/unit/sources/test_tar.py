"""Members of tars: the same as `tarfile` finds, and clear words where it would say nothing."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.errors import SourceError
from penstock.sources.tar import read_members
from penstock.storage import InputFile
from tests.unit.sources.tars import write_tar

FORMATS = {"ustar": tarfile.USTAR_FORMAT, "gnu": tarfile.GNU_FORMAT, "pax": tarfile.PAX_FORMAT}


def contents(path: Path) -> dict[str, bytes]:
    with InputFile(path) as file:
        return {member.name: file.read_at(member.offset, member.length) for member in read_members(file)}


def error_of(path: Path) -> SourceError:
    with pytest.raises(SourceError) as caught:
        contents(path)
    return caught.value


@pytest.mark.parametrize("format", FORMATS)
def test_members_stand_where_the_tar_says(format: str, tmp_path: Path) -> None:
    members = {"a/1.jpg": b"x" * 511, "a/1.cls": b"7", "empty": b"", "b.png": b"y" * 512, "dir/" + "n" * 90: b"z"}

    assert contents(write_tar(tmp_path / "a.tar", members, format=FORMATS[format])) == members


@pytest.mark.parametrize("format", ["gnu", "pax"])
def test_long_names_and_names_beyond_ascii_are_read(format: str, tmp_path: Path) -> None:
    members = {"långt/" * 60 + "ende.jpg": b"1", "kort.jpg": b"2"}

    assert contents(write_tar(tmp_path / "a.tar", members, format=FORMATS[format])) == members


def test_a_prefix_of_ustar_belongs_to_the_name(tmp_path: Path) -> None:
    members = {"p" * 120 + "/" + "n" * 90: b"1"}

    assert contents(write_tar(tmp_path / "a.tar", members, format=tarfile.USTAR_FORMAT)) == members


def test_folders_are_passed_over_and_a_leading_dot_is_dropped(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "a.tar", "w") as tar:
        for name in ("./", "./cats/"):
            folder = tarfile.TarInfo(name)
            folder.type = tarfile.DIRTYPE
            tar.addfile(folder)
        tar.addfile(tarfile.TarInfo("./cats/1.jpg"))

    assert contents(tmp_path / "a.tar") == {"cats/1.jpg": b""}


def test_an_end_mark_of_one_block_is_enough(tmp_path: Path) -> None:
    path = write_tar(tmp_path / "a.tar", {"a": b"1"})
    path.write_bytes(path.read_bytes()[: 3 * 512])

    assert contents(path) == {"a": b"1"}


@given(
    members=st.dictionaries(
        st.text(st.characters(codec="utf-8", exclude_characters="\0/.\\"), min_size=1, max_size=150),
        st.binary(max_size=1500),
        max_size=6,
    ),
    format=st.sampled_from(["gnu", "pax"]),
)
@settings(max_examples=30, deadline=None)
def test_any_tar_of_tarfile_is_read(
    tmp_path_factory: pytest.TempPathFactory, members: dict[str, bytes], format: str
) -> None:
    path = write_tar(tmp_path_factory.mktemp("tar") / "a.tar", members, format=FORMATS[format])

    assert contents(path) == members


@given(position=st.integers(0, 5 * 512 - 1), bit=st.integers(0, 7))
@settings(max_examples=50, deadline=None)
def test_a_flipped_bit_never_loses_a_member_in_silence(
    tmp_path_factory: pytest.TempPathFactory, position: int, bit: int
) -> None:
    members = {"a.jpg": b"1" * 600, "b.jpg": b"2"}
    path = write_tar(tmp_path_factory.mktemp("tar") / "a.tar", members, format=tarfile.USTAR_FORMAT)
    damaged = bytearray(path.read_bytes())
    damaged[position] ^= 1 << bit
    path.write_bytes(damaged)

    try:
        found = contents(path)
    except SourceError:
        return
    assert list(found) == list(members), "only data and padding may change unseen here: records have checksums"


@pytest.mark.parametrize("end", range(0, 2048 + 1024, 100))
def test_a_truncated_tar_is_named_with_its_byte(end: int, tmp_path: Path) -> None:
    path = write_tar(tmp_path / "a.tar", {"a.jpg": b"1" * 600, "b.jpg": b"2" * 10}, format=tarfile.USTAR_FORMAT)
    whole = path.read_bytes()
    path.write_bytes(whole[:end])

    if end >= 6 * 512:  # one block of the end mark
        return
    told = error_of(path)
    assert "cut off" in told.what
    assert str(end) in told.what
    assert f"{path}: byte " in told.where


HOSTILE_NAMES = ["../evil.jpg", "a/../../evil.jpg", "/etc/evil.jpg", "./../evil.jpg", "a/..", ".//etc/evil.jpg/../x"]


@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_a_name_that_leads_out_of_the_tar_is_refused(name: str, tmp_path: Path) -> None:
    told = error_of(write_tar(tmp_path / "a.tar", {"good.jpg": b"", name: b"x"}))

    assert "leads out of the tar" in told.what
    assert told.where.endswith("byte 512")


@pytest.mark.parametrize(
    ("kind", "what"),
    [
        (tarfile.LNKTYPE, "a hard link"),
        (tarfile.SYMTYPE, "a symbolic link"),
        (tarfile.FIFOTYPE, "a pipe"),
        (tarfile.CHRTYPE, "a device"),
        (tarfile.GNUTYPE_SPARSE, "a sparse file"),
        (b"Q", "a member of type b'Q'"),
    ],
)
def test_what_is_no_whole_file_is_refused_by_name(kind: bytes, what: str, tmp_path: Path) -> None:
    header = tarfile.TarInfo("1.jpg")
    header.type = kind
    (tmp_path / "a.tar").write_bytes(header.tobuf() + bytes(1024))

    assert error_of(tmp_path / "a.tar").what == f"member '1.jpg' is {what}"


def test_a_sparse_file_of_pax_is_refused(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "a.tar", "w", format=tarfile.PAX_FORMAT) as tar:
        header = tarfile.TarInfo("1.jpg")
        header.pax_headers = {"GNU.sparse.major": "1", "GNU.sparse.minor": "0"}
        tar.addfile(header, io.BytesIO())

    assert "sparse" in error_of(tmp_path / "a.tar").what


def test_joined_tars_are_refused(tmp_path: Path) -> None:
    first = write_tar(tmp_path / "a.tar", {"1.jpg": b"1"})
    second = write_tar(tmp_path / "b.tar", {"2.jpg": b"2"})
    first.write_bytes(first.read_bytes() + second.read_bytes())

    assert "behind the end mark" in error_of(first).what


def test_a_damaged_header_in_the_middle_is_told_although_tarfile_stops_there(tmp_path: Path) -> None:
    path = write_tar(tmp_path / "a.tar", {"1.jpg": b"1", "2.jpg": b"2"}, format=tarfile.USTAR_FORMAT)
    damaged = bytearray(path.read_bytes())
    damaged[1024] ^= 1
    path.write_bytes(damaged)
    with tarfile.open(path) as tar:
        assert tar.getnames() == ["1.jpg"]

    told = error_of(path)

    assert told.what == "a header does not match its checksum"
    assert told.where == f"{path}: byte 1024"


@pytest.mark.parametrize("records", [b"9999 path=x\n", b"5 x\n", b"x path=y\n", b"0 a=b\n", b"12 path=x", b"6 path"])
def test_a_pax_record_that_lies_is_refused(records: bytes, tmp_path: Path) -> None:
    header = tarfile.TarInfo("pax")
    header.type, header.size = tarfile.XHDTYPE, len(records)
    block = header.tobuf(tarfile.USTAR_FORMAT) + records.ljust(512, b"\0")
    (tmp_path / "a.tar").write_bytes(block + tarfile.TarInfo("a").tobuf() + bytes(1024))

    assert "PAX header has a record" in error_of(tmp_path / "a.tar").what


def test_a_name_of_megabytes_is_refused(tmp_path: Path) -> None:
    path = write_tar(tmp_path / "a.tar", {"n" * (1 << 21): b""}, format=tarfile.GNU_FORMAT)

    assert "a name or PAX header of" in error_of(path).what


def test_a_size_of_5000_digits_is_refused(tmp_path: Path) -> None:
    record = b"size=" + b"9" * 5000 + b"\n"
    record = f"{len(record) + 5} ".encode() + record
    extension = tarfile.TarInfo("x")
    extension.type, extension.size = tarfile.XHDTYPE, len(record)
    member = tarfile.TarInfo("1.png").tobuf(tarfile.USTAR_FORMAT)
    padding = bytes(-len(record) % 512)
    path = tmp_path / "a.tar"
    path.write_bytes(extension.tobuf(tarfile.USTAR_FORMAT) + record + padding + member + bytes(1024))

    assert "a PAX header gives the size b'9999999999999999999...'" in error_of(path).what
