"""`penstock bench codecs`."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

import penstock
from penstock.testing.codec import sample_image

if TYPE_CHECKING:
    from tests.unit.cli.conftest import Call


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two colour images, a grey one, a broken one and a text."""
    root = tmp_path / "images"
    root.mkdir()
    for number in range(2):
        (root / f"{number}.raw").write_bytes(penstock.encode(sample_image(64, 80, 3, "uint8", number), "raw"))
    (root / "grey.raw").write_bytes(penstock.encode(np.zeros((20, 20), np.uint8), "raw"))
    (root / "broken.raw").write_bytes((root / "0.raw").read_bytes()[:99])
    (root / "readme.txt").write_text("hello")
    return root


def test_formats_are_compared_in_a_table(shell: Call, folder: Path) -> None:
    answer = shell("bench", "codecs", folder, "--formats", "raw,jpeg:q=85", "--repeats", "2")

    assert answer.status == 0
    assert answer.stdout.startswith(f"3 images of {folder}, 0.0 MB of pixels\n1 thread, CPU time, ")
    assert ", median of 2 repeats ± half their range\n" in answer.stdout
    lines = {line.split("  ")[0]: line for line in answer.stdout.splitlines()}
    assert "exact" in lines["raw"]
    assert "exact" not in lines["jpeg:q=85"]
    assert "as stored (raw)" in lines


def test_what_was_left_out_is_said(cli: Call, folder: Path) -> None:
    answer = cli("bench", "codecs", folder, "--formats", "webp:lossless", "--repeats", "1")

    assert answer.status == 0
    assert "webp:lossless (2 of 3)" in answer.stdout
    assert "warning: webp:lossless left out 1 image: " in answer.stderr
    assert f"warning: skipped 1 unreadable file: {folder / 'broken.raw'}" in answer.stderr


def test_json_has_every_figure_with_its_spread(cli: Call, folder: Path) -> None:
    found = cli("bench", "codecs", folder, "--formats", "raw,jpeg:q=85", "--repeats", "2", "--json").json

    assert (found["num_images"], found["num_other_files"], found["threads"], found["clock"]) == (3, 1, 1, "cpu")
    assert isinstance(found["unreadable"], list)
    assert found["unreadable"][0]["path"] == str(folder / "broken.raw")
    assert isinstance(found["formats"], list)
    raw, jpeg = found["formats"]
    assert raw["format"] == "raw"
    assert raw["distortion"] is None
    assert jpeg["distortion"]["psnr"].keys() == {"median", "lowest", "highest"}
    for job in ("encode", "decode"):
        assert jpeg[job]["megabytes_per_second"]["lowest"] <= jpeg[job]["megabytes_per_second"]["median"]
        assert jpeg[job].keys() == {"megabytes_per_second", "images_per_second", "cpu_seconds", "wall_seconds"}


def test_every_codec_that_writes_is_measured_by_default(cli: Call, folder: Path) -> None:
    found = cli("bench", "codecs", folder, "--repeats", "1", "--limit", "1", "--json").json

    assert isinstance(found["formats"], list)
    codecs = {result["format"].partition(":")[0] for result in found["formats"]}
    assert codecs == {name for name in penstock.codecs.names() if penstock.codecs.find(name).can_encode}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--formats", "wepb"], "did you mean 'webp'?"),
        (["--formats", ","], "there is no format to measure"),
        (["--formats", "jpeg:q=900"], "q=900"),
        (["--repeats", "0"], "--repeats"),
        (["--threads", "-1"], "--threads"),
        (["--threads", "many"], "--threads"),
    ],
)
def test_wrong_options_are_wrong_usage(cli: Call, folder: Path, words: list[str], message: str) -> None:
    answer = cli("bench", "codecs", folder, *words)

    assert answer.status == 2
    assert message in answer.stderr
    assert answer.stdout == ""


def test_a_folder_without_images_is_told(cli: Call, tmp_path: Path) -> None:
    answer = cli("bench", "codecs", tmp_path)

    assert answer.status == 2
    assert "no readable image" in answer.stderr


def num_threads(process_id: int) -> int:
    return len(list(Path(f"/proc/{process_id}/task").iterdir()))


def test_ctrl_c_ends_it_quietly(folder: Path) -> None:
    words = [sys.executable, "-m", "penstock", "bench", "codecs", str(folder), "--formats", "raw", "--json"]
    words += ["--repeats", "1000000", "--threads", "9"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        deadline = time.monotonic() + 60
        while num_threads(process.pid) < 10:  # until the pool is there, and so the work
            assert time.monotonic() < deadline
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=60)

    assert process.returncode == 130
    assert (stdout, stderr) == (b"", b"")
