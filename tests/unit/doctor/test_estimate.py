"""What Penstock would buy is said before anything is converted, from the data that the command was seen to read."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.doctor import Observed, estimate
from penstock.profile.disk import DiskProbe
from penstock.profile.measure import ProfileOptions
from penstock.synth import Scenes, write

SOON = ProfileOptions(
    sample=4, formats="raw", repeat_seconds=0.002, disk=DiskProbe(file_bytes=4 << 20, repeats=1, num_small_reads=64)
)


@pytest.fixture(scope="module")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("doctor") / "photos"
    write(folder, images=20, scenes=Scenes(width=64, height=64, classes=2))
    return folder


def test_a_stalled_run_would_be_as_fast_as_its_steps(photos: Path) -> None:
    observed = Observed(101, 9.0, 1.0, 0.0, 10.0, 1.0, 2, 0, batch_size=4)
    found = estimate(observed, photos, SOON)
    assert found is not None
    assert (found.today, found.compute) == pytest.approx((40.0, 400.0))
    assert found.from_folder == pytest.approx(400.0)  # small images: the loader is never what one waits for
    assert "10.00 times" in " ".join(found.sentences())


def test_without_batches_nothing_is_estimated(photos: Path) -> None:
    assert estimate(Observed(0, 0.0, 0.0, 0.0, 1.0, 1.0, 2, 0), photos) is None
