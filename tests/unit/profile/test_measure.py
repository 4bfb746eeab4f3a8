"""A profile of real files: exact counts, plausible times, nothing left behind."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from penstock.codecs import encode
from penstock.errors import ArgumentError, CodecError, PenstockError, StorageError
from penstock.plan import Goals, make_plan
from penstock.profile import Disk, FormatCosts, Measurement, Profile, read_profile, write_profile
from penstock.profile.costs import Measured
from penstock.profile.disk import DiskProbe, measure_disk
from penstock.profile.measure import ProfileOptions, measure
from penstock.profile.pipeline import measure_pipeline
from penstock.profile.sampling import stratified
from penstock.testing.codec import sample_image
from penstock.transforms import split

SOON = 0.005
SMALL_DISK = DiskProbe(file_bytes=8 << 20, repeats=1, num_small_reads=64)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("photos")
    for number in range(12):
        place = root / ("cat" if number % 2 else "dog")
        place.mkdir(exist_ok=True)
        stream = io.BytesIO()
        Image.fromarray(sample_image(96 + 8 * number, 128, 3, "uint8")).save(stream, "PNG")
        (place / f"{number}.png").write_bytes(stream.getvalue())
    return root


@pytest.fixture(scope="module")
def profile(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Profile:
    disk = tmp_path_factory.mktemp("disk")
    return measure(
        folder,
        ProfileOptions(
            on=disk, sample=8, transform="train224", compute_rate=100.0, repeat_seconds=SOON, disk=SMALL_DISK
        ),
    )


def test_the_dataset_is_counted(profile: Profile, folder: Path) -> None:
    files = list(folder.rglob("*.png"))
    assert profile.dataset.num_samples == 12
    assert profile.dataset.source_bytes == sum(file.stat().st_size for file in files)
    assert (profile.dataset.num_labels, profile.dataset.source_format) == (2, "png")
    assert len(profile.images) == 8


def test_every_usual_format_is_measured_and_exact(profile: Profile) -> None:
    assert list(profile.formats) == ["png", "raw", "weir:fast", "weir:dense"]
    for costs in profile.formats.values():
        assert costs.is_exact
        assert (costs.bytes > 0).all()
        assert (costs.decode_seconds > 0).all()
    raw = profile.formats["raw"].bytes
    pixels = np.array([image.pixels for image in profile.images])
    np.testing.assert_array_equal(raw, 32 + 3 * pixels)


def test_it_becomes_a_document_and_a_plan(profile: Profile) -> None:
    again = read_profile(write_profile(profile))
    plan = make_plan(again, Goals(memory_bytes=0))
    assert plan.chosen.rates.end_to_end >= 0.98 * plan.rows.single.rates.end_to_end
    assert plan.chosen.rates.compute == 100.0


def test_a_step_is_timed_on_resident_data(folder: Path, tmp_path: Path) -> None:
    seen: list[tuple[int, ...]] = []
    options = ProfileOptions(
        on=tmp_path,
        sample=2,
        formats="raw",
        transform="train224",
        batch_size=4,
        repeat_seconds=SOON,
        disk=SMALL_DISK,
        step=lambda batch: seen.append(batch["image"].shape),
    )
    found = measure(folder, options)
    assert found.compute is not None
    assert found.compute_from == "measured"
    assert set(seen) == {(4, 224, 224, 3)}


def test_lossy_formats_come_with_their_distortion(folder: Path, tmp_path: Path) -> None:
    found = measure(
        folder, ProfileOptions(on=tmp_path, sample=2, formats="jpeg:q=50", repeat_seconds=SOON, disk=SMALL_DISK)
    )
    costs = found.formats["jpeg:q=50"]
    assert not costs.is_exact
    assert ((costs.ms_ssim > 0.3) & (costs.ms_ssim < 1)).all()


def test_jpegs_are_measured_with_restart_markers_too(tmp_path: Path) -> None:
    stream = io.BytesIO()
    Image.fromarray(sample_image(64, 64, 3, "uint8")).save(stream, "JPEG", quality=90)
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "a.jpg").write_bytes(stream.getvalue())
    found = measure(tmp_path / "photos", ProfileOptions(on=tmp_path, repeat_seconds=SOON, disk=SMALL_DISK))
    assert list(found.formats) == ["jpeg", "raw", "weir:fast", "weir:dense", "png", "jpeg:restart", "sluice"]
    assert found.formats["jpeg"].bytes[0] == len(stream.getvalue())
    assert found.formats["jpeg:restart"].is_exact
    assert found.formats["sluice"].is_exact


def test_sluice_keeps_what_it_cannot_restore_and_encodes_what_is_no_jpeg(tmp_path: Path) -> None:
    pixels = sample_image(64, 64, 3, "uint8")
    (tmp_path / "photos").mkdir()
    for name in ("a.jpg", "b.jpg", "c.png"):
        Image.fromarray(pixels).save(tmp_path / "photos" / name)
    Image.fromarray(pixels).convert("CMYK").save(tmp_path / "photos" / "d.jpg")
    found = measure(tmp_path / "photos", ProfileOptions(on=tmp_path, repeat_seconds=SOON, disk=SMALL_DISK))
    assert "sluice" not in found.formats
    costs = found.formats["sluice:q=95"]
    kept = found.formats["jpeg"].bytes == costs.bytes
    assert kept.tolist().count(True) == 1
    assert not costs.is_exact


@pytest.mark.parametrize("content", ["cut", "empty", "text"])
def test_damaged_images_are_left_out_by_name(folder: Path, tmp_path: Path, content: str) -> None:
    photos = tmp_path / "photos"
    shutil.copytree(folder, photos)
    whole = (photos / "cat" / "3.png").read_bytes()
    (photos / "cat" / "3.png").write_bytes(
        {"cut": whole[: len(whole) // 2], "empty": b"", "text": b"no image"}[content]
    )
    options = ProfileOptions(on=tmp_path, formats="raw", repeat_seconds=SOON, disk=SMALL_DISK)
    found = read_profile(write_profile(measure(photos, options)))
    assert list(found.damaged) == ["cat/3.png"]
    assert len(found.images) == len(found.formats["png"].bytes) == 11
    left = [path for path in photos.rglob("*.png") if path.name != "3.png"]
    assert sorted(found.formats["png"].bytes) == sorted(path.stat().st_size for path in left)


def test_a_folder_of_damaged_images_names_one(tmp_path: Path) -> None:
    (tmp_path / "photos").mkdir()
    for name in ("a.png", "b.png"):
        (tmp_path / "photos" / name).write_bytes(b"no image")
    with pytest.raises(CodecError, match=r"no known image format\n  where: [ab].png: byte 0"):
        measure(tmp_path / "photos", ProfileOptions(on=tmp_path, repeat_seconds=SOON, disk=SMALL_DISK))


def test_the_disk_probe_leaves_nothing(tmp_path: Path) -> None:
    found = measure_disk(tmp_path, SMALL_DISK)
    assert found.bytes_per_second.median > 0
    assert found.reads_per_second.median > 0
    assert {probe["pattern"] for probe in found.probes} == {"sequential", "random"}
    assert list(tmp_path.iterdir()) == []


def test_nothing_to_measure_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PenstockError, match="holds no image"):
        measure(tmp_path)
    with pytest.raises(ArgumentError, match="no transform 'crop'"):
        measure(tmp_path, ProfileOptions(transform="crop"))


def test_a_sample_has_every_label_and_every_size() -> None:
    labels = np.repeat(np.arange(10), 100)
    sizes = np.tile(np.arange(100), 10)
    rows = stratified(labels, sizes, 100)
    assert np.bincount(labels[rows]).tolist() == [10] * 10
    assert abs(sizes[rows].mean() - sizes.mean()) < 5
    assert len(set(rows.tolist())) == 100
    assert set(stratified(labels, sizes, 5000)) == set(range(1000))


def test_a_disk_that_cannot_be_written_is_told_before_anything_is_measured(folder: Path) -> None:
    seen: list[str] = []
    with pytest.raises(StorageError, match="the probe of the disk cannot be written") as refusal:
        measure(folder, ProfileOptions(on=Path("/proc")), on_progress=lambda name, *_: seen.append(name))
    assert "--on" in refusal.value.fix
    assert refusal.value.where == "/proc"
    assert seen == []


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a file system needs root")
def test_a_source_on_a_read_only_disk_names_on_and_is_measured_with_it(folder: Path, tmp_path: Path) -> None:
    disk, writable = tmp_path / "disk", tmp_path / "writable"
    disk.mkdir()
    writable.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "penstock-test", str(disk)], capture_output=True, check=False)
    if mounted.returncode != 0:
        pytest.skip("this container may not mount a file system")
    try:
        shutil.copytree(folder, disk / "photos")
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        with pytest.raises(StorageError, match="Read-only file system") as refusal:
            measure(disk / "photos")
        assert "--on" in refusal.value.fix
        options = ProfileOptions(on=writable, sample=2, formats="raw", repeat_seconds=SOON, disk=SMALL_DISK)
        assert measure(disk / "photos", options).dataset.num_samples == 12
        assert list(writable.iterdir()) == []
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_a_sample_has_its_part_of_the_few_that_are_far_larger() -> None:
    sizes = np.full(5000, 1000)
    sizes[::100] = 40_000  # one in a hundred, and more than a quarter of all bytes
    means = [sizes[stratified(np.arange(5000) // 500, sizes, 200, seed=seed)].mean() for seed in range(50)]
    assert np.mean(means) == pytest.approx(sizes.mean(), rel=0.05)


@pytest.mark.parametrize("count", [20, 50, 130])
def test_a_prefix_of_a_sample_is_as_even_as_all_of_it(count: int) -> None:
    sizes = np.arange(10_000)
    rows = stratified(None, sizes, 200)[:count]
    assert sizes[rows].mean() == pytest.approx(sizes.mean(), rel=0.1)
    assert np.diff(np.sort(rows)).max() < 3 * len(sizes) / count


def test_larger_images_cost_the_pipeline_more_by_what_reading_them_takes() -> None:
    size, decode = np.array([1e6, 3e6]), np.array([1e-3, 1e-3])
    costs = FormatCosts(True, size, decode, decode, np.ones(2), np.full(2, np.inf))
    measured = Measured((), {"raw": costs}, {"raw": [b"", b""]}, np.zeros(2))
    disk = Disk(Measurement.exactly(1e9), Measurement.exactly(1e4), Measurement.exactly(0.0), cpu_seconds_per_byte=1e-9)
    found = measured.scaled({"raw": Measurement.exactly(6e-3)}, disk)["raw"].decode_seconds
    np.testing.assert_allclose(found, [4e-3, 8e-3])


def test_the_pipeline_says_how_many_cores_it_kept_busy(tmp_path: Path) -> None:
    images = [encode(sample_image(256, 256, 3, "uint8"), "png")] * 64
    found = measure_pipeline({"png": images}, split(None), 1, tmp_path, seconds=0.1)
    assert found.busy_cores is not None
    assert 0.05 < found.busy_cores.median < 2.5  # one thread decodes, others read and hand over
    assert found.formats["png"].median > 0
    assert list(tmp_path.iterdir()) == []
