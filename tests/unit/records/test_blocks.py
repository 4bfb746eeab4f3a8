"""Images in blocks: pieces that join to the image, prefixes that are images, and nothing lost on the way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock
from penstock import _native
from penstock.build import BuildOptions, build
from penstock.codecs import DecodeOptions, find
from penstock.codecs.pjpeg import scan_ends
from penstock.codecs.transcode import transcode
from penstock.export import export
from penstock.records import Dataset, verify
from spec.reference import dataset as reference
from tests.dataset_files import files_of
from tests.progressive_files import build_blocks, picture, write_jpegs

GROUPS = (1, 2, 5, 10)


@pytest.fixture(scope="module")
def blocks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_blocks(tmp_path_factory.mktemp("blocks"))


def test_a_block_is_written_piece_by_piece_and_none_is_lost(blocks: Path) -> None:
    dataset = penstock.Dataset(blocks)
    segments = dataset.locations().segments
    assert segments is not None
    counts = np.diff(segments.begin)
    assert len(dataset) == 70
    assert set(counts.tolist()) == {4}

    in_turn = np.argsort(dataset.locations().offset)
    for block in (in_turn[:64], in_turn[64:]):
        place = segments.offset[4 * block[0]]
        for piece in range(4):
            for sample in block:
                assert segments.offset[4 * sample + piece] == place
                place += segments.length[4 * sample + piece]


def test_pieces_are_scans_of_the_groups_asked_for(blocks: Path) -> None:
    dataset = penstock.Dataset(blocks)
    segments = dataset.locations().segments
    assert segments is not None
    for sample in (0, 69):  # in colour; grey, with six scans
        ends = scan_ends(dataset.read(sample))
        lengths = segments.pieces(sample)[1::2].cumsum().tolist()
        assert lengths == [*(ends[count - 1] for count in GROUPS[:3]), dataset.locations().length[sample]]


def test_every_prefix_of_a_block_decodes_and_all_of_it_is_the_source(blocks: Path) -> None:
    rows = rows_of(blocks)
    last = [block for block in reference.blocks(rows) if len(block) < 64]
    codec = find("pjpeg")
    errors: dict[int, list[float]] = {}
    for num_groups in range(1, 5):
        for sample, data in reference.read_block(blocks, last[0], num_groups).items():
            source = penstock.decode(next((blocks.parent / "source").rglob(f"{key_of(rows, sample)}")).read_bytes())
            pixels = codec.decode(data, DecodeOptions())
            errors.setdefault(sample, []).append(float(np.abs(pixels.astype(int) - source).mean()))
    for found in errors.values():
        assert found == sorted(found, reverse=True)
        assert found[-1] == 0


def test_the_reference_reader_reads_blocks(blocks: Path) -> None:
    dataset = penstock.Dataset(blocks)
    for sample in reference.read_samples(blocks):
        data, _ = sample["image"]
        assert data == dataset.read(sample["id"])
        assert reference.jpeg_file(data) == _native.jpeg_with_segments_in_front(data)


def test_verify_decodes_blocks_and_names_damage(blocks: Path, tmp_path: Path) -> None:
    assert not verify(blocks).problems

    damaged = build_blocks(tmp_path, 5, greys=0)
    shard = next((damaged / "shards").iterdir())
    content = bytearray(shard.read_bytes())
    dataset = Dataset(damaged)
    content[int(dataset.locations().segments.offset[4 * 2 + 1])] ^= 1  # type: ignore[union-attr]
    shard.write_bytes(content)
    found = verify(damaged, quick=True).problems
    assert [problem.key for problem in found] == [dataset.column("key")[2].as_py()]
    assert dataset.read(2, fidelity=1)  # its first piece is sound
    with pytest.raises(penstock.PenstockError, match="checksum"):
        dataset.read(2, fidelity=2)


def test_export_gives_back_the_coefficients_and_the_metadata(tmp_path: Path) -> None:
    from PIL import Image

    exif = Image.Exif()
    exif[0x010F] = "a camera"
    source = write_jpegs(tmp_path / "source", 3)
    Image.fromarray(picture(7)).save(source / "class0" / "exif.jpg", exif=exif, comment=b"a comment", icc_profile=b"x")
    built = build(source, tmp_path / "data.pen", mix="pjpeg=1")
    export(built.path, tmp_path / "back")

    for file in sorted(source.rglob("*.jpg")):
        back = tmp_path / "back" / file.relative_to(source)
        with Image.open(file) as before, Image.open(back) as after:
            assert transcode(file.read_bytes(), "jpeg:optimize") == transcode(back.read_bytes(), "jpeg:optimize")
            assert before.getexif() == after.getexif()
            assert before.info.get("comment") == after.info.get("comment")
            assert before.info.get("icc_profile") == after.info.get("icc_profile")
            assert after.info["progressive"]


def test_metadata_costs_nothing_at_a_low_fidelity(tmp_path: Path) -> None:
    from PIL import Image

    source = tmp_path / "source"
    source.mkdir()
    Image.fromarray(picture(0)).save(source / "plain.jpg")
    Image.fromarray(picture(0)).save(source / "profile.jpg", icc_profile=bytes(5000))
    segments = Dataset(build(source, tmp_path / "data.pen", mix="pjpeg=1").path).locations().segments
    assert segments is not None
    assert segments.pieces(0)[1] == segments.pieces(1)[1]


def test_other_sources_are_encoded_with_a_quality(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    (source / "a.png").write_bytes(penstock.encode(picture(1), "png"))
    built = build(source, tmp_path / "data.pen", mix="pjpeg:q=80=1")
    assert built.manifest.formats["pjpeg:q=80"].encoded == 1
    decoded = penstock.Dataset(built.path)[0]["image"]
    assert 0 < np.abs(decoded.astype(int) - picture(1)).mean() < 16


def test_a_dataset_of_blocks_builds_into_another_format_and_back(blocks: Path, tmp_path: Path) -> None:
    plain = build(blocks, tmp_path / "plain.pen", mix="jpeg=1")
    again = build(plain.path, tmp_path / "again.pen", mix="pjpeg:groups=all=1")
    for one, other in zip(penstock.Dataset(blocks), penstock.Dataset(again.path), strict=True):
        assert one["key"].removesuffix(".jpg") == other["key"].removesuffix(".jpg")
        np.testing.assert_array_equal(one["image"], other["image"])


def test_masks_follow_their_block(tmp_path: Path) -> None:
    write_jpegs(tmp_path / "source" / "images", 3)
    masks = tmp_path / "source" / "masks"
    for number, file in enumerate(sorted((tmp_path / "source" / "images").rglob("*.jpg"))):
        mask = masks / file.relative_to(tmp_path / "source" / "images").with_suffix(".png")
        mask.parent.mkdir(parents=True, exist_ok=True)
        mask.write_bytes(penstock.encode(np.full((40, 48), number, np.uint8), "png"))
    built = build(tmp_path / "source", tmp_path / "data.pen", mix="pjpeg=1")
    assert not verify(built.path).problems


def test_a_killed_build_goes_on_at_a_block(tmp_path: Path) -> None:
    source = write_jpegs(tmp_path / "source", 140, side=24)
    options = BuildOptions(shard_bytes=1 << 16)
    whole = build(source, tmp_path / "whole.pen", mix="pjpeg=1", options=options)
    assert [shard.records for shard in whole.manifest.shards] == [64, 64, 12]

    def stop(stage: str, done: int, total: int) -> None:
        if done == total:
            raise InterruptedError(stage)

    with pytest.raises(InterruptedError):
        build(source, tmp_path / "again.pen", mix="pjpeg=1", options=options, on_progress=stop)
    (tmp_path / "again.pen" / ".build" / "pjpeg-00001.rows").unlink()
    build(source, tmp_path / "again.pen", mix="pjpeg=1", options=options)
    assert files_of(tmp_path / "again.pen") == files_of(tmp_path / "whole.pen")


def rows_of(path: Path) -> list[dict[str, Any]]:
    table = penstock.Dataset(path).columns
    names = ("offset", "length", "shard", "segments")
    return [
        {"id": row["id"], "key": row["key"], **{name: row[f"image.{name}"] for name in names}}
        for row in table.to_pylist()
    ]


def key_of(rows: list[dict[str, Any]], sample: int) -> str:
    return str(rows[sample]["key"]).rpartition("/")[2]
