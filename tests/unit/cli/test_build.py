"""`penstock build`, `verify` and `info DATASET`, as a user types them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from penstock.cli.run import run
from tests.dataset_files import make_photos


@pytest.fixture(scope="module")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_photos(tmp_path_factory.mktemp("source") / "photos", images=12)


def call(capsys: pytest.CaptureFixture[str], *words: object, status: int = 0) -> tuple[str, str]:
    with pytest.raises(SystemExit) as exited:
        run([str(word) for word in words])
    out, err = capsys.readouterr()
    assert (exited.value.code or 0) == status, err
    return out, err


def call_json(capsys: pytest.CaptureFixture[str], *words: object, status: int = 0) -> Any:  # noqa: ANN401
    return json.loads(call(capsys, *words, "--json", status=status)[0])


def test_build_verify_and_info(photos: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "data.pen"
    told, _ = call(capsys, "build", photos, out, "--mix", "weir:fast=0.5,png=0.5")
    assert "12 samples" in told
    assert "to write" in told
    assert "free" in told

    told, _ = call(capsys, "verify", out)
    assert "12 decoded, 6 proven equal to the source: all is well" in told.replace("images ", "")

    told, _ = call(capsys, "info", out)
    for word in ("weir:fast", "50.0 %", "class000", "64 … 64 … 64 × 48 … 48 … 48 px"):
        assert word in told


def test_json_of_build_verify_and_info(photos: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "data.pen"

    built = call_json(capsys, "build", photos, out, "--format", "raw", "--shard-size", "32KiB", "--threads", 1)
    assert (built["num_samples"], built["num_converted"], built["formats"]["raw"]["encoded"]) == (12, 12, 12)
    assert built["estimate"]["missing_bytes"] == 0
    assert call_json(capsys, "build", photos, out, "--format", "raw", "--shard-size", "32KiB")["num_converted"] == 0

    verified = call_json(capsys, "verify", out, "--quick")
    assert (verified["problems"], verified["num_decoded"]) == ([], 0)

    info = call_json(capsys, "info", out)
    assert info["labels"] == {"class000": 4, "class001": 4, "class002": 4}
    assert sum(entry["images"] for entry in info["sizes"]) == 12


def test_damage_is_told_and_is_exit_status_1(photos: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "data.pen"
    call(capsys, "build", photos, out, "--format", "png")
    shard = out / "shards" / "png-00000.shard"
    shard.write_bytes(shard.read_bytes()[:200] + b"\0" + shard.read_bytes()[201:])

    (problem,) = call_json(capsys, "verify", out, status=1)["problems"]

    assert problem["file"] == "shards/png-00000.shard"
    assert problem["key"].endswith(".png")


def test_a_dry_run_writes_nothing(photos: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = call_json(capsys, "build", photos, tmp_path / "data.pen", "--format", "weir", "--dry-run")

    assert told["estimate"]["num_samples"] == 12
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "what"),
    [
        ((), "no format was chosen"),
        (("--mix", "png=1", "--format", "raw"), "exclude one another"),
        (("--format", "gif"), "there is no codec 'gif'"),
        (("--format", "bmp"), "cannot hold 'bmp'"),
        (("--mix", "png=0.5"), "add up to 0.5"),
        (("--format", "png", "--on-error", "shrug"), "not a policy"),
        (("--format", "png", "--field", "mask"), "not NAME=FORMAT"),
        (("--format", "png", "--field", "mask=png"), "no further image field is named 'mask'"),
        (("--format", "png", "--shard-size", "1"), "too small"),
        (("--format", "png", "--source", "tape"), "no kind of source"),
    ],
)
def test_wrong_usage_is_exit_status_2(
    photos: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], what: str
) -> None:
    _, err = call(capsys, "build", photos, tmp_path / "data.pen", *words, status=2)

    assert what in err
    assert "fix:" in err
    assert list(tmp_path.iterdir()) == []


def test_an_unfinished_dataset_is_named_by_info(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / ".build").mkdir()

    _, err = call(capsys, "info", tmp_path, status=1)

    assert "not finished" in err


def test_a_damaged_image_is_named_with_the_way_to_leave_it_out(
    photos: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(photos, tmp_path / "photos")
    damaged = sorted((tmp_path / "photos").rglob("*.png"))[3]
    damaged.write_bytes(damaged.read_bytes()[:100])
    words = ("build", tmp_path / "photos", tmp_path / "data.pen", "--format", "raw")
    _, told = call(capsys, *words, status=1)
    assert f"where: {damaged}" in told
    assert "or leave such images out: --on-error skip --force" in told
    _, told = call(capsys, *words, "--on-error", "skip", "--force")
    assert "1 sample left out" in told


def test_a_missing_source_is_said_before_a_missing_option(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, err = call(capsys, "build", tmp_path / "nowhere", tmp_path / "out.pen", status=1)

    assert "nowhere" in err
    assert "no format was chosen" not in err


def test_files_left_out_are_named_by_ending(photos: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copytree(photos, tmp_path / "photos")
    for name in ("a.json", "b.json", "notes.txt"):
        (tmp_path / "photos" / name).write_text("x")

    _, err = call(capsys, "build", tmp_path / "photos", tmp_path / "out.pen", "--format", "png", "--dry-run")

    assert "left out: 2 .json, 1 .txt\n" in err


def test_force_says_that_an_earlier_run_is_replaced(
    photos: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("build", photos, tmp_path / "data.pen", "--format", "raw")
    assert "from an earlier run" not in "".join(call(capsys, *words))
    assert "from an earlier run are already there" in "".join(call(capsys, *words))
    assert "from an earlier run are replaced" in "".join(call(capsys, *words, "--force"))
