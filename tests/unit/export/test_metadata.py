"""Metadata of a source on its way through a dataset and back into files."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import penstock
from penstock import _native
from penstock.build import build
from penstock.export import ExportOptions, export
from tests.unit.codecs.test_embed import EXIF, PROFILE
from tests.unit.export.layouts import PHOTOS

ENTRIES = ["ICCP", "EXIF", "TEXT", "XMP ", "pHYs"]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "source"
    folder.mkdir()
    for number, photo in enumerate(PHOTOS):
        file = io.BytesIO()
        format = "JPEG" if number % 2 else "PNG"
        Image.fromarray(photo).save(file, format, icc_profile=PROFILE, exif=EXIF, dpi=(254, 254))
        data = file.getvalue()
        plain, _, _ = _native.read_metadata(data)
        data, dropped = _native.embed_metadata(data, _block(("TEXT", f"Comment\0photo {number}"), ("XMP ", "<x/>")))
        assert plain
        assert not dropped
        (folder / f"{number}.{format.lower()}").write_bytes(data)
    return folder


def _block(*entries: tuple[str, str]) -> bytes:
    content = b"".join(tag.encode() + len(text.encode()).to_bytes(4, "little") + text.encode() for tag, text in entries)
    return content + _native.crc32c(content).to_bytes(4, "little")


def by_stem(folder: Path) -> dict[str, bytes]:
    return {path.stem: path.read_bytes() for path in sorted(folder.iterdir()) if path.stem.isdigit()}


def kinds(data: bytes) -> list[str]:
    return sorted(_native.read_metadata(data)[1])


def parts(data: bytes) -> set[bytes]:
    """Entries of a file's metadata, each as bytes."""
    rest, found = _native.read_metadata(data)[0][:-4], set()
    while rest:
        size = int.from_bytes(rest[4:8], "little")
        found.add(rest[: 8 + size])
        rest = rest[8 + size :]
    return found


@pytest.mark.parametrize("mix", ["raw=0.5,weir:fast=0.5", "jpeg=0.5,png=0.5", "l3=0.5,jpeg:restart=0.5"])
def test_metadata_comes_back_with_the_pixels(mix: str, source: Path, tmp_path: Path) -> None:
    build(source, tmp_path / "one.pen", mix=mix)

    done = export(tmp_path / "one.pen", tmp_path / "back")

    assert done.dropped == {}
    before, after = by_stem(source), by_stem(tmp_path / "back")
    assert before.keys() == after.keys()
    for stem, data in before.items():
        assert kinds(data) == sorted(ENTRIES)
        assert parts(after[stem]) == parts(data), stem


def test_the_manifest_counts_what_is_kept(source: Path, tmp_path: Path) -> None:
    built = build(source, tmp_path / "one.pen", mix="raw=1")

    assert built.manifest.metadata == {"kept": dict.fromkeys(sorted(ENTRIES), 6), "dropped": {}}


def test_metadata_survives_a_build_from_dataset_to_dataset(source: Path, tmp_path: Path) -> None:
    build(source, tmp_path / "one.pen", mix="raw=0.5,weir:dense=0.5")
    build(tmp_path / "one.pen", tmp_path / "two.pen", mix="l3=0.5,weir:fast=0.5")

    export(tmp_path / "two.pen", tmp_path / "back")

    before, after = by_stem(source), by_stem(tmp_path / "back")
    for stem, data in before.items():
        assert parts(after[stem]) == parts(data)
        assert np.array_equal(penstock.decode(after[stem]), penstock.decode(data))


def test_what_an_exported_file_cannot_hold_is_told(source: Path, tmp_path: Path) -> None:
    build(source, tmp_path / "one.pen", mix="weir:fast=1")

    done = export(tmp_path / "one.pen", tmp_path / "back", options=ExportOptions(image_format="webp:lossless"))

    assert done.dropped == {"TEXT": 6, "pHYs": 6}
