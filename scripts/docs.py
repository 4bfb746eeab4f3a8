"""Writes the parts of README.md and docs/ that are made from code and recorded lines.

They stand between `<!-- made from code: NAME -->` and `<!-- end -->`.

python -m scripts.docs
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path

from penstock.codecs import Codec, Promise, find, names, parse_format
from penstock.codecs.contract import Capabilities
from penstock.codecs.parameters import Choice, Counts, Flag, Integer, Parameter
from scripts.accelerators import bound_table, instruction_table, resource_table
from scripts.memory_tables import batch_table, decoded_sentence, fidelity_table
from scripts.order_quality import mix_table, quality_table
from scripts.readme_table import readme_table

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PART = re.compile(r"(<!-- made from code: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def main() -> None:
    """Rewrite every page that has such parts."""
    for page in pages():
        page.write_text(rewritten(page), encoding="utf-8")


def pages() -> list[Path]:
    """List the pages that have parts made from code."""
    candidates = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
    return [page for page in candidates if PART.search(page.read_text(encoding="utf-8"))]


def rewritten(page: Path) -> str:
    """Return the page with its generated parts updated."""
    return PART.sub(
        lambda part: part[1] + PARTS[part[2]]() + part[3],
        page.read_text(encoding="utf-8"),
    )


def codec_table() -> str:
    """Make a table of the codecs and their capabilities."""
    rows = [
        "| Codec | Files | Operations | Promise | Channels | Bits | Reduced scales |",
        "|---|---|---|---|---|---|---|",
    ]
    rows += [_codec_row(find(name)) for name in names()]
    return "\n".join(rows) + "\n"


def parameter_table() -> str:
    """Make a table of the parameters of each codec."""
    rows = ["| Format | Values | Default | Meaning |", "|---|---|---|---|"]
    for name in names():
        for key, parameter in find(name).parameters.items():
            rows.append(_parameter_row(name, key, parameter))
    return "\n".join(rows) + "\n"


PARTS: dict[str, Callable[[], str]] = {
    "accelerator_bounds": bound_table,
    "accelerator_instructions": instruction_table,
    "accelerator_resources": resource_table,
    "codecs": codec_table,
    "fidelities": fidelity_table,
    "memory_batches": batch_table,
    "memory_decoded": decoded_sentence,
    "order_mix": mix_table,
    "order_quality": quality_table,
    "parameters": parameter_table,
    "results": readme_table,
}


def _codec_row(codec: Codec) -> str:
    holds = getattr(codec, "capabilities", Capabilities())
    does = "reads, writes" if codec.can_encode else "reads"
    exact = codec.promise(parse_format(codec.name)) is Promise.EXACT
    cells = [
        f"`{codec.name}`",
        " ".join(f"`{ending}`" for ending in codec.extensions),
        does,
        "exact" if exact else "lossy",
        _numbers(holds.channels),
        _numbers(int(dtype.removeprefix("uint")) for dtype in holds.dtypes),
        _numbers(f"1/{scale}" for scale in holds.scales if scale > 1) or "–",
    ]
    return f"| {' | '.join(cells)} |"


def _parameter_row(codec: str, key: str, parameter: Parameter) -> str:
    words = [f"`{word}`" for word in parameter.bare]
    if isinstance(parameter, Flag):
        return f"| `{codec}:{parameter.word}` | flag | off | {parameter.meaning} |"
    if isinstance(parameter, Integer):
        values = [f"{parameter.minimum} to {parameter.maximum}", *words]
    elif isinstance(parameter, Counts):
        values = ["ascending numbers joined by `+`", f"`{parameter.word}`"]
    else:
        assert isinstance(parameter, Choice), f"no sentence for a {type(parameter).__name__}"
        values = [f"`{choice}`" for choice in parameter.choices]
    spelled = f"{codec}:{parameter.bare[0]}" if set(words) >= set(values) else f"{codec}:{key}=…"
    return f"| `{spelled}` | {', '.join(values)} | {parameter.default or '–'} | {parameter.meaning} |"


def _numbers(items: Iterable[object]) -> str:
    return ", ".join(map(str, items))


if __name__ == "__main__":
    main()
