"""Shared parts of accuracy recipes: curves, differences to the source, and a figure of both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from penstock.lab.draw import by_seed, estimates, of_setting, table_of
from penstock.lab.lines import Line
from penstock.lab.statistics import Estimate, estimate, paired_difference
from penstock.lab.work_folder import SOURCE
from penstock.report import Figure, Section
from penstock.report.charts import Series, bars, lines
from penstock.units import bytes_text

VALIDATED_ON = "Validation is on the images as they were, whatever the model was trained on."


def losses(found: Sequence[Line], setting: str = "variant", baseline: str = SOURCE) -> dict[str, Estimate]:
    """Compute the accuracy of each variant minus the baseline's, per seed."""
    groups = of_setting(found, setting)
    against = by_seed(groups.get(baseline, []), "accuracy")
    differences = {
        name: paired_difference(by_seed(group, "accuracy"), against)
        for name, group in groups.items()
        if name != baseline
    }
    return {name: value for name, value in differences.items() if value is not None}


def curves(found: Sequence[Line], setting: str, seconds: Mapping[str, float] | None = None) -> str:
    """Draw mean accuracy over epochs, or over time if `seconds` has each variant's epoch time."""
    series = []
    for name, group in of_setting(found, setting).items():
        scale = seconds[name] if seconds is not None else 1.0
        length = min(len(line.epochs) for line in group)
        points = [estimate([line.epochs[epoch]["accuracy"] for line in group]).mean for epoch in range(length)]
        series.append(Series(name, tuple(((epoch + 1) * scale, value) for epoch, value in enumerate(points))))
    return lines(series, "seconds of training" if seconds is not None else "epochs", "accuracy")


def accuracy_bars(found: Sequence[Line], setting: str) -> str:
    """Draw the best accuracy of each variant with its interval."""
    values = estimates(found, setting, "accuracy")
    groups = [(name, [("accuracy", value.mean)]) for name, value in values.items()]
    intervals = {(name, "accuracy"): (max(0.0, value.low), min(1.0, value.high)) for name, value in values.items()}
    return bars(groups, "best accuracy", intervals)


def accuracy_section(
    title: str, found: Sequence[Line], sizes: Mapping[str, int], agreement: str, setting: str = "variant"
) -> Section:
    """Make a section with bars, curves and a table of differences to the source."""
    values, changes = estimates(found, setting, "accuracy"), losses(found, setting)
    rows = [
        (
            name,
            bytes_text(sizes[name]) if name in sizes else "",
            f"{value.mean * 100:.1f}",
            f"{(value.high - value.low) / 2 * 100:.1f}",
            *(_difference(changes[name]) if name in changes else ("", "")),
        )
        for name, value in values.items()
    ]
    columns = ("variant", "bytes", "accuracy %", "±", "difference to source, points", "95 % interval")
    figures = (
        Figure(accuracy_bars(found, setting), "Best accuracy over the epochs; whiskers: 95 % interval over seeds."),
        Figure(curves(found, setting), "Accuracy after each epoch, mean over seeds."),
    )
    return Section(title, (VALIDATED_ON, *filter(None, (agreement,))), figures, table_of(columns, rows))


def _difference(value: Estimate) -> tuple[str, str]:
    return f"{value.mean * 100:+.1f}", f"{value.low * 100:+.1f} to {value.high * 100:+.1f}"
