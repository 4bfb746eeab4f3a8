"""Tables and sentences of docs/guide/memory.md and fidelity.md, from the recorded lines of bench/."""

from __future__ import annotations

from scripts.readme_table import Recorded, recorded, select

POLICIES = {
    "rolling": "`rolling`",
    "pinned": "`pinned`",
    "liquid": "`liquid`",
    "system": "page cache (`system`)",
    "none": "`none`",
}
COLUMNS = {
    "bytes read for a batch of 64 small images": ("count", "batch_disk_bytes"),
    "time of such a batch, kernel's throttle": (None, "batch_seconds"),
    "time, readers' throttle": ("readers", "batch_seconds"),
    "time of a batch of 20 large images, kernel's throttle": ("long", "batch_seconds"),
}
"""Conditions of a column, and the measure whose variation it shows."""


def batch_table() -> str:
    """Make one row per policy: the variation of bytes and times of its batches."""
    rows = [f"| policy | {' | '.join(COLUMNS)} |", "|---" * (1 + len(COLUMNS)) + "|"]
    rows += [
        f"| {shown} | {' | '.join(_cell(name, *how) for how in COLUMNS.values())} |" for name, shown in POLICIES.items()
    ]
    return "\n".join(rows) + "\n"


def decoded_sentence() -> str:
    """Describe the rates with each form of cached samples, each measured once."""
    lines = {
        line["cached"]: line
        for line in recorded("memory")
        if line["part"] == "decoded" and line["contender"] == "rolling" and line["disk"] == "as it is"
    }
    first = next(iter(lines.values()))
    told = ", ".join(f"{lines[form]['images_per_second']:,.0f} images/s as {shown}" for form, shown in FORMS.items())
    return (
        "200 Cityscapes frames of 512×256 in ten copies (PNGs of 200 kB), memory for half of their pixels,\n"
        f"two threads, `rolling`, one run each on an {first['cpu']}: {told}\n"
        "([lines](../../bench/results/memory.jsonl)).\n"
    )


FORMS = {"encoded": "they are", "pixels": "pixels", "weir:fast": "`weir:fast`"}


def _cell(policy: str, by: str | None, measure: str) -> str:
    found = [line for line in recorded("memory") if _is_of(line, policy, by) and measure in line]
    return f"{found[-1][measure]['variation']:.1%}" if found else "–"


def _is_of(line: Recorded, policy: str, by: str | None) -> bool:
    return line["part"] == "rate" and line["contender"] == policy and line.get("by") == by


SCANS: dict[int | None, str] = {1: "1", 2: "2", 5: "5", None: "all"}


def fidelity_table() -> str:
    """Make a table of bytes, quality and rate by number of scans, next to plain JPEGs."""
    parts = {
        name: {scans: select("fidelity", {"part": name, "fidelity": scans}) for scans in SCANS}
        for name in ("bytes", "similarity", "time")
    }
    plain = select("campaign", {"setting": "imagenet-60-0", "mix": {"jpeg": 1.0}, "share_of_single": 1.0})
    rates = [f"{one['images'] / one['seconds_median']:,.0f}" for one in parts["time"].values()]
    rows = [
        ["scans read", *SCANS.values(), "plain JPEG"],
        ["---"] * (len(SCANS) + 2),
        ["bytes, next to the source's", *(f"{one['share_of_source']:.2f}" for one in parts["bytes"].values()), "1"],
        ["MS-SSIM, mean of 30 images", *(f"{one['ms_ssim_mean']:.2f}" for one in parts["similarity"].values()), "1"],
        [
            "images/s from a disk of 60 MB/s",
            *rates,
            f"{plain['rates']['planned']['images_per_second']:,.0f} (another run, another processor)",
        ],
    ]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows) + "\n"
