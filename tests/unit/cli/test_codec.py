"""`penstock codec encode` and `decode`."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

import penstock

if TYPE_CHECKING:
    from tests.unit.cli.conftest import Call


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_pixels_survive_the_way_there_and_back(shell: Call, image: Path, tmp_path: Path) -> None:
    there = shell("codec", "encode", image, tmp_path / "a.webp", "--format", "webp:lossless")
    back = shell("codec", "decode", tmp_path / "a.webp", tmp_path / "b.raw")

    assert (there.status, back.status) == (0, 0)
    assert (tmp_path / "b.raw").read_bytes() == image.read_bytes()
    assert "image.raw (raw, 5×4×3) → " in there.stdout
    assert (there.stderr, back.stderr) == ("", "")


def test_the_ending_names_the_format_and_content_the_source(cli: Call, image: Path, tmp_path: Path) -> None:
    disguised = image.rename(tmp_path / "disguised.jpg")

    answer = cli("codec", "encode", disguised, tmp_path / "a.webp", "--json")

    assert answer.status == 0
    assert answer.json["format"] == "webp"
    assert answer.json["output_bytes"] == (tmp_path / "a.webp").stat().st_size
    assert penstock.inspect((tmp_path / "a.webp").read_bytes()).codec == "webp"


def test_a_jpeg_is_copied_or_transcoded_without_loss(cli: Call, photo: Path, tmp_path: Path) -> None:
    cli("codec", "encode", photo, tmp_path / "copy.jpg")
    answer = cli("codec", "encode", photo, tmp_path / "progressive.jpg", "--format", "jpeg:progressive", "--json")

    assert (tmp_path / "copy.jpg").read_bytes() == photo.read_bytes()
    assert answer.json["transcoded"] is True
    transcoded = (tmp_path / "progressive.jpg").read_bytes()
    assert penstock.inspect(transcoded).variant == "progressive"
    np.testing.assert_array_equal(penstock.decode(transcoded), penstock.decode(photo.read_bytes()))


def test_a_jpeg_is_encoded_anew_when_a_quality_is_named(cli: Call, photo: Path, tmp_path: Path) -> None:
    answer = cli("codec", "encode", photo, tmp_path / "low.jpg", "--format", "jpeg:q=10", "--json")

    assert answer.json["transcoded"] is False
    assert (tmp_path / "low.jpg").stat().st_size < photo.stat().st_size


def test_a_region_and_a_scale_are_decoded(cli: Call, photo: Path, tmp_path: Path) -> None:
    cli("codec", "decode", photo, tmp_path / "region.raw", "--region", "3,5,20,30")
    cli("codec", "decode", photo, tmp_path / "scale.raw", "--scale", "8")
    cli("codec", "decode", photo, tmp_path / "region.jpg", "--region", "0,0,8,8")

    full = penstock.decode(photo.read_bytes())
    np.testing.assert_array_equal(penstock.decode((tmp_path / "region.raw").read_bytes()), full[3:23, 5:35])
    assert penstock.inspect((tmp_path / "scale.raw").read_bytes()).shape == (5, 6, 3)
    assert penstock.inspect((tmp_path / "region.jpg").read_bytes()).shape == (8, 8, 3)


@pytest.mark.parametrize("region", ["1,2,3", "a,b,c,d", "0,0,-1,4", "0,0,99,1", "0,0,0,0"])
def test_a_wrong_region_is_wrong_usage(cli: Call, photo: Path, tmp_path: Path, region: str) -> None:
    answer = cli("codec", "decode", photo, tmp_path / "a.raw", f"--region={region}")

    assert answer.status == 2
    assert "fix:" in answer.stderr
    assert not (tmp_path / "a.raw").exists()


def test_an_existing_file_is_kept_unless_forced(cli: Call, image: Path, tmp_path: Path) -> None:
    (tmp_path / "a.raw").write_bytes(b"precious")

    refused = cli("codec", "encode", image, tmp_path / "a.raw")

    assert refused.status == 1
    assert "add --force" in refused.stderr
    assert (tmp_path / "a.raw").read_bytes() == b"precious"

    assert cli("codec", "encode", image, tmp_path / "a.raw", "--force").status == 0
    assert (tmp_path / "a.raw").read_bytes() == image.read_bytes()


def test_a_link_is_followed_and_a_device_is_not_replaced(cli: Call, image: Path, tmp_path: Path) -> None:
    (tmp_path / "real.raw").write_bytes(b"")
    (tmp_path / "link.raw").symlink_to(tmp_path / "real.raw")

    assert cli("codec", "encode", image, tmp_path / "link.raw", "--force").status == 0
    assert cli("codec", "encode", image, os.devnull, "--format", "raw").status == 0

    assert (tmp_path / "link.raw").is_symlink()
    assert (tmp_path / "real.raw").read_bytes() == image.read_bytes()
    assert Path(os.devnull).is_char_device()


def test_an_unknown_format_is_guessed(shell: Call, image: Path, tmp_path: Path) -> None:
    answer = shell("codec", "encode", image, tmp_path / "a.jpg", "--format", "jpg:q=85")

    assert answer.status == 2
    assert answer.stdout == ""
    assert "there is no codec 'jpg'" in answer.stderr
    assert "did you mean 'jpeg'?" in answer.stderr


def test_an_unknown_ending_names_the_known_ones(cli: Call, image: Path, tmp_path: Path) -> None:
    answer = cli("codec", "encode", image, tmp_path / "a.xyz")

    assert answer.status == 2
    assert "'.xyz'" in answer.stderr
    assert ".webp" in answer.stderr


def test_a_broken_file_says_what_where_and_fix_and_writes_nothing(shell: Call, photo: Path, tmp_path: Path) -> None:
    photo.write_bytes(photo.read_bytes()[:40])

    answer = shell("codec", "decode", photo, tmp_path / "a.raw", "--json")

    assert answer.status == 1
    error = answer.json["error"]
    assert isinstance(error, dict)
    assert error["where"].startswith(f"{photo}: ")
    assert error["what"]
    assert error["fix"]
    assert "Traceback" not in answer.stderr
    assert names_in(tmp_path) == ["photo.jpg"]


def test_a_missing_file_is_told(cli: Call, tmp_path: Path) -> None:
    answer = cli("codec", "decode", tmp_path / "missing.png", tmp_path / "a.raw")

    assert answer.status == 1
    assert "No such file or directory" in answer.stderr
    assert f"where: {tmp_path / 'missing.png'}" in answer.stderr


def test_pixels_that_a_format_cannot_hold_are_refused_by_name(cli: Call, tmp_path: Path) -> None:
    (tmp_path / "deep.raw").write_bytes(penstock.encode(np.zeros((4, 4), np.uint16), "raw"))

    answer = cli("codec", "encode", tmp_path / "deep.raw", tmp_path / "a.jpg")

    assert answer.status == 1
    assert "fix:" in answer.stderr
    assert names_in(tmp_path) == ["deep.raw"]


def test_images_go_through_pipes(image: Path) -> None:
    words = [sys.executable, "-m", "penstock", "codec", "encode", "-", "-", "--format", "webp:lossless"]
    done = subprocess.run(words, input=image.read_bytes(), capture_output=True, timeout=60, check=True)

    np.testing.assert_array_equal(penstock.decode(done.stdout), penstock.decode(image.read_bytes()))
    assert "stdin (raw, 5×4×3) → stdout (webp:lossless)" in done.stderr.decode()


def test_json_and_an_image_do_not_share_stdout(cli: Call, image: Path) -> None:
    answer = cli("codec", "encode", image, "-", "--format", "raw", "--json")

    assert answer.status == 2
    assert "error" in answer.json


def test_stdout_needs_a_format(cli: Call, image: Path) -> None:
    answer = cli("codec", "encode", image, "-")

    assert answer.status == 2
    assert "add --format" in answer.stderr


def test_an_ending_that_lies_is_warned_about(cli: Call, image: Path, tmp_path: Path) -> None:
    answer = cli("codec", "encode", image, tmp_path / "a.png", "--format", "raw")

    assert answer.status == 0
    assert answer.stderr.startswith("warning: ")
    assert "will hold raw" in answer.stderr


def test_a_turned_photo_is_warned_about_or_turned(cli: Call, photo: Path, tmp_path: Path) -> None:
    exif = bytes.fromhex("ffe1 0022 457869660000 49492a0008000000 0100 1201 0300 01000000 06000000 00000000")
    photo.write_bytes(photo.read_bytes()[:2] + exif + photo.read_bytes()[2:])

    kept = cli("codec", "decode", photo, tmp_path / "kept.raw")
    turned = cli("codec", "decode", photo, tmp_path / "turned.raw", "--orient")

    assert "add --orient" in kept.stderr
    assert turned.stderr == ""
    assert penstock.inspect((tmp_path / "turned.raw").read_bytes()).shape == (48, 40, 3)


def test_an_image_beyond_max_pixels_is_refused(cli: Call, image: Path, tmp_path: Path) -> None:
    answer = cli("codec", "encode", image, tmp_path / "a.webp", "--max-pixels", "19")

    assert answer.status == 1
    assert "max_pixels=19" in answer.stderr
    assert "--max-pixels" in answer.stderr


def test_a_file_that_does_not_fit_leaves_nothing_behind(image: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    words = [sys.executable, "-m", "penstock", "codec", "encode", str(image), str(out / "a.raw")]

    done = subprocess.run(
        words,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (50, 50)),
    )

    assert done.returncode == 1
    assert done.stderr.startswith(f"error: could not write the file: File too large\n  where: {out / 'a.raw'}\n")
    assert names_in(out) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small file system needs root")
def test_a_full_disk_is_told_and_leaves_nothing_behind(cli: Call, tmp_path: Path) -> None:
    (tmp_path / "large.raw").write_bytes(penstock.encode(np.zeros((300, 300), np.uint8), "raw"))
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=16k", "penstock-test", str(disk)], capture_output=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip("this container may not mount a file system")
    try:
        answer = cli("codec", "encode", tmp_path / "large.raw", disk / "a.raw")

        assert answer.status == 1
        assert f"No space left on device\n  where: {disk / 'a.raw'}\n" in answer.stderr
        assert "free space" in answer.stderr
        assert names_in(disk) == []
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_a_folder_that_may_not_be_written_is_told(cli: Call, image: Path, tmp_path: Path) -> None:
    folder = Path("/proc") if os.geteuid() == 0 else tmp_path / "read-only"
    if os.geteuid() != 0:
        folder.mkdir(mode=0o500)

    answer = cli("codec", "encode", image, folder / "a.raw")

    assert answer.status == 1
    assert answer.stderr.startswith("error: could not create the file")
    assert f"where: {folder / 'a.raw'}" in answer.stderr
    assert "fix:" in answer.stderr
