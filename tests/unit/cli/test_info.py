"""`penstock info`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import penstock
from penstock import _native
from penstock.codecs import names

if TYPE_CHECKING:
    from tests.unit.cli.conftest import Call


def test_alone_it_shows_the_machine_and_the_codecs(shell: Call) -> None:
    answer = shell("info")

    assert answer.status == 0
    assert f"SIMD path  {_native.simd_path()}" in answer.stdout
    assert f"penstock   {penstock.__version__}" in answer.stdout
    assert "libjpeg-turbo" in answer.stdout
    assert all(f"\n{name} " in answer.stdout for name in names())
    assert answer.stderr == ""


def test_json_is_the_only_thing_on_stdout(shell: Call) -> None:
    found = shell("info", "--json").json

    assert found["version"] == penstock.__version__
    assert isinstance(found["machine"], dict)
    assert found["machine"]["cores"] == _native.usable_cores()


def test_no_escape_codes_reach_a_pipe_or_no_color(shell: Call) -> None:
    assert "\x1b" not in shell("info", FORCE_COLOR="1").stdout
    assert "\x1b" not in shell("info", NO_COLOR="1").stdout


def test_a_forced_simd_path_is_told(cli: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_native, "simd_path", lambda: "portable")
    monkeypatch.setattr(_native, "best_simd_path", lambda: "avx2")

    assert "portable (this processor could run avx2)" in cli("info").stdout


def test_an_image_is_described(cli: Call, image: Path) -> None:
    answer = cli("info", image)

    assert answer.status == 0
    assert "5×4×3" in answer.stdout
    assert "rgb" in answer.stdout


def test_an_image_is_described_as_json(cli: Call, image: Path) -> None:
    images = cli("info", image, "--json").json["images"]

    assert isinstance(images, list)
    assert images[0]["path"] == str(image)
    assert (images[0]["width"], images[0]["height"], images[0]["channels"]) == (5, 4, 3)
    assert (images[0]["file_bytes"], images[0]["pixel_bytes"]) == (92, 60)


def test_a_broken_file_is_told_and_the_others_are_shown(cli: Call, image: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.raw"
    broken.write_bytes(image.read_bytes()[:20])

    answer = cli("info", broken, image)

    assert answer.status == 1
    assert "5×4×3" in answer.stdout
    assert f"where: {broken}: byte 20 of the raw data" in answer.stderr
    assert "fix:" in answer.stderr


def test_a_folder_is_told_apart(cli: Call, tmp_path: Path) -> None:
    answer = cli("info", tmp_path)

    assert answer.status == 1
    assert "is a folder, not an image" in answer.stderr
    assert "fix:" in answer.stderr
