"""What comes out of a loader: every sample once, the right pixels, whoever loads them and how."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

import penstock
from penstock import ArgumentError, Loader, PenstockError
from tests.unit.load.conftest import COUNT, KINDS

Pixels = npt.NDArray[np.uint8]


def contents(loader: Loader) -> list[tuple[list[int], bytes]]:
    """Ids and pixels of an epoch's batches."""
    return [(batch["id"].tolist(), batch["image"].tobytes()) for batch in loader]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("batch_size", [1, 7, 64])
def test_every_sample_comes_once_with_its_pixels(
    sets: dict[str, Path], pixels: Pixels, kind: str, batch_size: int
) -> None:
    with Loader(sets[kind], batch_size=batch_size, threads=2) as loader:
        batches = list(loader)

    assert len(batches) == len(loader) == -(-COUNT // batch_size)
    assert sorted(np.concatenate([batch["id"] for batch in batches]).tolist()) == list(range(COUNT))
    assert all((batch["image"] == pixels[batch["id"]]).all() for batch in batches)
    assert all((batch["label"] == batch["id"] // 10).all() for batch in batches)


@pytest.mark.parametrize("kind", KINDS)
def test_threads_change_nothing(sets: dict[str, Path], kind: str) -> None:
    epochs = []
    for threads in (1, 2, 3):
        with Loader(sets[kind], batch_size=8, seed=5, threads=threads) as loader:
            epochs.append([contents(loader), contents(loader)])

    assert epochs[0] == epochs[1] == epochs[2]
    assert epochs[0][0] != epochs[0][1]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("world_size", [2, 3, 8])
def test_ranks_share_the_same_global_batches(sets: dict[str, Path], kind: str, world_size: int) -> None:
    with Loader(sets[kind], batch_size=2 * world_size, drop_last=True) as whole:
        expected = [set(batch["id"].tolist()) for batch in whole]
    ranks = []
    for rank in range(world_size):
        with Loader(sets[kind], batch_size=2, rank=rank, world_size=world_size, drop_last=True) as loader:
            ranks.append([batch["id"].tolist() for batch in loader])

    together = [set().union(*batches) for batches in zip(*ranks, strict=True)]
    assert together == expected


def test_an_epoch_can_be_left_and_the_next_one_starts(folder: Path) -> None:
    with Loader(folder, batch_size=4, seed=1) as loader:
        for _ in loader:
            break
        second = contents(loader)
    with Loader(folder, batch_size=4, seed=1) as loader:
        loader.set_epoch(1)
        assert contents(loader) == second


def test_the_epoch_is_decided_with_the_first_batch(folder: Path) -> None:
    with Loader(folder, batch_size=4, seed=1) as loader:
        iter(loader)  # as Lightning does, before it sets the epoch
        batches = iter(loader)
        loader.sampler.set_epoch(3)
        first = next(batches)["id"].tolist()
        assert loader.epoch == 3
        loader.sampler.set_epoch(7)
        assert len(list(batches)) == 12
        assert loader.epoch == 7
    with Loader(folder, batch_size=4, seed=1) as loader:
        loader.set_epoch(3)
        assert next(iter(loader))["id"].tolist() == first


def test_held_batches_stay_as_they_were(folder: Path, pixels: Pixels) -> None:
    loader = Loader(folder, batch_size=3)
    batches = [*loader, *loader]
    loader.close()
    del loader
    gc.collect()

    assert all((batch["image"] == pixels[batch["id"]]).all() for batch in batches)


def test_arrays_are_handed_on_without_a_copy(folder: Path) -> None:
    with Loader(folder, batch_size=3) as loader:
        image = next(iter(loader))["image"]

    assert image.base is not None
    assert np.shares_memory(np.from_dlpack(image), image)


def test_order_without_shuffling_is_that_of_the_ids(folder: Path) -> None:
    with Loader(folder, batch_size=16, shuffle=False) as loader:
        assert np.concatenate([batch["id"] for batch in loader]).tolist() == list(range(COUNT))


def test_a_subset_is_chosen_by_ids_mask_or_slice(folder: Path) -> None:
    wanted = [3, 17, 40]
    mask = np.zeros(COUNT, bool)
    mask[wanted] = True
    for subset in (wanted, mask, np.array(wanted)):
        with Loader(folder, subset=subset) as loader:
            assert sorted(batch["id"][0] for batch in loader) == wanted
    with Loader(folder, subset=slice(0, 10, 3)) as loader:
        assert sorted(batch["id"][0] for batch in loader) == [0, 3, 6, 9]


@pytest.mark.parametrize("subset", [[COUNT], [1, 1], np.ones(3, bool), []])
def test_a_wrong_subset_is_refused(folder: Path, subset: object) -> None:
    with pytest.raises(ArgumentError):
        Loader(folder, subset=subset)  # type: ignore[arg-type]


def test_sizes_that_differ_give_a_list(tmp_path: Path) -> None:
    images = [np.full((8 + number % 3, 9, 3), number, np.uint8) for number in range(12)]
    for number, image in enumerate(images):
        (tmp_path / f"{number:02d}.png").write_bytes(penstock.encode(image, "png"))

    with Loader(tmp_path, batch_size=4) as loader:
        for _ in range(2):
            for batch in loader:
                assert isinstance(batch["image"], list)
                for sample, image in zip(batch["id"], batch["image"], strict=True):
                    assert (image == images[sample]).all()


@pytest.mark.parametrize(
    ("channels", "shape"), [("RGB", (2, 6, 7, 3)), ("L", (2, 6, 7, 1)), ("unchanged", (2, 6, 7, 1))]
)
def test_grey_images_get_the_channels_asked_for(tmp_path: Path, channels: str, shape: tuple[int, ...]) -> None:
    for number in range(2):
        (tmp_path / f"{number}.png").write_bytes(penstock.encode(np.full((6, 7), 50 + number, np.uint8), "png"))

    with Loader(tmp_path, batch_size=2, channels=channels, shuffle=False) as loader:
        (batch,) = loader
    assert batch["image"].shape == shape
    assert (batch["image"][1] == 51).all()


def test_tuples_have_the_fields_in_the_order_asked_for(folder: Path) -> None:
    with Loader(folder, batch_size=10, as_tuple=("label", "image")) as loader:
        for label, image in loader:
            assert label.shape == (10,)
            assert image.shape == (10, 32, 40, 3)
    with pytest.raises(ArgumentError, match="no 'mask'"):
        Loader(folder, as_tuple=("mask",))


def test_loaders_beside_each_other_do_not_mix(folder: Path) -> None:
    with Loader(folder, batch_size=5, seed=1) as first, Loader(folder, batch_size=5, seed=2) as second:
        expected = [contents(first), contents(second)]
    with Loader(folder, batch_size=5, seed=1) as first, Loader(folder, batch_size=5, seed=2) as second:
        both = list(zip(first, second, strict=True))
    found = [[(batch["id"].tolist(), batch["image"].tobytes()) for batch in side] for side in zip(*both, strict=True)]
    assert found == expected


def test_trainers_find_what_they_look_for(folder: Path) -> None:
    with Loader(folder, batch_size=8, drop_last=True) as loader:
        loader.sampler.set_epoch(4)
        assert loader.epoch == 4
        assert (loader.batch_size, loader.drop_last, len(loader)) == (8, True, 6)
        assert len(loader.dataset) == COUNT


def test_a_lost_loader_ends_its_threads(folder: Path) -> None:
    def threads() -> int:
        return len(list(Path("/proc/self/task").iterdir()))

    before = threads()
    loader = Loader(folder, batch_size=4)
    next(iter(loader))
    assert threads() > before
    del loader

    assert threads() == before


def test_work_per_batch_in_python_does_not_grow_with_the_batch(folder: Path) -> None:
    def calls(batch_size: int) -> int:
        count = 0

        def tally(frame: object, event: str, argument: object) -> None:
            nonlocal count
            count += event in ("call", "c_call")

        with Loader(folder, batch_size=batch_size, drop_last=True) as loader:
            batches = iter(loader)
            next(batches)
            sys.setprofile(tally)
            try:
                next(batches)
            finally:
                sys.setprofile(None)
        return count

    assert calls(2) == calls(12) < 100


def test_ctrl_c_ends_the_wait(folder: Path) -> None:
    code = f"""
import penstock, sys
loader = penstock.Loader({str(folder)!r}, batch_size=4)
loader.runner.pipeline.stall(None, 3.0, 1000)
try:
    print("waiting", flush=True)
    list(loader)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        waiting = process.stdout.readline()
        process.send_signal(signal.SIGINT)
        interrupted = process.stdout.readline()
        process.kill()
    assert (waiting, interrupted) == ("waiting\n", "interrupted\n")


def test_a_fork_is_told_to_make_its_own(folder: Path) -> None:
    with Loader(folder, batch_size=4) as loader:
        child = os.fork()
        if child == 0:
            try:
                next(iter(loader))
            except PenstockError as error:
                os._exit(0 if "after the fork" in error.fix else 3)
            os._exit(4)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert len(list(loader)) == 13


def test_stats_say_what_was_done(folder: Path) -> None:
    with Loader(folder, batch_size=10) as loader:
        list(loader)
        stats = loader.stats()

    assert stats["num_samples"] == COUNT
    assert stats["num_batches"] == 5
    assert stats["bytes_read"] == sum(path.stat().st_size for path in folder.rglob("*.png"))
    assert stats["num_errors"] == 0
    assert stats["bottleneck"] in ("storage", "decode", "compute")
