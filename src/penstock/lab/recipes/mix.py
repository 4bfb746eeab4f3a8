"""`mix`: load and decode rates over the share of a second format; where they cross, both finish together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import ClassVar

from penstock.documents import Json
from penstock.lab.draw import by_seed, of_setting, series_of, table_of
from penstock.lab.lines import Line, measured
from penstock.lab.recipes.contract import Cell, DataFacts, Findings, Recipe, wrong_setting
from penstock.lab.recipes.holding import disk_limits
from penstock.lab.statistics import Estimate, estimate, paired_ratio
from penstock.lab.verdict import judge_above, judge_all, judge_below, times_text, verdict_sentence
from penstock.lab.work_folder import SOURCE
from penstock.limits import Limits
from penstock.rates import best_share, break_even_bandwidth, mixed_rate
from penstock.report import Figure, Section
from penstock.report.charts import Mark, Series, lines

STAGES = {"load_rate": "load", "decode_rate": "decode", "both_rate": "end to end"}
CURVE = tuple(number / 20 for number in range(21))
TALLEST = 2.5
"""Times the best rate that a figure reaches up: a stage that is far faster than the other is of no interest."""
LITTLE = 1.05
PUBLISHED_PAIRS = {
    frozenset(("png", "raw")): True,
    frozenset(("png", "webp:lossless")): False,
    frozenset(("png", "jpeg")): True,
}
"""Published verdict on each pair, by Liquid Fig 3a (its raw images are BMP files)."""


@dataclass(frozen=True, kw_only=True)
class Mix(Recipe):
    """Varies pairs of formats and the second one's share; holds images, threads, disk. Measures each stage's rate."""

    name: ClassVar[str] = "mix"
    question: ClassVar[str] = "load and decode rate over the mixing ratio, measured and predicted"
    published: ClassVar[str] = (
        "Liquid (APSys'23) Fig 3 and 6: the best mix sits where load and decode rates cross, raw-heavy (3:7) on few "
        "cores, PNG-heavy (7:3) on many; mixing PNG with BMP or JPEG pays, with lossless WebP it does not."
    )

    pairs: tuple[str, ...] = ("png+raw", "png+jpeg", "png+webp:lossless", "jpeg+weir")
    shares: tuple[float, ...] = (0.0, 0.25, 0.5, 0.75, 1.0)
    """Shares of the second format."""
    disk: str = "auto"
    """`auto`: for each pair the disk on which mixing it has most to gain. Else as 100MB/s; none: the disk as it is."""
    rivals: tuple[str, ...] = ("torch", "dali")
    """Loaders that are run on the folder as it is, on the first pair's disk."""
    seconds: float = 1.0
    size: int = 0
    batch_size: int = 16

    def check(self) -> None:
        """Check the settings, including the pairs of formats."""
        super().check()
        if not self.pairs or not all(all(pair.partition("+")) for pair in self.pairs):
            raise wrong_setting(self, "pairs", "give pairs such as png+raw,jpeg+weir")

    def cells(self, data: DataFacts, done: Sequence[Line]) -> list[Cell]:
        """Return cells for the costs of each format, then for every pair at every share, on the pair's disk."""
        formats = dict.fromkeys(format for pair in self.pairs for format in _pair(pair))
        cells = [self._stages(format, Limits(), seed=0, role="costs") for format in formats]
        if self.disk != "auto":
            cells = []
        elif len(measured(done, "stages", role="costs")) < len(cells):
            return cells
        for pair in self.pairs:
            limits = self._disk(pair, data, done)
            cells += [
                self._stages(_mix(pair, share), limits, seed, pair=pair, share=share, role="mix")
                for share in self.shares
                for seed in range(self.seeds)
            ]
        limits = self._disk(self.pairs[0], data, done)
        return cells + [self._rival(name, limits, seed) for name in self.rivals for seed in range(self.seeds)]

    def findings(self, lines: Sequence[Line]) -> Findings:
        """Find the best measured share of each pair, and the one predicted from the two ends."""
        found = measured(lines, "stages", role="mix")
        sections, rows, best = [], [], {}
        for pair, group in of_setting(found, "pair").items():
            section, row, value = _pair_findings(pair, group)
            sections.append(section)
            rows.append(row)
            best[pair] = value
        columns = (
            "pair",
            "disk",
            "best share measured",
            "predicted",
            "images/s at best",
            "times the better end",
            "95 % interval",
            "pays for sure",
        )
        paying = [pair for pair, value in best.items() if value["pays"]]
        others = [pair for pair, value in best.items() if not value["pays"]]
        answer = f"Mixing pays for {', '.join(paying)}" if paying else "Mixing pays for no pair here"
        answer += f"; not for {', '.join(others)}." if others and paying else "."
        answer += "".join(_unsure(pair, value) for pair, value in best.items())
        note = (
            "Each pair on a disk of its own, where mixing has most to gain: each of its formats alone is equally fast "
            "there, the smaller waiting for the processor and the larger for the disk. Where one format is smaller "
            "and quicker to decode, half of each takes as long to read as to decode."
        )
        disks = dict.fromkeys(line.limits for line in found)
        sentences = (
            note if len(disks) > 1 else f"All on one disk ({', '.join(disks)}).",
            *_crossings(found),
            *_published_pairs(found),
        )
        summary = Section("Which pairs pay", sentences, (), table_of(columns, rows))
        return Findings(
            answer, (summary, *sections, *_rivals(lines, found)), values={"pairs": dict(best), "paying": list(paying)}
        )

    def _stages(self, variant: str, limits: Limits, seed: int, **told: Json) -> Cell:
        settings: dict[str, Json] = {**told, "variant": variant, "seconds": self.seconds, "size": self.size}
        settings |= {"crop": "stretch", "threads": self.threads, "batch_size": self.batch_size}
        return Cell("stages", settings, seed, limits, is_alone=True)

    def _rival(self, name: str, limits: Limits, seed: int) -> Cell:
        # Loaders of others stack their batches, so images are brought to one size.
        held: dict[str, Json] = {"size": 224, "crop": "stretch", "threads": self.threads, "batch_size": self.batch_size}
        told: dict[str, Json] = {"loader": name, "variant": SOURCE, "epochs": 2, "cold": True}
        return Cell("load", told | held, seed, limits, is_alone=True)

    def _disk(self, pair: str, data: DataFacts, done: Sequence[Line]) -> Limits:
        """Return the disk for a pair, from the costs of its formats."""
        if self.disk != "auto":
            return disk_limits(self.disk)
        costs = {line.setting("variant"): line for line in measured(done, "stages", role="costs")}
        first, second = (costs[format] for format in _pair(pair))
        rate = break_even_bandwidth(
            (first.number("data_bytes") / data.num_samples, second.number("data_bytes") / data.num_samples),
            (1 / first.number("decode_rate"), 1 / second.number("decode_rate")),
        )
        return disk_limits(f"{max(1, round(rate / 1e6))}MB/s")


def _pair(text: str) -> tuple[str, str]:
    first, _, second = text.partition("+")
    return first, second


def _mix(pair: str, share: float) -> str:
    first, second = _pair(pair)
    if share in (0.0, 1.0):
        return second if share else first
    return f"{first}={round(1 - share, 4)},{second}={share}"


def _pair_findings(pair: str, group: Sequence[Line]) -> tuple[Section, tuple[str, ...], dict[str, Json]]:
    by_share = {float(share): part for share, part in of_setting(group, "share").items()}
    ends = dict(zip(("load_rate", "decode_rate"), _ends(by_share), strict=True))
    predicted = best_share(ends["load_rate"], ends["decode_rate"])
    rates = {share: _mean(part, "both_rate") for share, part in by_share.items()}
    best = max(rates, key=lambda share: rates[share])
    end = max((0.0, 1.0), key=lambda share: rates[share])
    gain = paired_ratio(by_seed(by_share[best], "both_rate"), by_seed(by_share[end], "both_rate"))
    assert gain is not None  # the seeds are the same
    pays = 0.0 < best < 1.0 and gain.mean > LITTLE and (gain.low > 1 or gain.count == 1)
    series = [
        series_of(label, {share: estimate([line.number(name) for line in part]) for share, part in by_share.items()})
        for name, label in STAGES.items()
    ]
    series += [
        Series(
            f"{STAGES[name]}, predicted",
            tuple((share, mixed_rate(*ends[name], share)) for share in CURVE),
            is_dashed=True,
            colour=list(STAGES).index(name),
        )
        for name in ends
    ]
    crossing = min(mixed_rate(*ends[name], predicted) for name in ends)
    second = _pair(pair)[1]
    mark = Mark("crossing" if 0 < predicted < 1 else "best, predicted", predicted, crossing)
    drawing = lines(series, f"share of {second}", "images per second", [mark], most=TALLEST * max(rates.values()))
    caption = (
        "Dashed: from the two ends alone, as time per image adds up. The slower stage counts; the rest is cut off."
    )
    told = f"{gain.mean:.2f}", f"{gain.low:.2f} to {gain.high:.2f}", "yes" if pays else "no"
    row = (pair, group[0].limits.removeprefix("disk="), f"{best:.0%}", f"{predicted:.0%}", f"{rates[best]:,.0f}", *told)
    values: dict[str, Json] = {"best": best, "predicted": predicted, "gain": gain.mean, "pays": pays}
    return Section(pair.replace("+", " and "), (), (Figure(drawing, caption),)), row, values


def _unsure(pair: str, value: dict[str, Json]) -> str:
    """Comment on a pair that was fastest mixed, but by less than the repeats can show."""
    gain = float(str(value["gain"]))
    if value["pays"] or gain <= LITTLE:
        return ""
    return f" {pair} was {gain:.2f} times as fast mixed, which these repeats do not tell from noise."


def _crossings(found: Sequence[Line]) -> tuple[str, ...]:
    """Judge for each pair whose stages cross whether the best share is next to the crossing.

    The slower stage gets faster up to the crossing and slower after it, so a measured best must be next to it.
    """
    said = []
    for pair, group in of_setting(found, "pair").items():
        by_share = {float(share): part for share, part in of_setting(group, "share").items()}
        predicted = best_share(*_ends(by_share))
        if not 0 < predicted < 1:
            continue
        near = {max(share for share in by_share if share <= predicted), min(s for s in by_share if s >= predicted)}
        rates = {share: by_seed(part, "both_rate") for share, part in by_share.items()}
        best = max(near, key=lambda share: _mean(by_share[share], "both_rate"))
        verdict = judge_all(
            judge_above(paired_ratio(rates[best], rates[share]), 1.0) for share in by_share if share not in near
        )
        claim = f"the best share of {pair} sits where load and decode cross"
        places = " or ".join(f"{share:.0%}" for share in sorted(near))
        said.append(verdict_sentence(verdict, claim, f"crossing at {predicted:.0%}, so best at {places}"))
    return tuple(said) or ("No pair has its crossing inside on this disk, so none tests where the best mix sits.",)


def _published_pairs(found: Sequence[Line]) -> tuple[str, ...]:
    """Judge whether the pairs of the paper gain as published."""
    said = []
    for pair, group in of_setting(found, "pair").items():
        pays = PUBLISHED_PAIRS.get(frozenset(_pair(pair)))
        if pays is None:
            continue
        gain = _best_mix(group)
        verdict = judge_above(gain, LITTLE) if pays else judge_below(gain, LITTLE)
        claim = f"mixing {pair.replace('+', ' and ')} {'pays' if pays else 'does not pay'}"
        told = f"best mix against the better format alone: {times_text(gain)}"
        said.append(verdict_sentence(verdict, claim, told))
    return tuple(said)


def _best_mix(group: Sequence[Line]) -> Estimate:
    """Estimate how many times as fast the best real mix is as the better format alone."""
    by_share = {float(share): part for share, part in of_setting(group, "share").items()}
    ends = [share for share in by_share if share in (0.0, 1.0)]
    inside = [share for share in by_share if share not in ends] or ends
    mix, end = (max(shares, key=lambda share: _mean(by_share[share], "both_rate")) for shares in (inside, ends))
    gain = paired_ratio(by_seed(by_share[mix], "both_rate"), by_seed(by_share[end], "both_rate"))
    assert gain is not None  # the seeds are the same
    return gain


def _ends(by_share: Mapping[float, Sequence[Line]]) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return load rates and decode rates of each format alone."""
    return (
        (_mean(by_share[0.0], "load_rate"), _mean(by_share[1.0], "load_rate")),
        (_mean(by_share[0.0], "decode_rate"), _mean(by_share[1.0], "decode_rate")),
    )


def _rivals(lines: Sequence[Line], found: Sequence[Line]) -> tuple[Section, ...]:
    """Compare other loaders with our best on the same disk, and list their differences."""
    rivals = measured(lines, "load")
    same = [line for line in found if rivals and line.limits == rivals[0].limits]
    if not rivals or not same:
        return ()
    rows = [
        (name, "the folder", f"resized to {group[0].setting('size')}", f"{_mean(group, 'images_per_second'):,.0f}")
        for name, group in of_setting(rivals, "loader").items()
    ]
    rate, ours = max((_mean(group, "both_rate"), name) for name, group in of_setting(same, "variant").items())
    rows.append(("penstock", ours, "whole", f"{rate:,.0f}"))
    note = (
        f"All on {rivals[0].limits.replace('=', ' ')}. The others read the folder and resize, because they stack "
        "batches; ours reads records in the formats named and gives whole images. The rates are of different work."
    )
    return (Section("Beside other loaders", (note,), (), table_of(("loader", "reads", "images", "images/s"), rows)),)


def _mean(group: Sequence[Line], name: str) -> float:
    return fmean(line.number(name) for line in group)
