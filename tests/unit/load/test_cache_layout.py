"""`cached`: other things in memory, the same batches; counted decodes, rooms that hold, and what is refused."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock
from penstock import ArgumentError, CodecError, Loader
from penstock.build import build
from penstock.errors import DatasetError
from penstock.load import cache_layout as layout_module
from penstock.order import RankSchedule
from penstock.order.caches import open_cache
from penstock.order.disk_rates import DiskRates
from penstock.transforms import (
    CenterCrop,
    ColorJitter,
    Normalize,
    RandomCrop,
    RandomHorizontalFlip,
    RandomResizedCrop,
    Resize,
    ToDtype,
)
from tests.progressive_files import build_blocks
from tests.unit.load.counted import memory_of

COUNT = 96
BATCH = 8
FORMS = ("pixels", "weir:fast", "decoded")
CROP = [RandomResizedCrop(16)]
CHAINS: dict[str, Any] = {
    "nothing": None,
    "crop": [CenterCrop(20)],
    "train": [RandomResizedCrop(16), RandomHorizontalFlip(), ToDtype("float32", scale=True), Normalize([0.5], [0.2])],
    "steps": [Resize(40), RandomCrop(24, padding=4), ColorJitter(0.4, 0.4, 0.4, 0.1)],
}
MIXES = {
    "png": "png=1",
    "jpeg": "jpeg:q=90=1",
    "weir": "weir:dense=1",
    "all": "png=0.4,jpeg:q=90=0.2,weir:fast=0.2,raw=0.2",
}
Sets = Callable[[str], Path]


def picture(number: int) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """Of several sizes and kinds; some compress well, some badly."""
    generator = np.random.default_rng(number)
    shape = (48 + number % 7, 64 - number % 5, 3)
    noise = generator.integers(0, 2 + number % 60, shape)
    return np.asarray((noise + np.arange(shape[1])[None, :, None] * 2) % 256, np.uint8)


@pytest.fixture(scope="session")
def sets(tmp_path_factory: pytest.TempPathFactory) -> Sets:
    """Datasets by the name of their mix, made when first asked for."""
    root = tmp_path_factory.mktemp("kept")
    (root / "images").mkdir()
    for number in range(COUNT):
        (root / "images" / f"{number:03d}.png").write_bytes(penstock.encode(picture(number), "png"))

    def dataset(name: str) -> Path:
        path = root / f"{name}.pen"
        if not path.exists():
            build(root / "images", path, mix=MIXES[name])
        return path

    return dataset


@pytest.fixture(scope="session")
def masked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pictures with masks of labels."""
    root = tmp_path_factory.mktemp("masked")
    for number in range(24):
        pictures, masks = (root / "src" / kind / "train" / "a" for kind in ("leftImg8bit", "gtFine"))
        pictures.mkdir(parents=True, exist_ok=True)
        masks.mkdir(parents=True, exist_ok=True)
        image = picture(number)
        name = f"a_{number:06d}_000019"
        (pictures / f"{name}_leftImg8bit.png").write_bytes(penstock.encode(image, "png"))
        labels = (image[:, :, 0] // 40).astype(np.uint8)
        (masks / f"{name}_gtFine_labelIds.png").write_bytes(penstock.encode(labels, "png"))
    build(root / "src", root / "data.pen", mix="png=1")
    return root / "data.pen"


def loader(path: Path, **options: Any) -> Loader:  # noqa: ANN401  # those of a Loader
    return Loader(path, **{"batch_size": BATCH, "transform": CROP, "threads": 2, "memory": "64MiB", **options})


def content(batch: dict[str, Any]) -> dict[str, Any]:
    return {
        name: [image.tobytes() for image in value] if name in ("image", "mask") else np.asarray(value).tolist()
        for name, value in batch.items()
    }


def epochs_of(source: Loader, count: int = 3) -> list[list[dict[str, Any]]]:
    return [[content(batch) for batch in source] for _ in range(count)]


def memory_for(path: Path, share: float, **options: Any) -> int:  # noqa: ANN401  # those of a Loader
    """What leaves a share of the samples their room, in the form they are kept in."""
    with loader(path, memory="1GiB", **options) as source:
        return memory_of(source.plan, share)


@pytest.mark.parametrize("cached", FORMS)
@pytest.mark.parametrize("cache", ["rolling", "pinned"])
@pytest.mark.parametrize("mix", MIXES)
def test_batches_are_the_same_whatever_is_kept(sets: Sets, mix: str, cache: str, cached: str) -> None:
    path = sets(mix)
    with loader(path, cache="none", memory=0) as plain:
        expected = epochs_of(plain)
    with loader(
        path, cache=cache, cache_format=cached, memory=memory_for(path, 0.5, cache=cache, cache_format=cached)
    ) as source:
        assert epochs_of(source) == expected
        stats = source.stats()

    assert stats["hits_per_batch"]["mean"] > 0.3 * BATCH
    assert stats["num_unkept"] <= 3 * stats["cached"]["num_unfit"]  # in every epoch
    assert stats["cached"]["num_unfit"] <= COUNT // 20
    assert stats["peak_memory_bytes"] <= source.plan.resources.memory_bytes


@pytest.mark.parametrize("cached", ["pixels", "weir:fast"])
@pytest.mark.parametrize("channels", ["RGB", "L", "unchanged"])
@pytest.mark.parametrize("chain", CHAINS)
def test_transforms_see_the_same_pixels(sets: Sets, chain: str, channels: str, cached: str) -> None:
    if chain == "steps" and channels == "unchanged":
        channels = "RGB"
    options: dict[str, Any] = {"transform": CHAINS[chain], "channels": channels, "layout": "NCHW"}
    if chain == "train" and channels == "L":
        options["transform"] = CHAINS[chain][:2]
    with loader(sets("all"), cache="none", memory=0, **options) as plain:
        expected = epochs_of(plain)
    with loader(sets("all"), cache="pinned", cache_format=cached, **options) as source:
        assert epochs_of(source) == expected
        assert source.stats()["cached"]["num_decodes_saved"] > COUNT


@pytest.mark.parametrize("cached", ["pixels", "weir:fast"])
@pytest.mark.parametrize("chain", [None, [RandomResizedCrop(16), RandomHorizontalFlip()]], ids=["whole", "crop"])
def test_masks_are_kept_with_their_image(masked: Path, chain: Any, cached: str) -> None:  # noqa: ANN401  # transforms
    with loader(masked, cache="none", memory=0, transform=chain) as plain:
        expected = epochs_of(plain)
    with loader(masked, cache="pinned", cache_format=cached, transform=chain) as source:
        assert epochs_of(source) == expected
        stats = source.stats()

    assert len(source.dataset.image_fields) == 2
    assert stats["cached"]["num_decodes_saved"] == 2 * 24
    assert stats["cached"]["num_unfit"] == 0


@pytest.mark.parametrize("cached", ["pixels", "weir:fast"])
@pytest.mark.parametrize("cache", ["rolling", "pinned"])
def test_ranks_and_states_go_on_the_same(sets: Sets, cache: str, cached: str) -> None:
    path = sets("all")
    options: dict[str, Any] = {
        "cache": cache,
        "cache_format": cached,
        "memory": memory_for(path, 0.3, cache_format=cached),
    }
    for rank in range(2):
        with loader(path, cache="none", memory=0, rank=rank, world_size=2) as plain:
            expected = epochs_of(plain)
        with loader(path, rank=rank, world_size=2, **options) as source:
            assert epochs_of(source) == expected
    with loader(path, cache="none", memory=0) as plain:
        straight = epochs_of(plain)
    with loader(path, **options) as first:
        list(first)
        batches = iter(first)
        head = [content(next(batches)) for _ in range(5)]
        state = first.state_dict()
    with loader(path, **options) as second:
        second.load_state_dict(state)
        rest = epochs_of(second, 2)
    assert [head + rest[0], rest[1]] == straight[1:]


def test_windows_keep_decoded_what_they_read_ahead(sets: Sets) -> None:
    path = sets("png")
    with loader(path, cache="none", memory=0, window=4) as plain:
        expected = epochs_of(plain)
    for cache in ("rolling", "pinned"):
        with loader(path, cache=cache, cache_format="pixels", window=4) as source:
            assert epochs_of(source) == expected
            assert source.stats()["cached"]["num_decodes_saved"] >= 2 * COUNT
            assert source.stats()["cached"]["num_recoded"] == COUNT


@pytest.mark.parametrize("cached", ["pixels", "weir:fast"])
@pytest.mark.parametrize("share", [0.1, 0.3, 0.7, 1.0])
@pytest.mark.parametrize("cache", ["rolling", "pinned"])
def test_hits_decodes_and_bytes_are_what_the_schedule_says(sets: Sets, cache: str, share: float, cached: str) -> None:
    path = sets("png")
    with loader(
        path,
        cache=cache,
        cache_format=cached,
        memory=memory_for(path, share, cache=cache, cache_format=cached),
        overlap_epochs=False,  # between epochs, memory holds what the last one left
    ) as source:
        expected = open_cache(
            cache, RankSchedule(source.plan.order, BATCH), _sizes(source), source.plan.memory.cache_bytes
        )
        num_hits = num_entered = 0
        for number in range(4):
            list(source)
            cache_plan = expected.epoch(number)
            assert source.runner.progress.hits == cache_plan.hits_per_batch.tolist()
            num_hits += int(cache_plan.hits.sum())
            num_entered += int((cache_plan.keeps & ~cache_plan.hits).sum())
            assert source.stats()["cache_bytes"] <= cache_plan.resident_bytes[-1] <= source.plan.memory.cache_bytes
            if cache == "rolling" and number:
                assert np.ptp(source.runner.progress.hits) <= 2
        stats = source.stats()

    assert stats["num_unkept"] == stats["cached"]["num_unfit"] == 0
    assert stats["cached"]["num_decodes_saved"] == num_hits
    assert stats["cached"]["num_recoded"] == num_entered
    assert stats["peak_memory_bytes"] <= source.plan.resources.memory_bytes
    assert num_hits >= 3 * (share - 0.1) * COUNT


def _sizes(source: Loader) -> np.ndarray[Any, np.dtype[np.int64]]:
    assert source.plan.cache_layout.sizes is not None
    return source.plan.cache_layout.sizes


@pytest.mark.parametrize("room", [0.9, 0.2], ids=["encoded fits", "nothing fits"])
def test_what_does_not_fit_its_room_changes_no_batch(sets: Sets, monkeypatch: pytest.MonkeyPatch, room: float) -> None:
    path = sets("png")
    with loader(path, cache="none", memory=0) as plain:
        expected = epochs_of(plain)
    pixels = penstock.Dataset(path).locations()
    encoded = pixels.length / (pixels.width.astype(np.int64) * pixels.height * 3)
    monkeypatch.setattr(layout_module, "scaled_sizes", lambda sizes, _: np.asarray(sizes * room, np.int64))
    with loader(path, cache="pinned", cache_format="pixels", overlap_epochs=False) as source:
        assert epochs_of(source) == expected
        stats, hits = source.stats(), sum(source.runner.progress.hits)

    assert stats["cached"]["num_unfit"] == COUNT
    assert stats["cached"]["num_decodes_saved"] == 0
    fitting = int((encoded <= room).sum())
    assert abs(hits - fitting) <= 2
    assert stats["num_unkept"] == 3 * (COUNT - hits)
    assert stats["cache_bytes"] <= _sizes(source).sum()


def test_what_is_chosen_is_measured(tmp_path: Path) -> None:
    # A few pixels of a large image: of a PNG half has to be inflated first, which takes thousands of times as long.
    (tmp_path / "images").mkdir()
    for number in range(16):
        noise = np.random.default_rng(number).integers(0, 16, (512, 512, 3), np.uint8)
        (tmp_path / "images" / f"{number}.png").write_bytes(penstock.encode(noise, "png"))
    build(tmp_path / "images", tmp_path / "noise.pen", mix="png=0.5,raw=0.5")
    with loader(tmp_path / "noise.pen", cache_format="decoded", memory="256MiB", transform=[CenterCrop(16)]) as source:
        cached = source.stats()["cached"]
    assert cached["formats"]["raw"] == "encoded"
    assert cached["formats"]["png"] in ("pixels", "weir:fast")
    png = cached["measured"]["formats"]["png"]["forms"]
    assert set(png) == {"encoded", "pixels", "weir:fast"}
    assert png["pixels"]["hit_seconds"] < png["encoded"]["hit_seconds"]
    assert cached["measured"]["expected_seconds"] < cached["measured"]["expected_seconds_encoded"]


def test_on_a_disk_that_gives_hardly_anything_most_is_found_encoded(
    sets: Sets, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(layout_module, "measure_disk", lambda _: DiskRates(1e3, 1e3))
    memory = memory_for(sets("jpeg"), 0.5, cache_format="encoded", cache="rolling")
    with loader(sets("jpeg"), cache_format="decoded", cache="rolling", memory=memory) as source:
        assert source.stats()["cached"]["formats"] == {"jpeg:q=90": "encoded"}


def test_decoded_takes_a_cache_of_its_own(sets: Sets) -> None:
    with loader(sets("png"), cache_format="pixels") as source, loader(sets("png")) as plain:
        assert source.stats()["resources"]["cache"] == "rolling"
        assert plain.stats()["resources"]["cache"] == "system"
        assert plain.stats()["cached"]["wanted"] == "encoded"
    with loader(sets("png"), cache_format="decoded", memory=0) as source:
        list(source)
        assert source.stats()["cached"]["formats"] == {}
        assert source.stats()["cache_bytes"] == 0


def test_memory_that_only_encoding_lacks_is_no_reason_to_refuse(sets: Sets) -> None:
    def least(cached: str) -> int:
        with pytest.raises(ArgumentError) as caught:
            loader(sets("png"), cache_format=cached, cache="pinned", memory=1000)
        return int(caught.value.fix.split()[3])

    assert least("decoded") == least("pixels") < least("weir:fast")
    with loader(sets("png"), cache_format="decoded", cache="pinned", memory=least("decoded")) as source:
        assert sum(len(batch["id"]) for batch in source) == COUNT


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cache_format": "everything"}, "cache_format is 'everything'"),
        ({"cache_format": "pixels", "cache": "liquid"}, "order of the liquid cache"),
        ({"cache_format": "decoded", "cache": "system"}, 'cache="system" keeps no samples'),
        ({"cache_format": "decoded", "cache": "none"}, 'cache="none" keeps no samples'),
        ({"cache_format": "decoded", "decode": "approximate"}, "approximate decoding"),
    ],
)
def test_what_cannot_be_is_refused_by_name(sets: Sets, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message) as caught:
        loader(sets("png"), **options)
    assert caught.value.where == "cache_format"
    assert caught.value.fix


def test_folders_and_blocks_are_refused_with_what_to_do(sets: Sets, tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="plain folder") as caught:
        loader(sets("png").parent / "images", cache_format="decoded")
    assert "penstock build" in caught.value.fix
    with pytest.raises(ArgumentError, match="images in blocks"):
        loader(build_blocks(tmp_path, 70, side=24), cache_format="pixels")


@pytest.mark.parametrize("verify", ["first", "never"])
@pytest.mark.parametrize("cached", FORMS)
@pytest.mark.parametrize("on_error", ["raise", "skip", "replace"])
def test_a_damaged_sample_fails_as_it_does_without(
    sets: Sets, tmp_path: Path, on_error: str, cached: str, verify: str
) -> None:
    path = tmp_path / "data.pen"
    shutil.copytree(sets("png"), path)
    place = penstock.Dataset(path).locations()
    shard = path / place.shard_files[place.file[40]]
    data = bytearray(shard.read_bytes())
    begin = int(place.offset[40]) + int(place.length[40]) // 2
    data[begin : begin + 40] = bytes(40)
    shard.write_bytes(data)

    def outcome(**options: Any) -> tuple[list[Any], str, int]:  # noqa: ANN401  # those of a Loader
        with loader(path, on_error=on_error, verify=verify, **options) as source:
            found: list[Any] = []
            try:
                for _ in range(3):
                    found += [content(batch) for batch in source]
            except (CodecError, DatasetError) as error:
                return found, str(error), source.stats()["num_failed_samples"]
            return found, "", source.stats()["num_failed_samples"]

    assert outcome(cache="pinned", cache_format=cached) == outcome(cache="none", memory=0)


def test_a_sample_whose_crop_is_sound_is_delivered_and_not_kept_decoded(tmp_path: Path) -> None:
    (tmp_path / "images").mkdir()
    for number in range(16):
        data = penstock.encode(np.resize(picture(number), (256, 256, 3)), "weir:fast")
        (tmp_path / "images" / f"{number:02d}.weir").write_bytes(data)
    path = tmp_path / "data.pen"
    build(tmp_path / "images", path, mix="weir:fast=1")
    place = penstock.Dataset(path).locations()
    shard = path / place.shard_files[place.file[5]]
    data_bytes = bytearray(shard.read_bytes())
    begin = int(place.offset[5])
    last_tile = begin + int.from_bytes(data_bytes[begin + 32 + 15 * 4 :][:4], "little")
    data_bytes[last_tile : last_tile + 16] = b"\xff" * 16  # which a crop of the middle does not touch
    shard.write_bytes(data_bytes)

    options: dict[str, Any] = {"transform": [CenterCrop(64)], "verify": "never", "batch_size": 4}
    with loader(path, cache="none", memory=0, **options) as plain:
        expected = epochs_of(plain)
    with loader(path, cache="pinned", cache_format="pixels", **options) as source:
        assert epochs_of(source) == expected
        assert source.stats()["cached"]["num_unfit"] == 1
        assert sum(source.runner.progress.hits) == 16  # it is there as it was


def test_tensors_keep_decoded_too(sets: Sets) -> None:
    pytest.importorskip("torch")
    from penstock.torch import Loader as TensorLoader

    options: dict[str, Any] = {"batch_size": BATCH, "transform": CROP, "threads": 2}
    with TensorLoader(sets("png"), cache="none", **options) as plain:
        expected = [batch["image"].numpy().tobytes() for batch in plain]
    with TensorLoader(sets("png"), cache_format="pixels", memory="64MiB", **options) as source:
        list(source)
        source.set_epoch(0)
        assert [batch["image"].numpy().tobytes() for batch in source] == expected
