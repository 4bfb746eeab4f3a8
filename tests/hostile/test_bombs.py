"""Small files that ask for much: memory and time stay within a multiple of their length."""

from __future__ import annotations

import resource
import struct
import subprocess
import sys
import zlib
from base64 import b85decode
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import penstock
from penstock import _native
from penstock.build import build

MAX_METADATA_BYTES = 1 << 24
PNG = penstock.encode(np.zeros((8, 8, 3), np.uint8), "png")
JPEG = penstock.encode(np.zeros((16, 16, 3), np.uint8), "jpeg")

# A flat image of 64x64 in 77 scans, progressive, arithmetic-coded, by libjpeg-turbo.
ARITHMETIC = zlib.decompress(
    b85decode(
        "c-ocHO-jR16o%n*do)ej6ccq&OSFj!RVbp@f(nX4Kv1XILR><&kS$~hW+M)y3-D*+PGYrG>N_(Tea|4g<lg4B`IO-P_U=}U5izq@"
        "nh#0Eb)2@d>bBc$&vQHeX3y_-{jK$lwax9paA$iEMe+X8DBd0KMbW|8;rRGuGMNlV7gy)@^5}G8zdvF;&-1%}zt`*ABuebRpXNnE"
        "S8n7+O(?C<XlR<LI1-qkc^6-ev;qx8I*;*Ui;777@cd_2*d=y>onvR%DYnH<u!Gs2%1W?0Q+M{C&9L(Xs0kIJBou_4kP%XXB_xF4"
        "2f{hD%p!dWYC=UQ2?Zf1WQ3Gp2?^m(x-wmvu1r^^E7O(f%5-JAGF_Rjzv;in5MOr)HK8Jugo2P0GD1qQgoJ<#vq)cpnoto+LP5w0"
        "86hQDLPEfWLAo+snXXJ%rYqBx>B@9vx-wno>2F_CSdnf"
    )
)


def chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def metadata_bomb(num_chunks: int, inflated_bytes: int = MAX_METADATA_BYTES - 64) -> bytes:
    """A tiny image with compressed texts of 16 kB that inflate to almost 16 MiB each."""
    body = zlib.compress(b"a" * inflated_bytes, 9)
    return PNG[:33] + b"".join(chunk(b"zTXt", b"k%d\0\0" % i + body) for i in range(num_chunks)) + PNG[33:]


def run_within(cpu_seconds: int, program: str) -> None:
    """Run Python code that may use so much of a processor, however busy the machine is."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds))

    done = subprocess.run(
        [sys.executable, "-c", program], preexec_fn=limit, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr or f"ended by signal {-done.returncode}"


def test_the_metadata_of_a_file_has_one_limit() -> None:
    block, kept, dropped = _native.read_metadata(metadata_bomb(40))

    assert len(block) <= MAX_METADATA_BYTES
    assert Counter(kept) == {"TEXT": 1}
    assert Counter(dropped) == {"zTXt": 39}


def test_what_still_fits_is_kept_beside_what_does_not() -> None:
    bomb = metadata_bomb(2, inflated_bytes=MAX_METADATA_BYTES - 1000)
    small = chunk(b"tEXt", b"Title\0at dusk")
    block, kept, dropped = _native.read_metadata(bomb[:-12] + small + bomb[-12:])

    assert (kept, dropped) == (["TEXT", "TEXT"], ["zTXt"])
    assert b"Title\0at dusk" in block


@pytest.mark.parametrize("separator", [b"tEXt", b"iTXt"])
def test_plain_texts_share_the_limit(separator: bytes) -> None:
    head = b"k\0" if separator == b"tEXt" else b"k\0\0\0\0\0"
    text = chunk(separator, head + bytes(b"a" * (9 << 20)))
    block, kept, dropped = _native.read_metadata(PNG[:33] + text + text + PNG[33:])

    assert len(block) <= MAX_METADATA_BYTES
    assert (kept, dropped) == (["TEXT"], ["TEXT"])


def test_a_metadata_bomb_among_images_leaves_a_dataset_that_opens(tmp_path: Path) -> None:
    source = tmp_path / "images"
    source.mkdir()
    (source / "0.png").write_bytes(PNG)
    (source / "1.png").write_bytes(metadata_bomb(130))

    build(source, tmp_path / "out.pen", mix="weir:fast=1", durable=False)

    lengths = penstock.Dataset(tmp_path / "out.pen").locations().metadata_length
    assert lengths.max() <= MAX_METADATA_BYTES
    assert len(lengths) == 2


def test_an_arithmetic_coded_file_of_several_scans_needs_bits_for_its_blocks() -> None:
    frame = ARITHMETIC.index(b"\xff\xca\x00\x11\x08") + 5
    huge = ARITHMETIC[:frame] + struct.pack(">HH", 8192, 8192) + ARITHMETIC[frame + 4 :]

    with pytest.raises(
        penstock.CodecError, match="arithmetic-coded jpeg of several scans and 8192x8192 pixels"
    ) as told:
        penstock.decode(huge)

    assert told.value.code == 340
    assert (penstock.decode(ARITHMETIC) == penstock.decode(ARITHMETIC)[0, 0]).all()


def test_transcoding_a_file_of_comments_is_linear() -> None:
    """libjpeg-turbo before 3.0.4 takes 50 s of a processor for what it saves of these 0.6 MB."""
    run_within(
        20,
        "from penstock import _native\n"
        f"data = {JPEG[:2]!r} + b'\\xff\\xfe\\x00\\x02' * 160_000 + {JPEG[2:]!r}\n"
        "coded = _native.transcode_jpeg(data, [('progressive', 'true')])\n"
        "assert coded.count(b'\\xff\\xfe\\x00\\x02') == 160_000",
    )


def test_reading_many_entries_of_weir_metadata_is_linear() -> None:
    """Copying the rest for every entry took a minute for these 4 MB."""
    run_within(
        20,
        "import numpy as np, penstock\n"
        "from penstock.codecs.weir_metadata import Entry, read_metadata, write_metadata\n"
        "plain = penstock.encode(np.zeros((8, 8), np.uint8), 'weir:fast')\n"
        "data = write_metadata(plain, [Entry('abcd', b'')] * (1 << 19))\n"
        "assert len(read_metadata(data)) == 1 << 19",
    )


def test_reading_many_repeated_tags_is_linear() -> None:
    """Texts before a tag that may stand once: each of its repetitions was looked for among all of them."""
    run_within(
        20,
        "import numpy as np, penstock\n"
        "from penstock import _native\n"
        "from penstock.codecs.weir_metadata import Entry, write_metadata\n"
        "plain = penstock.encode(np.zeros((8, 8), np.uint8), 'weir:fast')\n"
        "texts, others = [Entry('TEXT', b'\\0')] * (1 << 17), [Entry('XMP ', b'')] * (1 << 17)\n"
        "data = write_metadata(plain, texts + others)\n"
        "assert len(_native.read_metadata(data)[2]) == (1 << 17) - 1",
    )
