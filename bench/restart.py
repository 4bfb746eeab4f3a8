"""What do restart markers buy a crop, and what do their offsets, kept in the file, buy on top, at which size of image?

The same coding thrice: without markers, with markers that are searched for, and with markers and their offsets.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

import penstock
from bench.corpus import files_of
from bench.jpeg import random_resized_crop, verify_regions
from bench.timing import Contender, Session, arguments, ratio
from penstock.codecs.jpeg import row_offsets
from penstock.codecs.transcode import transcode
from penstock.types import Pixels, Region
from spec.reference.jpeg import NAME

SIZES = {"imagenet": None, "2048x1536": (1536, 2048), "4000x3000": (3000, 4000)}
CROP = 224


def main() -> None:
    """Print one table per size and kind of crop."""
    parser = arguments(__doc__ or "")
    parser.set_defaults(limit=60)
    options = parser.parse_args()
    sources = [path.read_bytes() for path in files_of("imagenet", options.limit)]
    sources = [data for data in sources if penstock.inspect(data).channels == 3]
    for name, size in SIZES.items():
        files = sources if size is None else mosaics(sources, size, count=max(2, len(sources) // 10))
        for kind, draw in {"RandomResizedCrop": random_resized_crop, f"RandomCrop({CROP})": random_crop}.items():
            compare(name, kind, files, draw, rounds=options.rounds, record=options.record)


def compare(
    corpus: str,
    kind: str,
    files: Sequence[bytes],
    draw: Callable[[np.random.Generator, bytes], Region],
    *,
    rounds: int,
    record: bool,
) -> None:
    """Time regions of the files without markers, with them, and with their offsets."""
    plain = [transcode(data, "jpeg:optimize") for data in files]  # the same coding but for the markers
    kept = [transcode(data, "jpeg:restart") for data in files]
    searched = [without_offsets(data) for data in kept]
    rng = np.random.default_rng(0)
    crops = [draw(rng, data) for data in files]
    contenders: dict[str, Contender] = {
        "no markers": over(plain, crops),
        "markers, searched": over(searched, crops),
        "markers and offsets": over(kept, crops),
    }

    def verify() -> None:
        for variant in (plain, searched, kept):
            verify_regions(variant, crops)

    marker_share = share(searched, plain)
    offset_share = share(kept, searched)
    question = f"What do restart markers and their offsets buy {kind}?"
    with Session("restart", question, corpus, len(files), rounds=rounds, record=record) as session:
        timings = session.compare(contenders, verify=verify)
        session.report(timings, baseline="no markers", marker_share=marker_share, offset_share=offset_share, crop=kind)
        gain = ratio(timings["markers and offsets"], timings["markers, searched"])
        print(
            f"  offsets on top of markers: {gain.of_best:.2f}x ({gain.median:.2f}x by round, {gain.lowest:.2f} to "
            f"{gain.highest:.2f}); bytes: markers {marker_share:+.2%}, offsets {offset_share:+.2%}\n"
        )


def share(files: Sequence[bytes], than: Sequence[bytes]) -> float:
    """Return how much larger files are than others."""
    return sum(map(len, files)) / sum(map(len, than)) - 1


def without_offsets(data: bytes) -> bytes:
    """Return the file with its markers, but without the segment of their offsets."""
    if not row_offsets(data):
        return data
    begin = data.index(NAME) - 4
    return data[:begin] + data[begin + 2 + int.from_bytes(data[begin + 2 : begin + 4], "big") :]


def over(files: Sequence[bytes], crops: Sequence[Region]) -> Contender:
    """Make a contender that decodes a crop of every file."""

    def run() -> None:
        for data, crop in zip(files, crops, strict=True):
            penstock.decode(data, region=crop)

    return run


def random_crop(rng: np.random.Generator, data: bytes) -> Region:
    """Draw a small square like RandomCrop."""
    info = penstock.inspect(data)
    height, width = min(CROP, info.height), min(CROP, info.width)
    return int(rng.integers(info.height - height + 1)), int(rng.integers(info.width - width + 1)), height, width


def mosaics(sources: Sequence[bytes], size: tuple[int, int], count: int) -> list[bytes]:
    """Make larger photographs from smaller ones side by side, with the same bytes per pixel."""
    rng = np.random.default_rng(1)
    return [penstock.encode(mosaic(sources, size, rng), "jpeg:q=90") for _ in range(count)]


def mosaic(sources: Sequence[bytes], size: tuple[int, int], rng: np.random.Generator) -> Pixels:
    """Make one such photograph."""
    height, width = size
    canvas = np.zeros((height, width, 3), np.uint8)
    top = 0
    while top < height:
        left, band = 0, height
        while left < width:
            tile = penstock.decode(sources[int(rng.integers(len(sources)))])
            part = tile[: height - top, : width - left]
            canvas[top : top + part.shape[0], left : left + part.shape[1]] = part
            left, band = left + tile.shape[1], min(band, tile.shape[0])
        top += band
    return canvas


if __name__ == "__main__":
    main()
