"""Files written by any released version decode to the same pixels, and are still written byte for byte."""

from __future__ import annotations

import json

import pytest

import penstock
from tests.golden.make import DIGESTS, FOLDER, GOLDENS, Golden, digest

EXPECTED: dict[str, str] = json.loads(DIGESTS.read_text())
OURS = [golden for golden in GOLDENS if golden.format]


@pytest.mark.parametrize("path", sorted(EXPECTED))
def test_golden_file_decodes_to_its_pixels(path: str) -> None:
    assert digest(penstock.decode((FOLDER / path).read_bytes())) == EXPECTED[path]


@pytest.mark.parametrize("golden", OURS, ids=lambda golden: golden.path)
def test_golden_file_is_written_byte_for_byte(golden: Golden) -> None:
    assert golden.encode() == (FOLDER / golden.path).read_bytes()


def test_every_golden_file_is_listed() -> None:
    files = {str(path.relative_to(FOLDER)) for path in FOLDER.glob("*/*") if path.parent.name != "__pycache__"}
    assert files == set(EXPECTED) == {golden.path for golden in GOLDENS}
