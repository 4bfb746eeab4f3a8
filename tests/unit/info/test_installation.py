"""What `penstock info` knows of the installation, third-party codecs included."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import EntryPoint

import pytest

from penstock.codecs import names, table
from penstock.codecs.raw import RAW
from penstock.info import environment, installation


@pytest.fixture
def points(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Installed plug-ins: one whose name is taken, one that is not there, one that is no codec, one that works."""
    found = [
        EntryPoint("raw", "penstock.codecs.raw:RAW", table.ENTRY_POINT_GROUP),
        EntryPoint("gone", "no_such_module:CODEC", table.ENTRY_POINT_GROUP),
        EntryPoint("thing", "pathlib:Path", table.ENTRY_POINT_GROUP),
        EntryPoint("plain", "tests.unit.bench.conftest:PLAIN", table.ENTRY_POINT_GROUP),
    ]
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: found)
    monkeypatch.setattr(installation, "entry_points", lambda group: found)
    table.plug_ins.cache_clear()
    yield
    monkeypatch.undo()
    table.plug_ins.cache_clear()


def test_every_codec_is_listed_with_what_it_takes() -> None:
    codecs = {codec.name: codec for codec in environment().codecs}

    assert list(codecs) == names()
    assert codecs["jpeg"].parameters[:2] == ("q=…", "subsampling=…")
    assert not codecs["jpeg"].lossless
    assert codecs["raw"].lossless
    assert not codecs["tiff"].can_encode
    assert all(codec.built_in for codec in codecs.values())


def test_libraries_have_versions() -> None:
    libraries = environment().libraries

    assert libraries.keys() == {"libdeflate", "libjpeg-turbo", "libwebp", "xxhash"}
    assert all(version[0].isdigit() for version in libraries.values())


@pytest.mark.usefixtures("points")
def test_plug_ins_say_whether_they_are_used_and_why_not() -> None:
    with pytest.warns(RuntimeWarning, match="could not be loaded"):
        found = {point.name: point.status for point in environment().plug_ins}

    assert found["raw"] == "not used: its name is taken"
    assert found["gone"].startswith("not loaded: ModuleNotFoundError")
    assert found["thing"] == "not used: pathlib:Path is no codec"
    assert found["plain"] == "in use"


@pytest.mark.usefixtures("points")
def test_a_plug_in_that_fails_does_not_take_the_others_away() -> None:
    with pytest.warns(RuntimeWarning, match="could not be loaded"):
        assert names()[-1] == "plain"
    assert table.find("raw") is RAW
