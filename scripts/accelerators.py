"""The tables of docs/weir-on-accelerators.md, computed from bench/results/kernels.json; nothing is measured on a GPU.

Run by `python -m scripts.docs`.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).resolve().parent.parent / "bench" / "results" / "kernels.json"
WARP = 32
REGISTERS_OF_SM = 65536
REGISTER_UNIT = 256
MAX_WARPS = 64
MAX_PROGRAMS = 32
ISSUES_PER_CLOCK = 4
TILE_PIXELS = 64 * 64
TILE_BYTES = 3 * TILE_PIXELS


@dataclass(frozen=True)
class Device:
    """Data sheet of an accelerator; the link's rate is what transfers reach, four fifths of its nominal rate."""

    name: str
    architecture: str
    num_sms: int
    clock_hertz: float
    memory_bytes_per_second: float
    link: str
    link_bytes_per_second: float


DEVICES = (
    Device("A100 SXM 80 GB", "sm_80", 108, 1.41e9, 2.039e12, "PCIe 4 x16", 25e9),
    Device("H100 SXM", "sm_90", 132, 1.83e9, 3.35e12, "PCIe 5 x16", 50e9),
)


@dataclass(frozen=True)
class Loop:
    """A loop of a kernel: the one around it (by name), and how often it runs for a tile."""

    name: str
    inside: str
    runs: float


def loops_of(variant: str, counts: dict[str, float]) -> list[Loop]:
    """Return the loops in the order of the code, with `counts` from real tiles."""
    checksum_rows = counts["bytes"] / 256
    if variant.startswith("l3"):
        return [Loop("row", "", 3 * 64), Loop("plane checked", "", 3), Loop("checksum", "plane checked", checksum_rows)]
    if variant.startswith("weir:fast"):
        return [
            Loop("checksum", "", checksum_rows),
            Loop("chunk", "", 8),
            Loop("level", "chunk", counts["levels"]),
            Loop("group", "chunk", 16),
            Loop("row", "group", 64),
        ]
    return [
        Loop("checksum", "", checksum_rows),
        Loop("chunk, for the masks", "", 2),
        Loop("level, for the masks", "chunk, for the masks", counts["levels"]),
        Loop("chunk", "", 2),
        Loop("level", "chunk", counts["levels"]),
        Loop("group", "chunk", 16),
        Loop("plane", "group", 48),
        Loop("unary level", "plane", counts["unary"]),
        Loop("row", "group", 64),
    ]


def results() -> dict[str, Any]:
    """Load the recorded results."""
    recorded: dict[str, Any] = json.loads(RESULTS.read_text(encoding="utf-8"))
    return recorded


def usage_of(variant: str, architecture: str) -> dict[str, Any]:
    """Return the recorded line of a variant."""
    usages: list[dict[str, Any]] = results()["usages"]
    return next(u for u in usages if (u["variant"], u["architecture"]) == (variant, architecture))


def warps_per_sm(registers: int) -> int:
    """Return the number of one-warp programs that fit on a multiprocessor.

    >>> warps_per_sm(160), warps_per_sm(60)
    (12, 32)
    """
    registers_of_warp = -(-registers * WARP // REGISTER_UNIT) * REGISTER_UNIT
    return min(REGISTERS_OF_SM // registers_of_warp, MAX_PROGRAMS, MAX_WARPS)


def resource_table() -> str:
    """Make a table of registers, spills, shared memory and occupancy of every variant that decodes."""
    rows = [
        "| Variant (channels x bits, output) | | Registers | Spilled | Shared | Instructions | Warps on an SM, of 64 |",
        "|---|---|---|---|---|---|---|",
    ]
    for usage in results()["usages"]:
        if usage["variant"] != "l3 offsets" and not usage["variant"].startswith("resize"):
            rows.append(
                f"| `{usage['variant']}` | {usage['architecture']} | {usage['registers']} | {usage['spilled_bytes']} B "
                f"| {usage['shared_bytes']} B | {usage['instructions']} | {warps_per_sm(usage['registers'])} |"
            )
    return "\n".join(rows) + "\n"


FORMATS = {
    "weir:fast": "weir:fast 3x8 uint8",
    "weir:dense": "weir:dense 3x8 uint8",
    "l3": "l3:patch=64 3x8 uint8",
}


def instructions_of_tile(format_text: str, architecture: str) -> list[tuple[str, int, float]]:
    """Return the work of a tile of 64x64 RGB pixels: (part, its own instructions, number of runs)."""
    usage = usage_of(FORMATS[format_text], architecture)
    loops = loops_of(format_text, results()["counts"][format_text])
    sizes = dict(zip((loop.name for loop in loops), usage["loops"], strict=True))
    parts = []
    for loop in loops:
        own = sizes[loop.name] - sum(sizes[inner.name] for inner in loops if inner.inside == loop.name)
        parts.append((loop.name, own, loop.runs))
    outside = usage["instructions"] - sum(sizes[loop.name] for loop in loops if not loop.inside)
    return [("once", outside, 3.0 if format_text == "l3" else 1.0), *parts]


def instruction_table() -> str:
    """Make a table of the instructions of each loop times its runs."""
    rows = ["| Format | Instructions of a warp for a tile of 64 x 64 RGB pixels, sm_80 | Sum |", "|---|---|---|"]
    for format_text in FORMATS:
        parts = instructions_of_tile(format_text, "sm_80")
        terms = " + ".join(f"{round(runs, 1):g} x {own} ({name})" for name, own, runs in parts)
        rows.append(f"| `{format_text}` | {terms} | {total(parts):,.0f} |")
    return "\n".join(rows) + "\n"


def total(parts: list[tuple[str, int, float]]) -> float:
    """Sum of what the parts execute."""
    return math.fsum(own * runs for _, own, runs in parts)


def bound_table() -> str:
    """Make a table of the rates that link, memory and instruction issue allow."""
    rows = [
        "| Accelerator | Format | Ratio | Link | Memory | Issue, every slot used | Lowest |",
        "|---|---|---|---|---|---|---|",
    ]
    for device in DEVICES:
        for format_text in FORMATS:
            ratio = results()["ratios"]["cityscapes"][format_text]
            link = device.link_bytes_per_second * ratio
            memory = device.memory_bytes_per_second / (1 + 1 / ratio)
            slots = device.num_sms * ISSUES_PER_CLOCK * device.clock_hertz
            issue = slots / total(instructions_of_tile(format_text, device.architecture)) * TILE_BYTES
            names = {link: device.link, memory: "memory", issue: "issue"}
            lowest = min(names)
            cells = [device.name, f"`{format_text}`", f"{ratio:.2f}", *(f"{rate / 1e9:.0f}" for rate in names)]
            rows.append(f"| {' | '.join(cells)} | {lowest / 1e9:.0f} ({names[lowest]}) |")
    return "\n".join(rows) + "\n"
