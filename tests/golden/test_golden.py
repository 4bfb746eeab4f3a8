"""Files of any released version decode to the same pixels on every SIMD path, or are refused in the same words."""

from __future__ import annotations

import json

import numpy as np
import pytest

import penstock
from penstock.codecs.weir_metadata import read_metadata
from spec.reference import weir as reference
from tests.golden import images, jpeg_restorations, weir_decoded
from tests.golden.kinds import Golden, Refused
from tests.golden.make import DIGESTS, FOLDER, GOLDENS, REFUSED, digest

EXPECTED: dict[str, str] = json.loads(DIGESTS.read_text())
OURS = [golden for golden in GOLDENS if golden.format]
WEIR = sorted(path for path in EXPECTED if path.endswith(".weir"))


@pytest.mark.usefixtures("simd_path")
@pytest.mark.parametrize("path", sorted(EXPECTED))
def test_golden_file_decodes_to_its_pixels(path: str) -> None:
    assert digest(penstock.decode((FOLDER / path).read_bytes())) == EXPECTED[path]


@pytest.mark.usefixtures("simd_path")
@pytest.mark.parametrize("golden", OURS, ids=lambda golden: golden.path)
def test_golden_file_is_written_byte_for_byte(golden: Golden) -> None:
    assert golden.encode() == (FOLDER / golden.path).read_bytes()


@pytest.mark.usefixtures("simd_path")
@pytest.mark.parametrize("refused", REFUSED, ids=lambda refused: refused.path)
def test_abuse_is_refused_by_name(refused: Refused) -> None:
    with pytest.raises(penstock.CodecError) as raised:
        penstock.decode((FOLDER / refused.path).read_bytes())
    assert refused.words in raised.value.what
    assert raised.value.code == refused.code


@pytest.mark.parametrize("path", WEIR)
def test_reference_decodes_golden_file(path: str) -> None:
    image = reference.decode((FOLDER / path).read_bytes())
    head = image.header
    samples = np.array(image.rows).reshape(head.height, head.width, head.channels)
    assert digest(images.finish(samples, head.bits)) == EXPECTED[path]


@pytest.mark.parametrize("refused", REFUSED, ids=lambda refused: refused.path)
def test_reference_refuses_abuse(refused: Refused) -> None:
    with pytest.raises(reference.WeirError):
        reference.decode((FOLDER / refused.path).read_bytes())


@pytest.mark.parametrize("profile", weir_decoded.PROFILES)
def test_golden_metadata_is_read(profile: str) -> None:
    data = (FOLDER / "weir" / f"{profile}-metadata.weir").read_bytes()
    assert tuple(read_metadata(data)) == weir_decoded.METADATA
    assert reference.decode(data).metadata == [(entry.tag, entry.content) for entry in weir_decoded.METADATA]
    assert penstock.inspect(data).orientation == 6


def test_every_golden_file_is_listed() -> None:
    files = {str(path.relative_to(FOLDER)) for path in FOLDER.glob("*/*") if path.parent.name != "__pycache__"}
    listed = {golden.path for golden in GOLDENS}
    assert set(EXPECTED) == listed
    pairs = {
        str(path.relative_to(FOLDER))
        for name in jpeg_restorations.JPEGS
        for path in jpeg_restorations.paths(name, FOLDER)
    }
    assert files == listed | pairs | {refused.path for refused in REFUSED}


def test_golden_files_are_small() -> None:
    assert sum(path.stat().st_size for path in FOLDER.glob("*/*.*")) < 300_000
