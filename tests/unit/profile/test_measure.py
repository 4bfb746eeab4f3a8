"""A profile of real files: exact counts, plausible times, nothing left behind."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from penstock.errors import ArgumentError, PenstockError
from penstock.plan import Goals, make_plan
from penstock.profile import Profile, read_profile, write_profile
from penstock.profile.disk import DiskProbe, measure_disk
from penstock.profile.measure import ProfileOptions, measure
from penstock.profile.sampling import stratified
from penstock.testing.codec import sample_image

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
    assert plan.chosen.rates.end_to_end >= 0.98 * plan.rows[2].rates.end_to_end
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
    assert list(found.formats) == ["jpeg", "raw", "weir:fast", "weir:dense", "png", "jpeg:restart"]
    assert found.formats["jpeg"].bytes[0] == len(stream.getvalue())
    assert found.formats["jpeg:restart"].is_exact


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
