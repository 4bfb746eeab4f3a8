"""`codecs`: what each format costs and keeps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from penstock.documents import Json
from penstock.lab.coders import check_coder
from penstock.lab.draw import estimates, of_setting, table_of
from penstock.lab.learned import PUBLISHED
from penstock.lab.lines import Line, measured
from penstock.lab.recipes.contract import Cell, DataFacts, Findings, Recipe, wrong_setting
from penstock.report import Figure, Section
from penstock.report.charts import Mark, scatter
from penstock.units import bytes_text

LEARNED = "compressai:"


@dataclass(frozen=True, kw_only=True)
class Codecs(Recipe):
    """Varies the format; holds the images and one thread. Measures size, CPU time of encoding and decoding, MS-SSIM."""

    name: ClassVar[str] = "codecs"
    question: ClassVar[str] = "size, encode and decode time, MS-SSIM of every codec × quality"
    published: ClassVar[str] = (
        "(DL)² Table IV. Its JPEG and WebP decoding times come from a program that opened the files and never decoded "
        "them (0.13 ms an image); decoding here ends with pixels, so ratios to learned codecs differ."
    )

    formats: tuple[str, ...] = (
        "png", "weir:fast", "weir:dense", "l3", "webp:lossless", "raw",
        "jpeg:q=85", "jpeg:q=50", "jpeg:q=10", "webp:q=85", "webp:q=50", "webp:q=10",
        "avif:q=80", "avif:q=50", "jxl:q=85", "jxl:q=50", "jxl:lossless", "compressai:bmshj2018-factorized:q=4",
    )  # fmt: skip
    images: int = 40
    """Evenly spread over the data; 0: all."""
    repeats: int = 3
    python: str = ""
    """An interpreter that has CompressAI."""
    weights: str = PUBLISHED
    """Weights of learned codecs: `published` (CompressAI downloads them), a file, or `untrained` for timing."""

    def check(self) -> None:
        """Check the settings, including all formats, because the last may be hours away."""
        super().check()
        if not self.formats:
            raise wrong_setting(self, "formats", "give formats such as png,jpeg:q=85,avif:q=50")
        for format in self.formats:
            check_coder(format)

    def cells(self, data: DataFacts, done: Sequence[Line]) -> list[Cell]:
        """Return one cell per format and seed."""
        held: dict[str, Json] = {"images": self.images, "repeats": self.repeats}
        learned: dict[str, Json] = {"python": self.python, "weights": self.weights}
        return [
            Cell("codec", {"format": format, **held, **(learned if format.startswith(LEARNED) else {})}, seed)
            for format in self.formats
            for seed in range(self.seeds)
        ]

    def findings(self, lines: Sequence[Line]) -> Findings:
        """Find the smallest, the fastest to decode, and those in between."""
        found = measured(lines)
        size = {
            name: group[0].number("encoded_bytes") / group[0].number("num_images")
            for name, group in of_setting(found, "format").items()
        }
        decode = {name: value.mean * 1e3 for name, value in estimates(found, "format", "decode_seconds").items()}
        encode = {name: value.mean * 1e3 for name, value in estimates(found, "format", "encode_seconds").items()}
        lossless = {line.setting("format") for line in found if line.number("is_lossless")}
        untrained = {line.setting("format") for line in found if line.measures.get("is_untrained")}
        rows = [
            (
                name,
                "yes" if name in lossless else "no",
                "" if name in untrained else bytes_text(round(size[name])),
                f"{encode[name]:.2f}",
                f"{decode[name]:.3f}",
                "" if name in untrained else f"{of_setting(found, 'format')[name][0].number('ms_ssim'):.4f}",
            )
            for name in size
        ]
        quickest = min(decode, key=lambda name: decode[name])
        smallest = min(lossless or size, key=lambda name: size[name])
        marks = [Mark(name, size[name], max(decode[name], 1e-4)) for name in size if name not in untrained]
        sentences = (
            *("Times are of one core, without waiting; what is decoded are pixels.",),
            *(f"{name} was timed with untrained weights: what it takes is true, its bytes and its likeness would "
              "not be." for name in sorted(untrained)),
        )  # fmt: skip
        drawing = Figure(
            scatter(marks, "bytes per image", "decode ms, one core"), "Left: small. Down: quick to decode."
        )
        columns = ("format", "lossless", "bytes", "encode ms", "decode ms", "MS-SSIM")
        return Findings(
            _answer(decode, smallest),
            (Section("Formats", sentences, (drawing,), table_of(columns, rows)),),
            values={
                "quickest": quickest,
                "smallest_lossless": smallest,
                "decode_ms": dict(decode),
                "bytes": dict(size),
            },
        )


def _answer(decode: Mapping[str, float], smallest: str) -> str:
    """Name the fastest format, the fastest one that compresses if that is `raw`, and the smallest."""
    ordered = sorted(decode, key=lambda name: decode[name])
    told = f"{ordered[0]} decodes quickest ({decode[ordered[0]]:.3f} ms an image)"
    if ordered[0] == "raw" and len(ordered) > 1:
        told += f", {ordered[1]} quickest of those that compress ({decode[ordered[1]]:.3f} ms)"
    return f"{told}; of those that lose nothing, {smallest} is smallest."
