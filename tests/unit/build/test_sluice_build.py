"""JPEG sources in datasets of format `sluice`: coefficients move, and an export gives the original files."""

from __future__ import annotations

import gc
import json
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image

import penstock
from penstock import _native
from penstock.build import BuildOptions, build
from penstock.codecs.sluice import from_jpeg, sluice_facts
from penstock.errors import CodecError, DatasetError
from penstock.export import ExportOptions, export
from penstock.records import open_dataset, verify
from tests.golden.images import photo
from tests.hostile.test_dataset import change_index, change_manifest
from tests.sluice_files import split


def write_jpegs(folder: Path, number: int = 5) -> list[Path]:
    files = []
    for index in range(number):
        file = folder / f"class{index % 2}" / f"{index:03}.jpg"
        file.parent.mkdir(parents=True, exist_ok=True)
        pixels = photo(40 + index % 9, 70, 3)
        file.write_bytes(penstock.encode(pixels, "jpeg:q=88"))
        files.append(file)
    return files


def write_odd_jpegs(folder: Path) -> list[Path]:
    """Write two JPEGs that Sluice cannot hold."""
    files = [folder / "class0" / "cmyk.jpg", folder / "class1" / "a-cmyk.jpg"]
    for number, file in enumerate(files):
        Image.new("CMYK", (32 + number, 32)).save(file)
    return files


def contents(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file()}


def test_jpeg_sources_are_transcoded_without_loss(tmp_path: Path) -> None:
    files = write_jpegs(tmp_path / "photos")

    build(tmp_path / "photos", tmp_path / "photos.pen", mix="sluice=1", durable=False)

    told = open_dataset(tmp_path / "photos.pen").manifest.formats["sluice"]
    assert (told.transcoded, told.encoded, told.kept) == (len(files), 0, 0)
    with penstock.Loader(tmp_path / "photos.pen", shuffle=False) as loader:
        for batch, file in zip(loader, sorted(files), strict=True):
            np.testing.assert_array_equal(batch["image"][0], penstock.decode(file.read_bytes()))


def test_an_export_gives_the_original_files(tmp_path: Path) -> None:
    files = write_jpegs(tmp_path / "photos")
    build(tmp_path / "photos", tmp_path / "photos.pen", mix="sluice=1", durable=False)

    done = export(tmp_path / "photos.pen", tmp_path / "back")

    assert done.num_restored == len(files)
    for file in files:
        assert (tmp_path / "back" / file.relative_to(tmp_path / "photos")).read_bytes() == file.read_bytes()


def test_other_sources_are_exported_as_the_jpeg_inside(tmp_path: Path) -> None:
    (tmp_path / "photos").mkdir()
    pixels = photo(30, 50, 3)
    (tmp_path / "photos" / "one.png").write_bytes(penstock.encode(pixels, "png"))
    build(tmp_path / "photos", tmp_path / "photos.pen", mix="sluice:q=90=1", durable=False)
    with penstock.Loader(tmp_path / "photos.pen") as loader:
        stored = next(iter(loader))["image"][0]

    export(tmp_path / "photos.pen", tmp_path / "back")

    np.testing.assert_array_equal(penstock.decode((tmp_path / "back" / "one.jpg").read_bytes()), stored)


def test_a_quality_is_for_other_sources_and_leaves_jpegs_alone(tmp_path: Path) -> None:
    files = write_jpegs(tmp_path / "photos")
    (tmp_path / "photos" / "class0" / "one.png").write_bytes(penstock.encode(photo(30, 50, 3), "png"))

    built = build(tmp_path / "photos", tmp_path / "photos.pen", mix="sluice:q=30=1", durable=False)
    export(tmp_path / "photos.pen", tmp_path / "back")

    told = built.manifest.formats["sluice:q=30"]
    assert (told.transcoded, told.encoded) == (len(files), 1)
    assert (tmp_path / "back" / "class0" / "000.jpg").read_bytes() == files[0].read_bytes()


@pytest.mark.parametrize("options", [BuildOptions(), BuildOptions(max_side=16)])
def test_a_source_that_must_be_encoded_needs_a_quality(tmp_path: Path, options: BuildOptions) -> None:
    write_jpegs(tmp_path / "photos", 1)
    if not options.max_side:
        (tmp_path / "photos" / "class0" / "one.png").write_bytes(penstock.encode(photo(30, 50, 3), "png"))

    with pytest.raises(CodecError, match="without a quality") as caught:
        build(tmp_path / "photos", tmp_path / "photos.pen", mix="sluice=1", options=options, durable=False)

    assert "sluice:q=90" in caught.value.fix


@pytest.mark.parametrize("mix", ["sluice=1", "jpeg=0.5,sluice=0.5", "sluice=0.5,weir:fast=0.5"])
def test_a_jpeg_that_cannot_be_restored_is_kept_and_named(tmp_path: Path, mix: str) -> None:
    files = write_jpegs(tmp_path / "photos", 12)
    odd = write_odd_jpegs(tmp_path / "photos")

    built = build(tmp_path / "photos", tmp_path / "photos.pen", mix=mix, durable=False)
    verified = verify(tmp_path / "photos.pen")
    export(tmp_path / "photos.pen", tmp_path / "back")

    named = {entry.key for entry in built.manifest.kept_as_jpeg}
    assert named <= {"class0/cmyk.jpg", "class1/a-cmyk.jpg"}
    assert (mix != "sluice=1") or len(named) == 2
    assert all("component" in entry.reason for entry in built.manifest.kept_as_jpeg)
    assert built.manifest.num_samples == len(files) + len(odd)
    assert verified.problems == ()
    if "weir" not in mix:
        for file in (*files, *odd):
            assert (tmp_path / "back" / file.relative_to(tmp_path / "photos")).read_bytes() == file.read_bytes()


def test_bytes_depend_neither_on_threads_nor_on_a_kill(tmp_path: Path) -> None:
    write_jpegs(tmp_path / "photos", 70)
    write_odd_jpegs(tmp_path / "photos")
    options = BuildOptions(shard_bytes=20_000)
    build(tmp_path / "photos", tmp_path / "one.pen", mix="jpeg=0.1,sluice=0.9", options=options, threads=1)
    expected = contents(tmp_path / "one.pen")

    build(tmp_path / "photos", tmp_path / "many.pen", mix="jpeg=0.1,sluice=0.9", options=options, threads=3)
    stages: list[str] = []

    def stop(stage: str, done: int, total: int) -> None:
        stages.append(stage)
        if stage == "jpeg":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build(tmp_path / "photos", tmp_path / "cut.pen", mix="jpeg=0.1,sluice=0.9", options=options, on_progress=stop)
    build(tmp_path / "photos", tmp_path / "cut.pen", mix="jpeg=0.1,sluice=0.9", options=options)

    assert contents(tmp_path / "many.pen") == expected
    assert contents(tmp_path / "cut.pen") == expected
    assert "training tables" in stages


def test_tables_are_trained_once_and_released_with_the_dataset(tmp_path: Path) -> None:
    files = write_jpegs(tmp_path / "photos", 70)
    gc.collect()
    known = _native.num_sluice_tables()

    built = build(tmp_path / "photos", tmp_path / "photos.pen", mix="sluice=1", durable=False)
    default = build(tmp_path / "photos", tmp_path / "default.pen", mix="sluice:tables=default=1", durable=False)

    (tables,) = built.manifest.tables
    assert default.manifest.tables == ()
    assert built.manifest.formats["sluice"].bytes < default.manifest.formats["sluice:tables=default"].bytes
    dataset = open_dataset(tmp_path / "photos.pen")
    record = dataset.read(0)
    assert sluice_facts(record).table_set == tables.id
    np.testing.assert_array_equal(penstock.decode(record), penstock.decode(files[0].read_bytes()))
    del dataset
    gc.collect()
    assert _native.num_sluice_tables() == known
    with pytest.raises(CodecError, match=f"not known here: {tables.id}") as caught:
        penstock.decode(record)
    assert "keep the dataset open" in caught.value.fix


def test_a_loader_a_verification_and_a_rebuild_know_the_tables(tmp_path: Path) -> None:
    files = write_jpegs(tmp_path / "photos", 70)
    build(tmp_path / "photos", tmp_path / "photos.pen", mix="sluice=1", durable=False)
    gc.collect()

    with penstock.Loader(tmp_path / "photos.pen", shuffle=False) as loader:
        first = next(iter(loader))["image"][0]
    verified = verify(tmp_path / "photos.pen")
    build(tmp_path / "photos.pen", tmp_path / "again.pen", mix="jpeg=1", durable=False)
    build(tmp_path / "photos.pen", tmp_path / "kept.pen", mix="sluice=1", durable=False)
    export(tmp_path / "again.pen", tmp_path / "back")

    np.testing.assert_array_equal(first, penstock.decode(files[0].read_bytes()))
    assert (verified.problems, verified.num_restored, verified.num_proven) == ((), len(files), len(files))
    assert (tmp_path / "back" / "class0" / "000.jpg").read_bytes() == files[0].read_bytes()
    assert open_dataset(tmp_path / "kept.pen").read(3) == open_dataset(tmp_path / "photos.pen").read(3)


def test_an_exported_sluice_file_stands_alone(tmp_path: Path) -> None:
    files = write_jpegs(tmp_path / "photos", 70)
    build(tmp_path / "photos", tmp_path / "photos.pen", mix="sluice=1", durable=False)

    export(tmp_path / "photos.pen", tmp_path / "back", options=ExportOptions(image_format="sluice"))
    gc.collect()

    alone = (tmp_path / "back" / "class0" / "000.sluice").read_bytes()
    assert alone == from_jpeg(files[0].read_bytes())


def test_a_wrong_table_set_in_the_manifest_is_refused(tmp_path: Path) -> None:
    write_jpegs(tmp_path / "photos", 70)
    build(tmp_path / "photos", tmp_path / "photos.pen", mix="sluice=1", durable=False)

    (entry,) = json.loads((tmp_path / "photos.pen" / "manifest.json").read_bytes())["tables"]
    lie = {**entry, "id": "0123456789abcdef"}
    change_manifest(tmp_path / "photos.pen", lambda members: members.update(tables=[lie]))

    with pytest.raises(DatasetError, match="table set 0123456789abcdef has the id"):
        open_dataset(tmp_path / "photos.pen")


def test_verify_finds_a_record_that_does_not_restore_its_file(tmp_path: Path) -> None:
    write_jpegs(tmp_path / "photos", 1)
    build(tmp_path / "photos", tmp_path / "photos.pen", mix="sluice=1", durable=False)
    shard = tmp_path / "photos.pen" / "shards" / "sluice-00000.shard"
    dataset = open_dataset(tmp_path / "photos.pen")
    parts = split(dataset.read(0), 1)

    # Byte 4 belongs to the checksum of the original file, behind version, flags and length.
    lie = bytearray(parts.restoration)
    lie[4] ^= 1
    record = replace(parts, restoration=bytes(lie)).data()
    begin = int(dataset.locations().offset[0])
    data = shard.read_bytes()
    shard.write_bytes(data[:begin] + record + data[begin + len(record) :])
    change_index(tmp_path / "photos.pen", partial(with_checksum, checksum=_native.crc32c(record)))

    assert penstock.decode(record).shape == (40, 70, 3)
    found = verify(tmp_path / "photos.pen").problems
    assert any("not the file that was taken apart" in problem.what for problem in found), found


def with_checksum(table: pa.Table, checksum: int) -> pa.Table:
    number = table.schema.get_field_index("image.checksum")
    return table.set_column(number, "image.checksum", pa.array([checksum], pa.uint32()))
