"""A loader at several fidelities: the same samples from fewer bytes, in few reads, and exact when it goes on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock
from penstock.codecs import DecodeOptions, find
from penstock.errors import ArgumentError
from tests.progressive_files import build_blocks, write_jpegs

COUNT = 140
CODEC = find("pjpeg")


@pytest.fixture(scope="module")
def blocks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_blocks(tmp_path_factory.mktemp("fidelity"), COUNT, greys=5, side=24)


def loader(path: Path, **options: Any) -> penstock.Loader:  # noqa: ANN401  # those of a Loader
    return penstock.Loader(path, batch_size=16, threads=2, **options)


def epoch_of(source: penstock.Loader) -> dict[int, np.ndarray[Any, Any]]:
    found: dict[int, np.ndarray[Any, Any]] = {}
    for batch in source:
        for sample, image in zip(batch["id"].tolist(), batch["image"], strict=True):
            assert sample not in found
            found[sample] = np.array(image)
    return found


@pytest.mark.parametrize(
    ("fidelity", "cache"), [(1, "system"), (3, "rolling"), (10, "pinned"), (None, "system"), (None, "rolling")]
)
def test_images_are_those_of_the_scans_that_were_asked_for(blocks: Path, fidelity: int | None, cache: str) -> None:
    dataset = penstock.Dataset(blocks)
    with loader(blocks, fidelity=fidelity, cache=cache, channels="unchanged") as source:
        for _ in range(2):
            found = epoch_of(source)
            assert sorted(found) == list(range(COUNT))
            for sample in (0, 77, COUNT - 1):
                expected = CODEC.decode(dataset.read(sample, fidelity=fidelity), DecodeOptions())
                np.testing.assert_array_equal(found[sample].reshape(expected.shape), expected)


def test_a_block_is_read_once_and_only_as_far_as_needed(blocks: Path) -> None:
    dataset = penstock.Dataset(blocks)
    full = int(dataset.locations().length.sum())
    read = {}
    for fidelity in (1, 2, 5, None):
        with loader(blocks, fidelity=fidelity) as source:
            epoch_of(source)
            stats = source.stats()
        read[fidelity] = stats["bytes_read"]
        wanted = sum(len(dataset.read(sample, fidelity=fidelity)) for sample in range(COUNT))
        assert stats["num_reads"] == 3
        assert wanted <= stats["bytes_read"] <= wanted + 3 * 8192
        assert stats["bytes_saved"] == full - wanted
    assert read[1] < read[2] < read[5] < read[None]


def test_raising_the_fidelity_reads_only_what_is_missing(blocks: Path) -> None:
    dataset = penstock.Dataset(blocks)
    sizes = {k: sum(len(dataset.read(sample, fidelity=k)) for sample in range(COUNT)) for k in (2, 5)}
    with loader(blocks, fidelity=[(0, 2), (2, 5), (4, 2)], cache="rolling", memory="256MiB") as source:
        epoch_of(source)
        before = source.stats()["bytes_read"]
        epoch_of(source)
        assert source.stats()["bytes_read"] == before

        raised = epoch_of(source)
        read = source.stats()["bytes_read"] - before
        assert sizes[5] - sizes[2] <= read <= sizes[5] - sizes[2] + 3 * 8192
        assert epoch_of(source).keys() == raised.keys()
        assert source.stats()["bytes_read"] - before == read

        lowered = epoch_of(source)
        assert source.stats()["bytes_read"] - before == read
    coarse = CODEC.decode(dataset.read(0, fidelity=2), DecodeOptions())
    np.testing.assert_array_equal(lowered[0], coarse)


def test_a_state_goes_on_at_the_fidelity_of_its_epoch(blocks: Path) -> None:
    options = {"fidelity": [(0, 1), (1, 5)], "channels": "unchanged"}
    with loader(blocks, **options) as straight:
        whole = [batches_of(straight), batches_of(straight)]
    with loader(blocks, **options) as first:
        iterator = iter(first)
        head = [next(iterator) for _ in range(4)]
        state = json.loads(json.dumps(first.state_dict()))
    assert state["fidelity"] == 1
    with loader(blocks, fidelity=10, channels="unchanged") as resumed:
        resumed.load_state_dict(state)
        rest = batches_of(resumed)
        assert resumed.fidelity == 10
    assert_equal([*head, *rest], whole[0])


def test_a_fidelity_that_is_set_holds_from_the_next_epoch_on(blocks: Path) -> None:
    with loader(blocks, fidelity=1) as source:
        iterator = iter(source)
        next(iterator)
        source.set_fidelity(5)
        assert source.fidelity == 1
        for _ in iterator:
            pass
        assert source.fidelity == 5
        epoch_of(source)
        source.set_fidelity(None)
        assert source.state_dict()["fidelity"] is None


def test_samples_out_of_order_are_read_alone(blocks: Path) -> None:
    dataset = penstock.Dataset(blocks)
    with loader(blocks, fidelity=2, shuffle=False, channels="unchanged") as source:
        found = epoch_of(source)
        stats = source.stats()
    assert list(found) == list(range(COUNT))
    for sample in (3, COUNT - 1):
        expected = CODEC.decode(dataset.read(sample, fidelity=2), DecodeOptions())
        np.testing.assert_array_equal(found[sample].reshape(expected.shape), expected)
    assert stats["num_reads"] == 2 * COUNT


def test_a_damaged_piece_is_found_at_the_fidelity_that_needs_it(tmp_path: Path) -> None:
    path = build_blocks(tmp_path, 20, greys=0)
    segments = penstock.Dataset(path).locations().segments
    assert segments is not None
    shard = next((path / "shards").iterdir())
    content = bytearray(shard.read_bytes())
    content[int(segments.offset[4 * 7 + 2])] ^= 0xFF
    shard.write_bytes(content)
    with loader(path, fidelity=2) as source:
        assert len(epoch_of(source)) == 20
    with loader(path, fidelity=5, on_error="skip") as source:
        assert sorted(epoch_of(source)) == [sample for sample in range(20) if sample != 7]
        assert "piece 2" in source.stats()["errors"][0]["error"]


def test_blocks_and_whole_records_mix(tmp_path: Path) -> None:
    path = build_blocks(tmp_path, 100, greys=0, mix="pjpeg=0.7,jpeg=0.3")
    dataset = penstock.Dataset(path)
    for cache in ("system", "rolling"):
        with loader(path, fidelity=2, cache=cache) as source:
            for _ in range(2):
                found = epoch_of(source)
                assert sorted(found) == list(range(100))
    for sample in range(0, 100, 9):
        codec = find("jpeg") if dataset.locations().format[sample] == 1 else CODEC
        fidelity = 2 if codec is CODEC else None
        np.testing.assert_array_equal(
            found[sample], codec.decode(dataset.read(sample, fidelity=fidelity), DecodeOptions())
        )


def test_ranks_share_blocks_without_sharing_samples(blocks: Path) -> None:
    found: list[int] = []
    for rank in range(2):
        with loader(blocks, fidelity=1, rank=rank, world_size=2) as source:
            found += list(epoch_of(source))
    assert sorted(found) == list(range(COUNT))


def test_parts_of_blocks_are_loaded(blocks: Path) -> None:
    with loader(blocks, fidelity=2, subset=slice(10, 40)) as source:
        assert sorted(epoch_of(source)) == list(range(10, 40))


@pytest.mark.parametrize("wish", [0, -1, True, [(1, 2)], [(0, 2), (0, 3)], [(0, 0)], []])
def test_a_fidelity_that_cannot_be_is_refused(blocks: Path, wish: object) -> None:
    with pytest.raises(ArgumentError, match=r"fidelity|schedule"):
        loader(blocks, fidelity=wish)


def test_fidelity_of_other_formats_is_refused(tmp_path: Path) -> None:
    write_jpegs(tmp_path / "source", 2)
    with pytest.raises(ArgumentError, match="pjpeg"):
        loader(tmp_path / "source", fidelity=2)


def batches_of(source: penstock.Loader) -> list[dict[str, Any]]:
    return [{**batch, "image": [np.array(image) for image in batch["image"]]} for batch in source]


def assert_equal(found: list[dict[str, Any]], expected: list[dict[str, Any]]) -> None:
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert one["id"].tolist() == other["id"].tolist()
        for image, wanted in zip(one["image"], other["image"], strict=True):
            np.testing.assert_array_equal(image, wanted)
