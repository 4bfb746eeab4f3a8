"""Restoration data of any released version brings its JPEG back."""

from __future__ import annotations

import pytest

from penstock import _native
from spec.reference.jpeg_restoration import restore
from tests.golden.jpeg_restorations import JPEGS, paths
from tests.golden.make import FOLDER
from tests.jpeg_kinds import image_of


@pytest.mark.parametrize("name", JPEGS)
def test_golden_restoration_data_gives_its_file(name: str) -> None:
    file, restoration = (path.read_bytes() for path in paths(name, FOLDER))
    fields = _native.jpeg_read_coefficients(file)

    assert _native.jpeg_put_together(fields, restoration) == file
    assert restore(image_of(fields), restoration) == file


@pytest.mark.parametrize("name", JPEGS)
def test_golden_file_is_taken_apart_into_as_few_bytes(name: str) -> None:
    """Not the same bytes: those depend on the version of libdeflate."""
    file, restoration = (path.read_bytes() for path in paths(name, FOLDER))

    assert len(_native.jpeg_take_apart(file)[1]) <= 1.02 * len(restoration) + 2
