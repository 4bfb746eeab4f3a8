"""How small is Weir next to PNG and L3, and how fast does it decode next to libspng and encode?"""

from __future__ import annotations

import io
from collections.abc import Sequence

import imagecodecs
import numpy as np
from PIL import Image

import penstock
from bench.corpus import files_of
from bench.timing import Contender, Session, arguments
from penstock import _native
from penstock.codecs import DecodeOptions
from penstock.types import Pixels

FORMATS = ("weir:fast", "weir:dense")
PATHS = ("avx2", "avx512")
UNCHECKED = DecodeOptions(verify=False)


def main() -> None:
    """Sizes, decodes and encodes on both corpora; a region of the large frame."""
    parser = arguments(__doc__ or "")
    parser.set_defaults(limit=60)
    options = parser.parse_args()
    for corpus in ("cityscapes", "imagenet"):
        compare(corpus, options.limit, rounds=options.rounds, record=options.record)
    regions(rounds=options.rounds, record=options.record)


def compare(corpus: str, limit: int, *, rounds: int, record: bool) -> None:
    """Sizes, decodes and encodes on one corpus."""
    images = [rgb(penstock.decode(path.read_bytes())) for path in files_of(corpus, limit)]
    encoded = {name: [penstock.encode(pixels, name) for pixels in images] for name in (*FORMATS, "l3")}
    encoded["png"] = [pillow_png(pixels) for pixels in images]
    sizes = {name: sum(map(len, files)) for name, files in encoded.items()}
    for name in FORMATS:
        smaller = {other: sizes[other] / sizes[name] for other in ("png", "l3")}
        print(f"{corpus}: {name} is 1/{smaller['png']:.3f} of PNG, 1/{smaller['l3']:.3f} of L3")
    session = Session("weir", "How fast does Weir decode?", corpus, len(images), rounds=rounds, record=record)
    with session:
        timings = session.compare(decoders(images, encoded), verify=lambda: verify(images, encoded))
        session.report(timings, baseline="libspng", amount_bytes=raw_bytes(images), encoded_bytes=sizes)
    session = Session("weir", "How fast does Weir encode?", corpus, len(images), rounds=rounds, record=record)
    with session:
        contenders = {f"encode {name}": encode_all(images, name) for name in FORMATS}
        timings = session.compare(contenders, verify=lambda: verify(images, encoded))
        session.report(timings, baseline="encode weir:dense", amount_bytes=raw_bytes(images))


def regions(*, rounds: int, record: bool) -> None:
    """A 224x224 region of a 2048x1024 frame, 100 places a round, tile checksums on."""
    frame = penstock.decode(files_of("cityscapes-full")[0].read_bytes())
    rng = np.random.default_rng(0)
    places = [(int(rng.integers(1024 - 224)), int(rng.integers(2048 - 224)), 224, 224) for _ in range(100)]
    files = {name: penstock.encode(frame, name) for name in FORMATS}

    def crops(data: bytes) -> Contender:
        return lambda: [penstock.decode(data, region=place) for place in places]

    def check() -> None:
        for data in files.values():
            for y, x, h, w in places[:10]:
                found = penstock.decode(data, region=(y, x, h, w))
                np.testing.assert_array_equal(found, frame[y : y + h, x : x + w])

    question = "What do 100 regions of 224x224 of a large frame cost?"
    with Session("weir", question, "cityscapes-full", 1, rounds=rounds, record=record) as session:
        timings = session.compare({name: crops(data) for name, data in files.items()}, verify=check)
        session.report(timings, baseline="weir:fast")


def rgb(pixels: Pixels) -> Pixels:
    """Grey images as RGB, so that a corpus has one kind."""
    if pixels.ndim == 3:
        return pixels
    return np.repeat(pixels[:, :, None], 3, axis=2).astype(np.uint8)


def pillow_png(pixels: Pixels) -> bytes:
    """PNG as Pillow writes it at level 6."""
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG", compress_level=6)
    return file.getvalue()


def raw_bytes(images: Sequence[Pixels]) -> int:
    """Bytes of the pixels."""
    return sum(pixels.nbytes for pixels in images)


def decoders(images: Sequence[Pixels], encoded: dict[str, list[bytes]]) -> dict[str, Contender]:
    """libspng, and Weir on each path: into one buffer without checksums and with, and all results alive, with."""
    largest = np.empty(max(pixels.nbytes for pixels in images), np.uint8)
    buffers = [largest[: pixels.nbytes].reshape(pixels.shape) for pixels in images]

    def reused(path: str, files: list[bytes], options: DecodeOptions) -> Contender:
        def run() -> None:
            _native.force_simd_path(path)
            for data, out in zip(files, buffers, strict=True):
                penstock.decode(data, out=out, options=options)

        return run

    def alive(path: str, files: list[bytes]) -> Contender:
        def run() -> list[Pixels]:
            _native.force_simd_path(path)
            return [penstock.decode(data) for data in files]

        return run

    contenders: dict[str, Contender] = {"libspng": lambda: [imagecodecs.spng_decode(data) for data in encoded["png"]]}
    for path in PATHS:
        for name in FORMATS:
            contenders[f"{name} {path} reused"] = reused(path, encoded[name], UNCHECKED)
            contenders[f"{name} {path} reused, verified"] = reused(path, encoded[name], DecodeOptions())
            contenders[f"{name} {path} alive, verified"] = alive(path, encoded[name])
    return contenders


def encode_all(images: Sequence[Pixels], name: str) -> Contender:
    """Encodes all images once, on the best path."""

    def run() -> None:
        _native.force_simd_path(_native.best_simd_path())
        for pixels in images:
            penstock.encode(pixels, name)

    return run


def verify(images: Sequence[Pixels], encoded: dict[str, list[bytes]]) -> None:
    """Every file decodes to its image, on every path."""
    for path in PATHS:
        _native.force_simd_path(path)
        for name in (*FORMATS, "l3"):
            for pixels, data in zip(images, encoded[name], strict=True):
                np.testing.assert_array_equal(penstock.decode(data), pixels, err_msg=f"{name} on {path}")


if __name__ == "__main__":
    main()
