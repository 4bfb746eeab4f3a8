"""Small valid files of every codec: where fuzzing starts, and what the hostile tests damage."""

from __future__ import annotations

import io
import json
import tarfile
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import tifffile
from PIL import Image
from PIL.PngImagePlugin import PngInfo

import penstock
from fuzz.packed import pack
from fuzz.pcr_files import index_of, record_of
from penstock.build import build
from penstock.codecs import find
from penstock.codecs.pjpeg import scan_ends
from penstock.plan import Goals, make_plan, write_plan
from penstock.profile import write_profile
from penstock.testing.codec import capabilities_of, sample_image
from penstock.types import Pixels
from tests.jpeg_kinds import generated
from tests.jpeg_samplings import all_samplings, noise_jpeg
from tests.unit.codecs.test_suite import FORMATS
from tests.unit.plan.conftest import make_profile
from tests.weir_files import encode_split

SHAPES = ((1, 1), (9, 13), (20, 17))
METADATA = b"ICCP\3\0\0\0abcTEXT\3\0\0\0a\0bEXIF\2\0\0\0II"


@dataclass(frozen=True)
class Seed:
    """A file that decodes, or what a target that is not a decoder takes for one."""

    codec: str
    """Codec, or the name of another target."""
    name: str
    data: bytes


def all_seeds() -> list[Seed]:
    """List every seed, sorted by codec and name; the same on every machine with the same libraries."""
    return sorted(
        (*encoded_seeds(), *pillow_seeds(), *truncated_seeds(), *row_seeds(), *sampling_seeds(), *tiff_seeds()),
        key=lambda seed: (seed.codec, seed.name),
    )


def encoded_seeds() -> Iterator[Seed]:
    """Yield files of our own encoders: every format of the shared suite, every kind of pixel."""
    for format in FORMATS:
        codec = find(format.partition(":")[0])
        can = capabilities_of(codec)
        for channels in can.channels:
            for dtype in can.dtypes:
                height, width = SHAPES[(channels + len(format)) % len(SHAPES)]
                data = penstock.encode(sample_image(height, width, channels, dtype), format)
                yield Seed(codec.name, f"{format.replace(':', '-')}-{channels}-{dtype}", data)


def pillow_seeds() -> Iterator[Seed]:
    """Yield variants that we read but do not write."""
    colour = Image.fromarray(sample_image(20, 17, 3, "uint8"))
    exif = Image.Exif()
    exif[0x0112] = 6
    cases: list[tuple[str, str, Image.Image, dict[str, object]]] = [
        ("jpeg", "cmyk", colour.convert("CMYK"), {}),
        ("jpeg", "cmyk-progressive", colour.convert("CMYK"), {"progressive": True}),
        ("jpeg", "exif", colour, {"exif": exif}),
        ("jpeg", "grey-progressive", colour.convert("L"), {"progressive": True}),
        ("png", "palette", colour.quantize(17), {}),
        ("png", "palette-2", colour.quantize(3), {"bits": 2}),
        ("png", "palette-transparent", colour.quantize(5), {"transparency": 1}),
        ("png", "bilevel", colour.convert("1"), {}),
        ("png", "transparent", colour, {"transparency": (10, 50, 90)}),
        ("png", "exif", colour, {"exif": exif}),
        # Stored, not compressed: a mutation then changes a filter or a sample.
        ("png", "stored", colour, {"compress_level": 0}),
        ("png", "stored-16", Image.fromarray(sample_image(9, 13, 1, "uint16")), {"compress_level": 0}),
        ("png", "stored-alpha", colour.convert("RGBA"), {"compress_level": 0}),
        ("png", "stored-grey", colour.convert("L"), {"compress_level": 0}),
        ("png", "stored-palette", colour.quantize(17), {"compress_level": 0}),
        ("webp", "exif", colour, {"exif": exif, "quality": 50}),
        ("webp", "alpha", colour.convert("LA").convert("RGBA"), {"quality": 20, "alpha_quality": 40}),
        ("webp", "palette", colour.quantize(7).convert("RGB"), {"lossless": True}),
        ("bmp", "colour", colour, {}),
        ("bmp", "grey", colour.convert("L"), {}),
        ("bmp", "palette", colour.quantize(17), {}),
        ("bmp", "bilevel", colour.convert("1"), {}),
        ("bmp", "alpha", colour.convert("RGBA"), {}),
        ("ppm", "colour", colour, {}),
        ("ppm", "grey", colour.convert("L"), {}),
        ("ppm", "grey-16", Image.fromarray(sample_image(9, 13, 1, "uint16")), {}),
        ("ppm", "bilevel", colour.convert("1"), {}),
    ]
    for kind, name, image, options in cases:
        file = io.BytesIO()
        image.save(file, kind, **options)
        yield Seed("pnm" if kind == "ppm" else kind, f"pillow-{name}", file.getvalue())


def truncated_seeds() -> Iterator[Seed]:
    """Yield progressive JPEGs that end after a few scans, in colour, grey and CMYK."""
    colour = Image.fromarray(sample_image(20, 17, 3, "uint8"))
    for name, image in (("colour", colour), ("grey", colour.convert("L")), ("cmyk", colour.convert("CMYK"))):
        file = io.BytesIO()
        image.save(file, "jpeg", progressive=True)
        for count, end in enumerate(scan_ends(file.getvalue()), start=1):
            if count in (1, 2, 5, 9):
                yield Seed("pjpeg", f"truncated-{name}-{count}", file.getvalue()[:end])


def row_seeds() -> Iterator[Seed]:
    """Yield JPEGs with row offsets, and with the bytes that our own Huffman decoder needs."""
    rng = np.random.default_rng(0)
    for channels, subsampling, quality in ((1, "444", 96), (3, "444", 70), (3, "420", 90)):
        shape = (88, 64) if channels == 1 else (88, 64, 3)
        pixels: Pixels = rng.integers(0, 256, shape, np.uint8)
        data = penstock.encode(pixels, f"jpeg:q={quality}:restart:optimize:subsampling={subsampling}")
        yield Seed("jpeg", f"rows-{channels}-{subsampling}", data)


def sampling_seeds() -> Iterator[Seed]:
    """Yield JPEGs of every sampling that libjpeg decodes, including 4x2, 2x4 and mixed ones."""
    for factors in all_samplings():
        name = "-".join(f"{across}x{down}" for across, down in factors)
        data = noise_jpeg(17, 9, factors)
        try:
            penstock.decode(data)
        except penstock.CodecError:
            continue
        yield Seed("jpeg", f"sampling-{name}", data)


def tiff_seeds() -> Iterator[Seed]:
    """Yield TIFF in the supported layouts and compressions."""
    grey, colour, deep = (
        sample_image(9, 13, 1, "uint8"),
        sample_image(20, 17, 3, "uint8"),
        sample_image(9, 13, 3, "uint16"),
    )
    cases: list[tuple[str, penstock.types.Pixels, dict[str, object]]] = [
        ("grey", grey, {}),
        ("lzw-strips", colour, {"compression": "lzw", "predictor": True, "rowsperstrip": 8}),
        ("deflate-tiles", colour, {"compression": "deflate", "tile": (16, 16)}),
        ("packbits", colour, {"compression": "packbits"}),
        ("zstd-big", deep, {"compression": "zstd", "bigtiff": True, "byteorder": ">"}),
        ("planes", np.moveaxis(deep, -1, 0), {"planarconfig": "separate"}),
    ]
    for name, pixels, options in cases:
        file = io.BytesIO()
        photometric = "minisblack" if pixels.ndim == 2 else "rgb"
        tifffile.imwrite(file, pixels, photometric=photometric, metadata=None, **options)  # type: ignore[arg-type]
        yield Seed("tiff", name, file.getvalue())


def part_seeds() -> Iterator[Seed]:
    """Yield inputs of targets for parts of files; their harnesses describe the layout."""
    for name in ("fast", "dense"):
        for channels in (1, 2, 3, 4):
            for bits in (8, 16):
                yield from part_seeds_of(
                    sample_image(2 + 3 * channels, 70 - 13 * channels, channels, f"uint{bits}"), name
                )
    yield from sluice_seeds()
    wide = replace(encode_split(sample_image(70, 70, 1, "uint8"), "fast"), flags=1)
    yield Seed("weir_header", "wide-offsets", wide.data())


def sluice_seeds() -> Iterator[Seed]:
    """Yield segments of single-tile Sluice images of one component, and JPEGs for round trips."""
    for blocks_wide, blocks_high, quality in ((1, 1, 50), (8, 8, 95), (5, 3, 100), (8, 2, 20)):
        pixels = sample_image(8 * blocks_high, 8 * blocks_wide, 1, "uint8")
        file = penstock.encode(pixels, f"sluice:q={quality}")
        begin, end = (int.from_bytes(file[at : at + 4], "little") for at in (48, 52))
        label = f"{blocks_wide}-{blocks_high}-{quality}"
        yield Seed("sluice_tile", label, bytes([0, blocks_wide - 1, blocks_high - 1]) + file[begin:end])
        yield Seed("sluice_round_trip", label, penstock.encode(pixels, f"jpeg:q={quality}"))
        for bits in (1, 2, 3):
            layers = penstock.encode(pixels, f"sluice:q={quality}:layers=2:bits={bits}")
            begin, middle, end = (int.from_bytes(layers[at : at + 4], "little") for at in (48, 52, 56))
            shape = bytes([0x80 | bits - 1 << 5, blocks_wide - 1, blocks_high - 1])
            segments = (middle - begin).to_bytes(2, "little") + layers[begin:end]
            yield Seed("sluice_tile", f"{label}-layers-{bits}", shape + segments)
            yield Seed("sluice", f"{label}-layers-{bits}", layers)
            yield Seed("sluice", f"{label}-prefix-{bits}", layers[:middle])


def part_seeds_of(pixels: Pixels, profile: str) -> Iterator[Seed]:
    """Yield a tile, the front of a file and samples, from one image of at most a tile."""
    file = encode_split(pixels, profile)
    label = f"{profile}-{file.channels}-{file.bits}"
    kind = (file.channels - 1) | (file.bits == 16) << 2
    sides = bytes([file.height - 1, file.width - 1])
    yield Seed("weir_header", label, replace(file, metadata=METADATA).data())
    yield Seed("weir_tile", label, bytes([file.profile | kind << 1]) + sides[::-1] + file.tiles[0])
    for target in ("l3_round_trip", "png_round_trip", "weir_round_trip"):
        for filling in range(3):
            head = bytes([kind]) + sides + bytes([file.profile + 2 * file.channels, filling])
            yield Seed(target, f"{label}-{filling}", head + pixels.tobytes()[:120])


def metadata_seeds() -> Iterator[Seed]:
    """Yield files with metadata of every kind, and a block as a dataset stores it."""
    colour = Image.fromarray(sample_image(5, 7, 3, "uint8"))
    exif = Image.Exif()
    exif[0x0112] = 6
    texts = PngInfo()
    texts.add_text("Title", "plain")
    texts.add_text("Comment", "compressed" * 9, zip=True)
    texts.add_itxt("XML:com.adobe.xmp", "<x/>")
    texts.add(b"gAMA", (45455).to_bytes(4, "big"))
    texts.add(b"sRGB", b"\0")
    known: dict[str, object] = {"exif": exif, "icc_profile": b"profile" * 20, "dpi": (72, 72)}
    cases: list[tuple[str, str, dict[str, object]]] = [
        ("png", "all", {**known, "pnginfo": texts}),
        ("jpeg", "all", {**known, "comment": b"a comment", "xmp": b"<x/>"}),
        ("webp", "all", {**known, "xmp": b"<x/>"}),
    ]
    for kind, name, options in cases:
        file = io.BytesIO()
        colour.save(file, kind, **options)
        yield Seed("metadata", f"{kind}-{name}", file.getvalue())
    yield Seed("metadata", "block", METADATA)
    weir = replace(encode_split(sample_image(5, 7, 3, "uint8"), "fast"), metadata=METADATA)
    yield Seed("metadata", "weir-all", weir.data())


def dataset_seeds() -> Iterator[Seed]:
    """Yield a tiny dataset in two formats with masks, and one in blocks, packed for the targets."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for number in range(3):
            pixels = sample_image(6 + number, 9, 3, "uint8", seed=number)
            mask: Pixels = np.ascontiguousarray(pixels[..., 0]).astype(np.uint8)
            for kind, image in (("images", pixels), ("masks", mask)):
                (folder / "source" / kind).mkdir(parents=True, exist_ok=True)
                (folder / "source" / kind / f"{number}.png").write_bytes(penstock.encode(image, "png"))
            (folder / "jpegs" / "a").mkdir(parents=True, exist_ok=True)
            (folder / "jpegs" / "a" / f"{number}.jpg").write_bytes(penstock.encode(pixels, "jpeg:q=40"))
        mixed = build(folder / "source", folder / "mixed.pen", mix="weir:fast=0.6,raw=0.4", durable=False).path
        blocks = build(folder / "jpegs", folder / "blocks.pen", mix="pjpeg=1", durable=False).path
        for label, path in (("mixed", mixed), ("blocks", blocks)):
            manifest = json.loads((path / "manifest.json").read_bytes())
            del manifest["checksum"]
            yield Seed("manifest", label, json.dumps(manifest, separators=(",", ":")).encode())
            yield Seed("index", label, pack(path, with_shards=False))
            yield Seed("dataset", label, pack(path, with_shards=True))


def document_seeds() -> Iterator[Seed]:
    """Yield a profile, a plan made from it, and a plan of rules."""
    formats = {"png": (1.0, 20.0), "raw": (3.0, 0.5)}
    profile = make_profile(formats, source="png", disk=1e9, spread=0.3, num_images=3)
    plan = write_plan(make_plan(profile, Goals(memory_bytes=0)))
    for name, document in (("profile", write_profile(profile)), ("plan", plan)):
        yield Seed("documents", name, json.dumps(json.loads(document), separators=(",", ":")).encode())
    rules = [
        {"where": [{"feature": "pixels", "below": 4096}, {"feature": "codec", "is": "png"}], "mix": {"png": 1}},
        {"mix": {"weir:fast": 0.5, "jpeg": 0.5}},
    ]
    members = {"kind": "penstock plan", "version": 1, "seed": 3, "rules": rules, "fields": {"mask": "png"}}
    yield Seed("documents", "rules", json.dumps(members, separators=(",", ":")).encode())


def source_seeds() -> Iterator[Seed]:
    """Yield tars of the three supported kinds, and records of PCR."""
    image = penstock.encode(sample_image(3, 4, 3, "uint8"), "png")
    members = {
        "a.png": image,
        "a.cls": b"3",
        "a.json": b'{"x": [1, 2.5]}',
        "a.seg.png": image,
        "b/" * 60 + "b.png": image,
    }
    for label, kind in (("ustar", tarfile.USTAR_FORMAT), ("gnu", tarfile.GNU_FORMAT), ("pax", tarfile.PAX_FORMAT)):
        file = io.BytesIO()
        with tarfile.open(fileobj=file, mode="w", format=kind) as tar:
            for name, data in members.items():
                entry = tarfile.TarInfo(name if kind != tarfile.PAX_FORMAT else name.replace("a.", "ä."))
                entry.size = len(data)
                tar.addfile(entry, io.BytesIO(data))
        yield Seed("tar", label, file.getvalue()[: -(-file.tell() // 512) * 512].rstrip(b"\0") + bytes(1536))
    record = record_of([3, 7], [[b"\xff\xd8one", b"\xff\xd8two"], [b"1", b""]])
    packed = b"".join(len(part).to_bytes(2, "little") + part for part in record)
    yield Seed("pcr", "record", bytes([len(record)]) + packed)
    yield Seed("pcr", "index", b"\0" + index_of("a.pcr", [len(part) for part in record]))


def restore_seeds() -> Iterator[Seed]:
    """Yield JPEGs of kinds that no library writes, and restoration data for the target's small images."""
    for number in range(40):
        yield Seed("restore", f"generated-{number}", generated(number))
    head = bytes.fromhex("02 0401 0000 06c0 08")
    notes = {"usual": "00", "padding": "01 00 02 08 ff", "runs": "01 00 0c 01 05", "zeros": "01 00 10 01 00 01"}
    for name, text in notes.items():
        for kind in range(4):
            fills = bytes(kind and 3)
            yield Seed(
                "restore", f"body-{name}-{kind}", bytes([kind]) + head + b"\x0a\x0b\0" + bytes.fromhex(text) + fills
            )
    scans = "09 01 00 00 00 00 01  09 01 00 00 00 00 10  09 01 00 00 01 3f 01  09 01 00 00 01 3f 10"
    yield Seed("restore", "body-progressive", b"\0" + head[:-3] + b"\x06\xc2\x08" + bytes.fromhex(scans) + b"\x0b\0\0")


def write_seeds(folder: Path) -> None:
    """Write every seed as TARGET/NAME below `folder`."""
    files = [seed for seed in all_seeds() if seed.codec in ("jpeg", "pjpeg")]
    jpegs = [replace(seed, codec=target) for seed in files for target in ("restore", "transcode")]
    readers = (*metadata_seeds(), *dataset_seeds(), *document_seeds(), *source_seeds())
    for seed in (*all_seeds(), *part_seeds(), *jpegs, *restore_seeds(), *readers):
        (folder / seed.codec).mkdir(parents=True, exist_ok=True)
        (folder / seed.codec / seed.name).write_bytes(seed.data)
