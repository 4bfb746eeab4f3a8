"""Files of any released version decode to the same pixels on every SIMD path, or are refused in the same words."""

from __future__ import annotations

import json

import numpy as np
import pytest

import penstock
from penstock import _native
from penstock.codecs.sluice import default_tables, first_layer_bytes, from_jpeg, to_jpeg
from penstock.codecs.weir_metadata import read_metadata
from spec.reference import sluice as sluice_reference
from spec.reference import weir as reference
from tests.golden import images, jpeg_restorations, sluice_files, weir_decoded, weir_refused
from tests.golden.kinds import Golden, Refused
from tests.golden.make import DIGESTS, FOLDER, GOLDENS, REFUSED, digest

EXPECTED: dict[str, str] = json.loads(DIGESTS.read_text())
OURS = [golden for golden in GOLDENS if golden.format]
WEIR = sorted(path for path in EXPECTED if path.endswith(".weir"))
SLUICE = sorted(path for path in EXPECTED if path.startswith("sluice/"))
SLUICE_PREFIXES = sorted(path for path in EXPECTED if path.startswith("sluice-prefix/"))
STANDARD_SLUICE = [f"sluice/{name}.sluice" for name in (*sluice_files.CASES, *sluice_files.LAYERED)]


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


@pytest.mark.parametrize("path", STANDARD_SLUICE)
def test_golden_sluice_is_written_byte_for_byte_from_its_jpeg(path: str) -> None:
    data = (FOLDER / path).read_bytes()
    assert from_jpeg(to_jpeg(data), bits=data[21]) == data


@pytest.mark.parametrize("path", SLUICE)
def test_reference_reads_golden_sluice(path: str) -> None:
    data = (FOLDER / path).read_bytes()
    image = sluice_reference.decode(data, default_tables(data[21]))
    expected = _native.jpeg_read_coefficients(to_jpeg(data))["components"]
    assert isinstance(expected, list)
    for component, (_, _, quantization, blocks) in zip(image.components, expected, strict=True):
        assert component.quantization == list(quantization)
        np.testing.assert_array_equal(np.array(component.blocks), blocks.reshape(-1, 64))


@pytest.mark.parametrize("path", SLUICE_PREFIXES)
def test_reference_reads_the_first_layer_of_golden_sluice(path: str) -> None:
    prefix = (FOLDER / path).read_bytes()
    whole = (FOLDER / path.replace("sluice-prefix", "sluice")).read_bytes()
    assert whole.startswith(prefix)
    assert len(prefix) == first_layer_bytes(whole)
    bits = prefix[21]
    image = sluice_reference.decode(prefix, default_tables(bits))
    expected = _native.jpeg_read_coefficients(to_jpeg(whole))["components"]
    assert isinstance(expected, list)
    for component, (_, _, _, blocks) in zip(image.components, expected, strict=True):
        values = blocks.reshape(-1, 64).astype(np.int64)
        coarse = abs(values) >> bits
        wanted = np.where(coarse > 0, np.sign(values) * ((coarse << bits) + ((1 << bits) - 1) // 2), 0)
        wanted[:, 0] = values[:, 0]
        np.testing.assert_array_equal(np.array(component.blocks), wanted)


@pytest.mark.parametrize("refused", sluice_files.REFUSED, ids=lambda refused: refused.path)
def test_sluice_reference_refuses_abuse(refused: Refused) -> None:
    data = (FOLDER / refused.path).read_bytes()
    tables = default_tables(2 if "layers-" in refused.path else 0)
    with pytest.raises(sluice_reference.SluiceError):
        sluice_reference.decode(data, tables)


@pytest.mark.parametrize("refused", weir_refused.REFUSED, ids=lambda refused: refused.path)
def test_reference_refuses_abuse(refused: Refused) -> None:
    with pytest.raises(reference.WeirError):
        reference.decode((FOLDER / refused.path).read_bytes())


@pytest.mark.parametrize("profile", weir_decoded.PROFILES)
def test_golden_metadata_is_read(profile: str) -> None:
    data = (FOLDER / "weir" / f"{profile}-metadata.weir").read_bytes()
    assert tuple(read_metadata(data)) == weir_decoded.METADATA
    assert reference.decode(data).metadata == [(entry.tag, entry.content) for entry in weir_decoded.METADATA]
    assert penstock.inspect(data).orientation == 6


UNLISTED = ("__pycache__", "earlier", "sluice-dataset")  # datasets have tests of their own


def test_every_golden_file_is_listed() -> None:
    files = {str(path.relative_to(FOLDER)) for path in FOLDER.glob("*/*") if path.parent.name not in UNLISTED}
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
