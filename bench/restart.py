"""What do restart markers buy a crop, at which size of image? What would keeping their offsets buy on top?

Rows above and below a crop are stepped over by searching for the markers. "search" is that search over whole files: no
more than that could be saved by offsets kept in the index.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

import penstock
from bench.corpus import files_of
from bench.jpeg import random_resized_crop, verify_regions
from bench.timing import Contender, Session, arguments
from penstock.codecs.jpeg import restart_offsets
from penstock.codecs.transcode import transcode
from penstock.types import Pixels, Region

SIZES = {"imagenet": None, "2048x1536": (1536, 2048), "4000x3000": (3000, 4000)}
CROP = 224


def main() -> None:
    """A table per size and kind of crop."""
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
    """Time regions of the files as they are, and of the same files with restart markers."""
    marked = [transcode(data, "jpeg:restart") for data in files]
    plain = [transcode(data, "jpeg:optimize") for data in files]  # the same coding but for the markers
    rng = np.random.default_rng(0)
    crops = [draw(rng, data) for data in files]
    growth = sum(map(len, marked)) / sum(map(len, plain)) - 1
    contenders: dict[str, Contender] = {
        "jpeg": over(plain, crops),
        "jpeg:restart": over(marked, crops),
        "search": lambda: [restart_offsets(data) for data in marked],
    }

    def verify() -> None:
        verify_regions(marked, crops)
        verify_regions(plain, crops)

    question = f"What do restart markers buy {kind}?"
    with Session("restart", question, corpus, len(files), rounds=rounds, record=record) as session:
        timings = session.compare(contenders, verify=verify)
        session.report(timings, baseline="jpeg", growth=growth, crop=kind)
        share = timings["search"].best / timings["jpeg:restart"].best
        print(f"  {growth:+.1%} bytes; offsets would save at most {share:.1%} of the time\n")


def over(files: Sequence[bytes], crops: Sequence[Region]) -> Contender:
    """Decodes a crop of every file."""

    def run() -> None:
        for data, crop in zip(files, crops, strict=True):
            penstock.decode(data, region=crop)

    return run


def random_crop(rng: np.random.Generator, data: bytes) -> Region:
    """A small square, as RandomCrop draws it."""
    info = penstock.inspect(data)
    height, width = min(CROP, info.height), min(CROP, info.width)
    return int(rng.integers(info.height - height + 1)), int(rng.integers(info.width - width + 1)), height, width


def mosaics(sources: Sequence[bytes], size: tuple[int, int], count: int) -> list[bytes]:
    """Larger photographs, of smaller ones side by side: as many bytes a pixel as those have."""
    rng = np.random.default_rng(1)
    return [penstock.encode(mosaic(sources, size, rng), "jpeg:q=90") for _ in range(count)]


def mosaic(sources: Sequence[bytes], size: tuple[int, int], rng: np.random.Generator) -> Pixels:
    """One of them."""
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
