"""Verdicts on published claims from the intervals of repeated measurements. Pure functions.

A claim is shown or contradicted only if a whole 95 % interval says so. Everything else, including single runs, is "not
shown".
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

from penstock.lab.statistics import Estimate


class Verdict(Enum):
    """Verdict of repeated measurements on a claim."""

    SHOWN = "As published: {claim}{evidence}."
    CONTRADICTED = "Disagrees with what was published, that {claim}{evidence}."
    NOT_SHOWN = "Not shown: that {claim}{evidence}."


def judge_above(value: Estimate | None, bound: float = 0.0) -> Verdict:
    """Judge the claim that a quantity is above `bound`.

    >>> judge_above(Estimate(2.0, 1.5, 2.5, 3), 1.0).name, judge_above(Estimate(2.0, 0.5, 3.5, 3), 1.0).name
    ('SHOWN', 'NOT_SHOWN')
    >>> judge_above(Estimate(0.5, 0.4, 0.6, 3), 1.0).name, judge_above(Estimate(2.0, 2.0, 2.0, 1), 1.0).name
    ('CONTRADICTED', 'NOT_SHOWN')
    """
    if value is None or value.count < 2:
        return Verdict.NOT_SHOWN
    if value.low > bound:
        return Verdict.SHOWN
    return Verdict.CONTRADICTED if value.high < bound else Verdict.NOT_SHOWN


def judge_below(value: Estimate | None, bound: float = 0.0) -> Verdict:
    """Judge the claim that a quantity is below `bound`."""
    return _REVERSED[judge_above(value, bound)]


def judge_all(verdicts: Iterable[Verdict]) -> Verdict:
    """Judge a claim that has several parts: one contradicted part contradicts it, and every part must be shown."""
    parts = list(verdicts)
    if Verdict.CONTRADICTED in parts:
        return Verdict.CONTRADICTED
    return Verdict.SHOWN if parts and all(part is Verdict.SHOWN for part in parts) else Verdict.NOT_SHOWN


def judge_any(verdicts: Iterable[Verdict]) -> Verdict:
    """Judge a claim about any of several cases: one that is shown is enough."""
    parts = list(verdicts)
    if Verdict.SHOWN in parts:
        return Verdict.SHOWN
    return Verdict.CONTRADICTED if parts and Verdict.NOT_SHOWN not in parts else Verdict.NOT_SHOWN


def verdict_sentence(verdict: Verdict, claim: str, evidence: str = "") -> str:
    """Say the verdict on a claim, with its evidence in brackets.

    >>> verdict_sentence(Verdict.NOT_SHOWN, "smaller files train faster", "1.1 times, 0.9 to 1.3")
    'Not shown: that smaller files train faster (1.1 times, 0.9 to 1.3).'
    """
    return verdict.value.format(claim=claim, evidence=f" ({evidence})" if evidence else "")


def points_text(value: Estimate) -> str:
    """Format a difference of accuracy in points with its interval.

    >>> points_text(Estimate(0.008, -0.044, 0.06, 3)), points_text(Estimate(0.008, 0.008, 0.008, 1))
    ('+0.8 points, -4.4 to +6.0', '+0.8 points, one run')
    """
    return f"{value.mean * 100:+.1f} points, {_interval(value.count, value.low * 100, value.high * 100, '+.1f')}"


def times_text(value: Estimate) -> str:
    """Format a ratio with its interval.

    >>> times_text(Estimate(1.28, 1.16, 1.43, 3))
    '1.28 times, 1.16 to 1.43'
    """
    return f"{value.mean:.2f} times, {_interval(value.count, value.low, value.high, '.2f')}"


def _interval(count: int, low: float, high: float, form: str) -> str:
    return f"{low:{form}} to {high:{form}}" if count > 1 else "one run"


_REVERSED = {
    Verdict.SHOWN: Verdict.CONTRADICTED,
    Verdict.CONTRADICTED: Verdict.SHOWN,
    Verdict.NOT_SHOWN: Verdict.NOT_SHOWN,
}
