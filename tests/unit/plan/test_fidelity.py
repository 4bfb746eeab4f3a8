"""Fidelity in a plan: recommended where the disk is slow, refused where decoding is."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from penstock.plan import Goals, make_plan, write_plan
from penstock.profile import FormatCosts, Profile, read_profile, write_profile
from tests.unit.plan.conftest import MEGABYTE, make_profile

SHARES = {1: (0.06, 0.90), 2: (0.13, 0.95), 5: (0.45, 0.985), 10: (0.96, 1.0)}
"""Of the source's bytes, and MS-SSIM."""


def with_fidelities(profile: Profile, slower: float) -> Profile:
    """The profile, and JPEGs that take so many times the CPU as pjpeg at full fidelity, half of it at none."""
    source = profile.formats["jpeg"]
    fidelities = {
        scans: FormatCosts(
            is_exact=scans == 10,
            bytes=source.bytes * share,
            decode_seconds=source.decode_seconds * slower * (1 + share) / 2,
            encode_seconds=source.encode_seconds,
            ms_ssim=np.full(len(source.bytes), quality),
            psnr=np.full(len(source.bytes), 30.0),
        )
        for scans, (share, quality) in SHARES.items()
    }
    return replace(profile, fidelities=fidelities)


def profile_at(disk: float, decode_milliseconds: float) -> Profile:
    formats = {"jpeg": (0.1, decode_milliseconds), "raw": (0.6, 0.5)}
    return with_fidelities(make_profile(formats, source="jpeg", disk=disk), slower=3.0)


def test_a_slow_disk_is_advised_to_read_less() -> None:
    plan = make_plan(profile_at(10 * MEGABYTE, 2.0), Goals())
    assert plan.fidelity is not None
    assert plan.fidelity.is_recommended
    assert plan.fidelity.scans == 2
    assert plan.fidelity.reason == plan.explanation[-1]
    assert "fidelity 2 of 10" in plan.explanation[-1]
    rates = [row.rates.end_to_end for row in plan.fidelity.rows]
    assert rates == sorted(rates, reverse=True)
    assert json.loads(write_plan(plan))["fidelity"]["scans"] == 2


def test_a_threshold_of_quality_chooses_the_fidelity() -> None:
    profile = profile_at(10 * MEGABYTE, 2.0)
    chosen = [make_plan(profile, Goals(min_ms_ssim=least)).fidelity for least in (0.5, 0.97, 0.999)]
    assert [advice.scans for advice in chosen if advice is not None] == [1, 5, 10]


def test_where_decoding_is_the_bottleneck_pjpeg_is_not_recommended() -> None:
    plan = make_plan(profile_at(1000 * MEGABYTE, 20.0), Goals())
    assert plan.fidelity is not None
    assert not plan.fidelity.is_recommended
    assert "decoding would be the bottleneck" in plan.explanation[-1]
    assert "pjpeg" not in " ".join(plan.mix)


def test_a_model_that_waits_for_nothing_needs_no_fidelity() -> None:
    plan = make_plan(profile_at(1000 * MEGABYTE, 2.0), Goals(compute_rate=5.0))
    assert plan.fidelity is not None
    assert not plan.fidelity.is_recommended


def test_fidelities_are_part_of_a_profile_on_disk() -> None:
    profile = profile_at(10 * MEGABYTE, 2.0)
    again = read_profile(write_profile(profile))
    assert sorted(again.fidelities) == [1, 2, 5, 10]
    assert again.fidelities[5].bytes == pytest.approx(profile.fidelities[5].bytes, abs=1)


def with_layers(profile: Profile, faster: float) -> Profile:
    """The profile, and JPEGs in two layers that decode so many times faster."""
    source = profile.formats["jpeg"]
    layers = {
        number: FormatCosts(
            is_exact=number == 2,
            bytes=source.bytes * share,
            decode_seconds=source.decode_seconds * share / faster,
            encode_seconds=source.encode_seconds,
            ms_ssim=np.full(len(source.bytes), quality),
            psnr=np.full(len(source.bytes), 30.0),
        )
        for number, (share, quality) in {1: (0.36, 0.98), 2: (0.89, 1.0)}.items()
    }
    return replace(profile, layers=layers)


def test_layers_are_advised_where_scans_decode_too_slowly() -> None:
    profile = with_layers(profile_at(100 * MEGABYTE, 20.0), faster=3.0)
    advice = make_plan(profile, Goals(min_ms_ssim=0.97)).fidelity
    assert advice is not None
    assert (advice.format, advice.scans, advice.is_recommended) == ("sluice:layers=2", 1, True)
    assert "Everything in sluice:layers=2, read at fidelity 1 of 2" in advice.reason
    assert [(row.format, row.scans) for row in advice.rows][-2:] == [("sluice:layers=2", 1), ("sluice:layers=2", 2)]


def test_scans_are_advised_where_only_bytes_count() -> None:
    profile = with_layers(profile_at(1 * MEGABYTE, 0.2), faster=3.0)
    advice = make_plan(profile, Goals(min_ms_ssim=0.9)).fidelity
    assert advice is not None
    assert (advice.format, advice.scans) == ("pjpeg", 1)


def test_layers_are_part_of_a_profile_on_disk() -> None:
    profile = with_layers(profile_at(10 * MEGABYTE, 2.0), faster=3.0)
    again = read_profile(write_profile(profile))
    assert sorted(again.layers) == [1, 2]
    assert again.layers[1].bytes == pytest.approx(profile.layers[1].bytes, abs=1)


def test_a_profile_without_fidelities_gives_no_advice() -> None:
    plan = make_plan(make_profile({"png": (1.0, 20.0)}, source="png", disk=1e8), Goals())
    assert plan.fidelity is None
    assert "fidelity" not in json.loads(write_plan(plan))
