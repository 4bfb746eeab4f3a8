"""Profiles come back from their document as they were."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from penstock.errors import ArgumentError
from penstock.plan import Goals, make_plan
from penstock.profile.profile_values import Measurement, read_profile, write_profile
from tests.unit.plan.conftest import make_profile

PROFILE = make_profile({"png": (1.0, 20.0), "raw": (3.0, 0.5)}, source="png", disk=1e9, spread=0.3)


def test_a_profile_survives_its_document() -> None:
    again = read_profile(write_profile(PROFILE))
    assert again.images == PROFILE.images
    assert again.disk == PROFILE.disk
    assert again.dataset == PROFILE.dataset
    for name, costs in PROFILE.formats.items():
        np.testing.assert_array_equal(again.formats[name].bytes, costs.bytes)
        np.testing.assert_array_equal(again.formats[name].psnr, costs.psnr)
    assert write_profile(again) == write_profile(PROFILE)


def test_estimates_follow_pixels_and_source_bytes() -> None:
    size, _ = PROFILE.estimates("raw")
    assert size.per_pixel == pytest.approx(3.0, rel=1e-2)
    assert size.relative_error < 1e-2


def test_more_cores_than_were_measured_go_on_at_the_last_slope() -> None:
    assert PROFILE.speedup(1.5) == pytest.approx(1.5)
    assert PROFILE.speedup(4) == pytest.approx(4)


def test_cores_that_a_loader_does_not_get_count_for_nothing() -> None:
    assert PROFILE.utilisation == 1.0
    busy = replace(PROFILE, busy_cores=Measurement(1.9, 1.8, 1.95))
    assert busy.utilisation == pytest.approx(0.95)
    again = read_profile(write_profile(busy))
    assert again.busy_cores == busy.busy_cores
    goals = Goals(memory_bytes=0, disk_bytes_per_second=1e12)
    rates = [make_plan(one, goals).chosen.rates.decode for one in (PROFILE, busy)]
    assert rates[1] / rates[0] == pytest.approx(0.95)


@pytest.mark.parametrize(
    ("path", "value", "where"),
    [
        ("images", [], "penstock profile.images"),
        ("formats.png.bytes", [1, 2], "penstock profile.formats.png.bytes"),
        ("formats.png.bytes", "many", "penstock profile.formats.png.bytes"),
        ("formats.png.decode_seconds", [1e300] * len(PROFILE.images), "penstock profile.formats.png.decode_seconds"),
        ("formats.png.bytes", [-1] * len(PROFILE.images), "penstock profile.formats.png.bytes"),
        ("machine.cores", 0, "penstock profile.machine.cores"),
        ("disk.bytes_per_second.median", -1, "penstock profile.disk.bytes_per_second.median"),
        ("disk", None, "penstock profile.disk"),
    ],
)
def test_a_damaged_profile_is_refused_with_the_place(path: str, value: object, where: str) -> None:
    members = json.loads(write_profile(PROFILE))
    *folders, name = path.split(".")
    place = members
    for folder in folders:
        place = place[folder]
    place[name] = value
    with pytest.raises(ArgumentError) as refusal:
        read_profile(json.dumps(members).encode())
    assert refusal.value.where == where
