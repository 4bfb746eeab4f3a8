"""Makes README's table from recorded lines: each row names its lines, and its conditions are read from them.

A row is a sentence, selectors of lines in bench/results, and a format string. Lines that were timed beside more foreign
load than QUIET cores are refused, so such a row cannot come back unnoticed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from penstock.rates import read_bottleneck

RESULTS = Path(__file__).resolve().parent.parent / "bench" / "results"
QUIET = 0.25
"""Cores that other programs may have used while a line was timed."""
COLUMNS = ("What", "Compared with", "Result", "Measured on")

Recorded = Mapping[str, Any]
Select = Mapping[str, object]
Numbers = Mapping[str, float | str]


@dataclass(frozen=True)
class Corpus:
    """Images that lines name: what they are, and how many files there are."""

    kind: str
    num_files: int


CORPORA = {
    "imagenet": Corpus("ImageNet JPEGs", 300),
    "cityscapes": Corpus("Cityscapes PNGs of 512×256 pixels", 200),
}


@dataclass(frozen=True)
class Row:
    """One row: what is claimed, which lines hold it, and how they are said."""

    what: str
    against: str
    result: str
    """A format string over `numbers`."""
    file: str
    lines: Mapping[str, Select]
    """Lines by a name of their own: the last ones of the file that have these members."""
    numbers: Callable[[Mapping[str, Recorded]], Numbers]
    data: str
    """A format string over the corpus and the counts of the lines."""
    is_timed: bool = True
    """True if the load of other programs could change the result; counted bytes do not change."""


def readme_table() -> str:
    """Make the table of README.md."""
    rows = [COLUMNS, ("---",) * len(COLUMNS), *(_cells(row) for row in ROWS)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows) + "\n"


def recorded(file: str) -> list[Recorded]:
    """Load all lines of a file of results."""
    return [json.loads(text) for text in (RESULTS / f"{file}.jsonl").read_text(encoding="utf-8").splitlines()]


def select(file: str, wanted: Select) -> Recorded:
    """Return the last line with these members. Raise ValueError if it does not exist."""
    found = [line for line in recorded(file) if all(line.get(name) == value for name, value in wanted.items())]
    if not found:
        raise ValueError(f"bench/results/{file}.jsonl has no line with {dict(wanted)}")
    return found[-1]


def _cells(row: Row) -> tuple[str, ...]:
    lines = {name: select(row.file, wanted) for name, wanted in row.lines.items()}
    _check_session(row, lines)
    result = row.result.format(**row.numbers(lines))
    return row.what, row.against, result, f"{_conditions(row, lines)} ([lines](bench/results/{row.file}.jsonl))"


def _check_session(row: Row, lines: Mapping[str, Recorded]) -> None:
    """Refuse to compare across machines or versions, or what was timed beside other work."""
    for name in ("cpu", "commit"):
        found = {str(line[name]) for line in lines.values()}
        if len(found) > 1:
            raise ValueError(f"{row.what}: compares lines of {', '.join(sorted(found))}")
    loads = [load for line in lines.values() for load in _loads(line)]
    if row.is_timed and (not loads or max(loads) > QUIET):
        raise ValueError(
            f"{row.what}: other programs used {max(loads, default='an unknown number of')} cores meanwhile"
        )


def _conditions(row: Row, lines: Mapping[str, Recorded]) -> str:
    """Format data, rounds, foreign load and processor of the lines."""
    first = next(iter(lines.values()))
    corpus = CORPORA[str(first.get("corpus") or str(first.get("setting")).partition("-")[0])]
    rounds, epoch = _rounds(first)
    said = [
        row.data.format(
            kind=corpus.kind,
            files=corpus.num_files,
            count=first.get("count"),
            times=epoch // corpus.num_files,
            copies=f"{COPIES:,}",
        )
    ]
    said += [f"{rounds} rounds"] if rounds else []
    if row.is_timed:
        said.append(f"other load {max(load for line in lines.values() for load in _loads(line)):.2f} cores")
    return f"{'; '.join(said)}; {_processor(str(first['cpu']))}"


COPIES = 5000
"""Files of a dataset of the campaign, each a copy with blocks of its own (`python -m bench.campaign --files`)."""


def _rounds(line: Recorded) -> tuple[int, int]:
    """Return the number of rounds, and of images per epoch."""
    rounds = line.get("rounds", 0)
    if isinstance(rounds, int):
        return rounds, 0
    if isinstance(rounds, dict):  # of the campaign: rates of each side
        return max(len(rates) for rates in rounds.values()), 0
    return len(rounds), int(rounds[0]["num_images"])


def _loads(line: Recorded) -> list[float]:
    """Return the load of other programs, wherever the line records it."""
    inner = [line.get("measured"), *line.get("rates", {}).values(), line]
    return [float(one["foreign_cores"]) for one in inner if isinstance(one, dict) and "foreign_cores" in one]


def _processor(name: str) -> str:
    return name.replace("(R)", "").replace(" Processor", "")


def _rate(lines: Mapping[str, Recorded], ours: str, theirs: str) -> float:
    return float(lines[ours]["images_per_second"] / lines[theirs]["images_per_second"])


def _sooner(lines: Mapping[str, Recorded], ours: str, theirs: str) -> float:
    return float(lines[theirs]["median_seconds"] / lines[ours]["median_seconds"])


def _of_rounds(line: Recorded, name: str = "") -> Numbers:
    """Return the median of the rounds' ratios, and their range."""
    low, high = line["ratio_range"]
    return {f"{name}times": line["ratio_median"], f"{name}low": low, f"{name}high": high}


def _smaller(line: Recorded, format: str) -> float:
    sizes = line["encoded_bytes"]
    return float(1 - sizes[format] / sizes["png"])


def _load_select(job: str, contender: str) -> Select:
    corpus = {"train224": "imagenet", "full": "cityscapes"}[job]
    return {"question": f"How fast does the loader load? ({job})", "corpus": corpus, "contender": contender}


def _jpeg_select(question: str, contender: str) -> Select:
    return {"question": question, "contender": contender, "corpus": "imagenet", "simd": "avx512"}


def _png_select(contender: str, corpus: str) -> Select:
    return {"question": "How fast do PNGs decode?", "contender": contender, "corpus": corpus}


def _weir_select(format: str) -> Select:
    contender = f"{format} avx512 reused, verified"
    return {"question": "How fast does Weir decode?", "contender": contender, "corpus": "cityscapes"}


def _mix(line: Recorded) -> str:
    mix = line["mix"]
    return (
        f"`{next(iter(mix))}` alone"
        if len(mix) == 1
        else " + ".join(f"{share:.0%} `{name}`" for name, share in mix.items())
    )


CHOICE = "Does the plan choose as well as a sweep of all pairs in tenths?"
PREDICTION = "Does a planned dataset load as fast as predicted?"
PREDICTED = [f"{corpus}-{disk}-{memory}" for corpus in CORPORA for disk in (60, 200, 800) for memory in (0, 30)]


def _prediction_errors(lines: Mapping[str, Recorded]) -> Numbers:
    """Return the errors of the predictions, and the number of settings in which the given disk rate limits."""
    rounds = [line for line in recorded("campaign") if line["question"] == PREDICTION and "predicted" in line]
    told = {
        (one["setting"], one["predicted"]["images_per_second"]): read_bottleneck(one["predicted"]["bottleneck"])
        for one in rounds
    }
    limiting = [told[name, lines[name]["predicted_images_per_second"]] for name in PREDICTED]
    errors = [abs(lines[name]["error"]) for name in PREDICTED]
    return {"disk": limiting.count("storage"), "all": len(limiting), "median": median(errors), "most": max(errors)}


LOADED = "{files} {kind}, each {times} times an epoch"
DECODED = "{count} {kind}"

ROWS = (
    Row(
        "Training samples of 224×224 from a folder of JPEGs, exact",
        "DALI (CPU); torch DataLoader with simplejpeg; with Pillow",
        "{rate:,.0f} images/s: {dali:.1f}×; {simple:.1f}×; {pillow:.1f}× faster",
        "loader",
        {
            "ours": _load_select("train224", "penstock, JPEG folder, exact"),
            "dali": _load_select("train224", "DALI, CPU"),
            "simple": _load_select("train224", "torch DataLoader + simplejpeg"),
            "pillow": _load_select("train224", "torch DataLoader + Pillow"),
        },
        lambda lines: (
            {"rate": lines["ours"]["images_per_second"]}
            | {name: _rate(lines, "ours", name) for name in ("dali", "simple", "pillow")}
        ),
        LOADED,
    ),
    Row(
        "The same from `weir:fast` records",
        "FFCV with raw pixels",
        "{rate:,.0f} images/s: {ffcv:.1f}× faster ({cpu:.1f}× by CPU time) from {bytes:.0%} fewer bytes",
        "loader",
        {
            "ours": _load_select("train224", "penstock, weir:fast"),
            "ffcv": _load_select("train224", "FFCV, raw"),
        },
        lambda lines: {
            "rate": lines["ours"]["images_per_second"],
            "ffcv": _rate(lines, "ours", "ffcv"),
            "cpu": lines["ffcv"]["cpu_seconds_per_image"] / lines["ours"]["cpu_seconds_per_image"],
            "bytes": 1 - lines["ours"]["stored_bytes"] / lines["ffcv"]["stored_bytes"],
        },
        LOADED,
    ),
    Row(
        "Whole images: `weir:fast` records; the PNG folder itself",
        "torch DataLoader with Pillow on the PNGs, the only rival that was run",
        "{weir:.0f}×; {png:.1f}× faster",
        "loader",
        {
            "weir": _load_select("full", "penstock, weir:fast"),
            "png": _load_select("full", "penstock, PNG folder"),
            "torch": _load_select("full", "torch DataLoader + Pillow"),
        },
        lambda lines: {"weir": _rate(lines, "weir", "torch"), "png": _rate(lines, "png", "torch")},
        LOADED,
    ),
    Row(
        "JPEG decode, the same pixels",
        "simplejpeg, the fastest of three",
        "{times:.2f}× faster (rounds: {low:.2f} to {high:.2f})",
        "jpeg",
        {"ours": _jpeg_select("How fast do whole JPEGs decode?", "penstock")},
        lambda lines: _of_rounds(lines["ours"]),
        DECODED,
    ),
    Row(
        "JPEG decode of RandomResizedCrop regions",
        "decoding the whole image",
        "{times:.2f}× faster (rounds: {low:.2f} to {high:.2f})",
        "jpeg",
        {"ours": _jpeg_select("What do the regions of RandomResizedCrop cost?", "regions")},
        lambda lines: _of_rounds(lines["ours"]),
        DECODED,
    ),
    Row(
        "`sluice`, checksums verified; the original file can be restored",
        "the JPEGs; their decode by simplejpeg",
        "{size:.0%} smaller; decodes {times:.1f}× faster (rounds: {low:.1f} to {high:.1f})",
        "sluice",
        {"ours": _jpeg_select("How fast do whole Sluice images decode?", "sluice")},
        lambda lines: {"size": 1 - lines["ours"]["bytes_ratio"], **_of_rounds(lines["ours"])},
        DECODED,
    ),
    Row(
        "`sluice`: RandomResizedCrop regions",
        "libjpeg-turbo's crop and skip on the JPEGs",
        "{times:.1f}× faster (rounds: {low:.1f} to {high:.1f})",
        "sluice",
        {"ours": _jpeg_select("How fast do regions of Sluice images decode?", "sluice")},
        lambda lines: _of_rounds(lines["ours"]),
        DECODED,
    ),
    Row(
        "PNG decode",
        "libspng; kornia-rs",
        "{spng:.1f}×; {kornia:.1f}× faster (one frame of 2048×1024: {large_spng:.1f}×; {large_kornia:.1f}×)",
        "png",
        {
            "ours": _png_select("penstock", "cityscapes"),
            "spng": _png_select("libspng", "cityscapes"),
            "kornia": _png_select("kornia-rs png_u8", "cityscapes"),
            "large": _png_select("penstock", "cityscapes-full"),
            "large_spng": _png_select("libspng", "cityscapes-full"),
            "large_kornia": _png_select("kornia-rs png_u8", "cityscapes-full"),
        },
        lambda lines: (
            {name: _sooner(lines, "ours", name) for name in ("spng", "kornia")}
            | {name: _sooner(lines, "large", name) for name in ("large_spng", "large_kornia")}
        ),
        DECODED,
    ),
    Row(
        "`weir:fast`, checksums verified",
        "PNG at level 6; its decode by libspng",
        "{size:.0%} smaller; decodes {times:.0f}× faster (rounds: {low:.0f} to {high:.0f})",
        "weir",
        {"ours": _weir_select("weir:fast")},
        lambda lines: {"size": _smaller(lines["ours"], "weir:fast"), **_of_rounds(lines["ours"])},
        DECODED,
    ),
    Row(
        "`weir:dense`, checksums verified",
        "PNG at level 6; its decode by libspng",
        "{size:.0%} smaller; decodes {times:.0f}× faster (rounds: {low:.0f} to {high:.0f})",
        "weir",
        {"ours": _weir_select("weir:dense")},
        lambda lines: {"size": _smaller(lines["ours"], "weir:dense"), **_of_rounds(lines["ours"])},
        DECODED,
    ),
    Row(
        "Progressive records, five of ten scans read",
        "the source JPEGs",
        "{saved:.0%} fewer bytes read; MS-SSIM {similarity:.3f} ({images} images)",
        "fidelity",
        {"bytes": {"part": "bytes", "fidelity": 5}, "similarity": {"part": "similarity", "fidelity": 5}},
        lambda lines: {
            "saved": 1 - lines["bytes"]["share_of_source"],
            "similarity": lines["similarity"]["ms_ssim_mean"],
            "images": lines["similarity"]["images"],
        },
        "{files} {kind}; counted, not timed",
        is_timed=False,
    ),
    Row(
        "Rate that `plan` predicts",
        "the measured rate",
        "{median:.1%} off (median), at most {most:.1%}; the disk is the bottleneck in {disk:.0f} of {all:.0f} "
        "settings, and the plan was given its rate",
        "campaign",
        {name: {"question": PREDICTION, "setting": name, "seconds": 10.0} for name in PREDICTED},
        _prediction_errors,
        "{copies} copies of the JPEGs, and of the PNGs; disks of 60, 200, 800 MB/s; memory for 0 and 30 % of the data",
    ),
    Row(
        "Planned mix of JPEG and Weir on a disk of 800 MB/s, where cores and disk are balanced",
        "best single format; best pair of formats in steps of 10 %",
        "{single:.2f}×; {pair:.2f}× faster (the plan for 60 MB/s: {slow}; for 200 MB/s: {middle})",
        "campaign",
        {
            name: {"question": CHOICE, "setting": setting}
            for name, setting in {"ours": "imagenet-800-0", "slow": "imagenet-60-0", "middle": "imagenet-200-0"}.items()
        },
        lambda lines: {
            "single": lines["ours"]["share_of_single"],
            "pair": lines["ours"]["share_of_best"],
            "slow": _mix(lines["slow"]),
            "middle": _mix(lines["middle"]),
        },
        "{copies} copies of {files} {kind}",
    ),
)
