"""How small is Weir next to PNG and L3, how fast next to libspng, and what does a call cost?"""

from __future__ import annotations

import io
from collections.abc import Sequence

import imagecodecs
import numpy as np
from PIL import Image

import penstock
from bench.corpus import files_of
from bench.libspng import decode_grey, library
from bench.timing import Contender, Session, arguments
from penstock import _native
from penstock.codecs import DecodeOptions
from penstock.synth import Scenes, render
from penstock.types import Pixels

FORMATS = ("weir:fast", "weir:dense")
PATHS = ("avx2", "avx512")
TILES = 64
CALLS = 50
UNCHECKED = DecodeOptions(verify=False)


def main() -> None:
    """Measure sizes, decodes and encodes on both corpora and in 16 bits; a region; a small image."""
    parser = arguments(__doc__ or "")
    parser.set_defaults(limit=60)
    options = parser.parse_args()
    for corpus in ("cityscapes", "imagenet"):
        images = [rgb(penstock.decode(path.read_bytes())) for path in files_of(corpus, options.limit)]
        compare(corpus, images, rounds=options.rounds, record=options.record)
    compare("synth-16", synthetic(min(options.limit or 20, 20)), rounds=options.rounds, record=options.record)
    regions(rounds=options.rounds, record=options.record)
    calls(rounds=options.rounds, record=options.record)


def compare(corpus: str, images: Sequence[Pixels], *, rounds: int, record: bool) -> None:
    """Compare sizes, decodes and encodes of some images; L3 has 8 bits only."""
    ours = (*FORMATS, "l3") if images[0].dtype == np.uint8 else FORMATS
    encoded = {name: [penstock.encode(pixels, name) for pixels in images] for name in ours}
    encoded["png"] = [pillow_png(pixels) for pixels in images]
    sizes = {name: sum(map(len, files)) for name, files in encoded.items()}
    for name in FORMATS:
        smaller = [f"1/{sizes[other] / sizes[name]:.3f} of {other}" for other in ("png", "l3") if other in sizes]
        print(f"{corpus}: {name} is {', '.join(smaller)}")
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
    """Measure a 224x224 region of a 2048x1024 frame, 100 places per round, with tile checksums."""
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


def calls(*, rounds: int, record: bool) -> None:
    """Measure the overhead of a call of `penstock.decode`: many images of one tile against few of many tiles."""
    frame = penstock.decode(files_of("cityscapes", 1)[0].read_bytes())
    tile: Pixels = frame[64:128, 64:128].astype(np.uint8)
    strip: Pixels = np.tile(tile, (1, TILES, 1)).astype(np.uint8)

    def decode_often(data: bytes, times: int) -> Contender:
        return lambda: [penstock.decode(data) for _ in range(times)]

    for name in FORMATS:
        files = {"one": penstock.encode(tile, name), "all": penstock.encode(strip, name)}

        def check(files: dict[str, bytes] = files) -> None:
            np.testing.assert_array_equal(penstock.decode(files["one"]), tile)
            np.testing.assert_array_equal(penstock.decode(files["all"]), strip)

        many, few = f"{name}, a tile a call", f"{name}, {TILES} tiles a call"
        contenders = {many: decode_often(files["one"], CALLS * TILES), few: decode_often(files["all"], CALLS)}
        question = f"What do {CALLS * TILES} tiles cost, one or {TILES} a call?"
        with Session("weir", question, "cityscapes", 1, rounds=rounds, record=record) as session:
            timings = session.compare(contenders, verify=check)
            overhead = (timings[many].best - timings[few].best) / (CALLS * TILES - CALLS)
            session.report(timings, baseline=few, call_microseconds=overhead * 1e6)
            print(f"{name}: a call costs {overhead * 1e6:.2f} us more than its tile")


def synthetic(count: int) -> list[Pixels]:
    """Make grey images of 16 bits with the values and the noise of a 12-bit sensor."""
    scenes = Scenes(width=512, height=256, bits=16)
    return [render(index, scenes) for index in range(count)]


def rgb(pixels: Pixels) -> Pixels:
    """Convert grey images to RGB, so that a corpus has one kind."""
    if pixels.ndim == 3:
        return pixels
    return np.repeat(pixels[:, :, None], 3, axis=2).astype(np.uint8)


def pillow_png(pixels: Pixels) -> bytes:
    """Encode PNG as Pillow does at level 6."""
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG", compress_level=6)
    return file.getvalue()


def raw_bytes(images: Sequence[Pixels]) -> int:
    """Return the bytes of the pixels."""
    return sum(pixels.nbytes for pixels in images)


def decoders(images: Sequence[Pixels], encoded: dict[str, list[bytes]]) -> dict[str, Contender]:
    """Return libspng, and Weir on each path: with and without checksums, with one buffer or all results alive."""
    largest = np.empty(max(pixels.nbytes for pixels in images), np.uint8)
    buffers = [largest[: pixels.nbytes].view(pixels.dtype).reshape(pixels.shape) for pixels in images]

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

    contenders = {"libspng": libspng(images, encoded["png"])}
    for path in PATHS:
        for name in FORMATS:
            contenders[f"{name} {path} reused"] = reused(path, encoded[name], UNCHECKED)
            contenders[f"{name} {path} reused, verified"] = reused(path, encoded[name], DecodeOptions())
            contenders[f"{name} {path} alive, verified"] = alive(path, encoded[name])
    return contenders


def libspng(images: Sequence[Pixels], files: Sequence[bytes]) -> Contender:
    """Return libspng through imagecodecs, or directly if imagecodecs copies its pixels."""
    if images[0].dtype == np.uint8:
        return lambda: [imagecodecs.spng_decode(data) for data in files]
    spng = library()
    for pixels, data in zip(images, files, strict=True):
        np.testing.assert_array_equal(decode_grey(spng, data, *pixels.shape), pixels)
    return lambda: [decode_grey(spng, data, *pixels.shape) for data, pixels in zip(files, images, strict=True)]


def encode_all(images: Sequence[Pixels], name: str) -> Contender:
    """Make a contender that encodes all images once, on the best path."""

    def run() -> None:
        _native.force_simd_path(_native.best_simd_path())
        for pixels in images:
            penstock.encode(pixels, name)

    return run


def verify(images: Sequence[Pixels], encoded: dict[str, list[bytes]]) -> None:
    """Check that every file decodes to its image, on every path."""
    for path in PATHS:
        _native.force_simd_path(path)
        for name in [name for name in encoded if name != "png"]:
            for pixels, data in zip(images, encoded[name], strict=True):
                np.testing.assert_array_equal(penstock.decode(data), pixels, err_msg=f"{name} on {path}")


if __name__ == "__main__":
    main()
