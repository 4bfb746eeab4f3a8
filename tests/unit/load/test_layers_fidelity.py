"""A dataset of Sluice in two layers: blocks, prefixes, suffix reads, schedules, and the way back to the sources."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock
from penstock.build import build
from penstock.codecs.sluice import first_layer_bytes
from penstock.errors import ArgumentError, PenstockError
from penstock.export import export
from tests.progressive_files import build_blocks, write_jpegs

COUNT = 140
BLOCKS = 3
SLACK = BLOCKS * 8192


@pytest.fixture(scope="module")
def blocks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_blocks(tmp_path_factory.mktemp("layers"), COUNT, greys=5, side=24, mix="sluice:layers=2=1")


def loader(path: Path, **options: Any) -> penstock.Loader:  # noqa: ANN401  # those of a Loader
    return penstock.Loader(path, batch_size=16, threads=2, **options)


def epoch_of(source: penstock.Loader) -> dict[int, np.ndarray[Any, Any]]:
    found: dict[int, np.ndarray[Any, Any]] = {}
    for batch in source:
        for sample, image in zip(batch["id"].tolist(), batch["image"], strict=True):
            assert sample not in found
            found[sample] = np.array(image)
    return found


def sizes_of(path: Path) -> dict[int | None, int]:
    dataset = penstock.Dataset(path)
    return {k: sum(len(dataset.read(sample, fidelity=k)) for sample in range(COUNT)) for k in (1, 2, None)}


def test_a_piece_is_a_layer(blocks: Path) -> None:
    dataset = penstock.Dataset(blocks)
    for sample in (0, 70, COUNT - 1):
        whole = dataset.read(sample)
        assert dataset.read(sample, fidelity=1) == whole[: first_layer_bytes(whole)]
        assert dataset.read(sample, fidelity=2) == whole


@pytest.mark.parametrize(("fidelity", "cache"), [(1, "system"), (1, "pinned"), (2, "rolling"), (None, "system")])
def test_images_are_those_of_the_layers_that_were_asked_for(blocks: Path, fidelity: int | None, cache: str) -> None:
    dataset = penstock.Dataset(blocks)
    with loader(blocks, fidelity=fidelity, cache=cache, channels="unchanged") as source:
        for _ in range(2):
            found = epoch_of(source)
            assert sorted(found) == list(range(COUNT))
            for sample in range(0, COUNT, 13):
                expected = penstock.decode(dataset.read(sample, fidelity=fidelity))
                np.testing.assert_array_equal(found[sample].reshape(expected.shape), expected)


def test_a_block_is_read_once_and_only_as_far_as_needed(blocks: Path) -> None:
    sizes = sizes_of(blocks)
    for fidelity, wanted in sizes.items():
        with loader(blocks, fidelity=fidelity) as source:
            epoch_of(source)
            stats = source.stats()
        assert stats["num_reads"] == BLOCKS
        assert wanted <= stats["bytes_read"] <= wanted + SLACK
        assert stats["bytes_saved"] == sizes[None] - wanted
    assert sizes[1] < 0.75 * sizes[None]


def test_raising_the_fidelity_reads_only_the_second_layer(blocks: Path) -> None:
    sizes = sizes_of(blocks)
    with loader(blocks, fidelity=[(0, 1), (1, None), (2, 1)], cache="rolling", memory="256MiB") as source:
        epoch_of(source)
        before = source.stats()["bytes_read"]
        raised = epoch_of(source)
        read = source.stats()["bytes_read"] - before
        assert sizes[2] - sizes[1] <= read <= sizes[2] - sizes[1] + SLACK
        dataset = penstock.Dataset(blocks)
        for sample in (0, 99):
            np.testing.assert_array_equal(raised[sample], penstock.decode(dataset.read(sample)))
        before = source.stats()["bytes_read"]
        epoch_of(source)
        assert source.stats()["bytes_read"] == before


def test_without_shuffling_each_sample_is_read_alone(blocks: Path) -> None:
    dataset = penstock.Dataset(blocks)
    with loader(blocks, fidelity=1, shuffle=False, channels="unchanged") as source:
        found = epoch_of(source)
    expected = penstock.decode(dataset.read(3, fidelity=1))
    np.testing.assert_array_equal(found[3].reshape(expected.shape), expected)


def test_damage_in_the_second_layer_is_found_where_it_is_read(blocks: Path, tmp_path: Path) -> None:
    built = build_blocks(tmp_path, 70, greys=0, side=24, mix="sluice:layers=2=1")
    segments = penstock.Dataset(built).locations().segments
    assert segments is not None
    shard = next((built / "shards").glob("*.shard"))
    data = bytearray(shard.read_bytes())
    data[int(segments.offset[1]) + 20] ^= 0xFF  # of the first image, its second piece
    shard.write_bytes(data)
    with loader(built, fidelity=1) as source:
        assert len(epoch_of(source)) == 70
    with loader(built) as source, pytest.raises(PenstockError):
        epoch_of(source)


def test_an_export_gives_the_sources_back(tmp_path: Path) -> None:
    built = build_blocks(tmp_path, 6, greys=1, side=24, mix="sluice:layers=2:bits=3=1")
    export(built, tmp_path / "back")
    for file in (tmp_path / "source").rglob("*.jpg"):
        assert (tmp_path / "back" / file.relative_to(tmp_path / "source")).read_bytes() == file.read_bytes()


def test_a_sluice_dataset_gets_layers_without_loss(tmp_path: Path) -> None:
    plain = build_blocks(tmp_path, 6, greys=1, side=24, mix="sluice=1")
    build(plain, tmp_path / "layers.pen", mix="sluice:layers=2=1")
    export(tmp_path / "layers.pen", tmp_path / "back")
    for file in (tmp_path / "source").rglob("*.jpg"):
        assert (tmp_path / "back" / file.relative_to(tmp_path / "source")).read_bytes() == file.read_bytes()


def test_bits_without_layers_are_refused_by_a_build(tmp_path: Path) -> None:
    write_jpegs(tmp_path / "source", 2)
    with pytest.raises(ArgumentError, match="without a second layer"):
        build(tmp_path / "source", tmp_path / "out.pen", mix="sluice:bits=2=1")
