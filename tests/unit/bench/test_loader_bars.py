"""The ratios that the loader's benchmark prints."""

from __future__ import annotations

from bench.loader import JOBS
from bench.loader_bars import BARS, CAP, DALI, EXACT, FFCV, SIMPLEJPEG, WEIR, Measured, other_lines, verdicts


def test_a_bar_compares_with_the_fastest_rival_that_ran() -> None:
    found = {
        EXACT: Measured([1500, 1800, 1600], 800, 0.3, 100),
        SIMPLEJPEG: Measured([900, 1000, 1000], 500, 1, 100),
        DALI: Measured([700, 700, 700], 400, 1, 100),
    }

    (verdict,) = verdicts("train224", found)

    assert (verdict.rival, verdict.ratio, verdict.ratio_range, verdict.is_met) == (SIMPLEJPEG, 1.6, (1.6, 1.8), True)
    assert "not run: tf.data, accurate + antialias: met" in str(verdict)[-60:]


def test_a_fast_format_with_too_many_bytes_misses_its_bar() -> None:
    found = {WEIR: Measured([5000], 2500, 0.3, 60), FFCV: Measured([2500], 1300, 9, 100)}

    (verdict,) = verdicts("train224", found)

    assert not verdict.is_met
    assert "60% of its bytes, asked below 50%: MISSED" in str(verdict)


def test_a_late_first_batch_is_pointed_out() -> None:
    found = {EXACT: Measured([1500], 800, 0.6, 100), CAP: Measured([2000], 1000, 2, 100)}

    assert other_lines(found) == [
        f"{EXACT}: 75% of the cap, 80% by CPU time",
        f"slowest first batch: 0.60 s ({EXACT}), asked 0.5 s: MISSED",
    ]


def test_every_bar_names_contenders_of_its_job() -> None:
    for job, bars in BARS.items():
        names = {one.name for one in JOBS[job]}
        assert {name for bar in bars for name in (bar.ours, *bar.rivals)} <= names
