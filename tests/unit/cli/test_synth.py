"""`penstock synth`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import penstock

if TYPE_CHECKING:
    from tests.unit.cli.conftest import Call

SMALL = ("--images", "4", "--size", "40x30", "--classes", "2")


def names_in(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_synth_writes_a_folder_a_class_and_says_so(shell: Call, tmp_path: Path) -> None:
    answer = shell("synth", tmp_path / "out", *SMALL)

    assert answer.status == 0
    assert answer.stderr == ""
    assert "4 images of 2 classes, 40×30, png, " in answer.stdout
    assert names_in(tmp_path / "out") == [
        "class000/000000.png",
        "class000/000002.png",
        "class001/000001.png",
        "class001/000003.png",
    ]


def test_json_tells_everything_once(cli: Call, tmp_path: Path) -> None:
    answer = cli(
        "synth", tmp_path / "out", *SMALL, "--format", "raw", "--bits", "16", "--masks", "--seed", "7", "--json"
    )

    fields = answer.json
    assert answer.stderr.count("\n") == 1
    assert fields["format"] == "raw"
    assert (fields["bits"], fields["seed"], fields["masks"], fields["variant"]) == (16, 7, True, "mixed")
    assert fields["num_bytes"] == sum(path.stat().st_size for path in (tmp_path / "out").rglob("*.*"))
    image = (tmp_path / "out" / "images" / "class001" / "000003.raw").read_bytes()
    assert penstock.inspect(image).shape == (30, 40)


def test_a_second_run_wants_force(cli: Call, tmp_path: Path) -> None:
    cli("synth", tmp_path / "out", *SMALL)

    refused = cli("synth", tmp_path / "out", *SMALL)
    forced = cli("synth", tmp_path / "out", *SMALL, "--force")

    assert (refused.status, forced.status) == (1, 0)
    assert "is not empty" in refused.stderr
    assert "--force" in refused.stderr


def test_wrong_usage_is_told_and_writes_nothing(cli: Call, tmp_path: Path) -> None:
    for wrong in (
        ("--size", "40"),
        ("--size", "0x5"),
        ("--format", "jpeg", "--bits", "16"),
        ("--format", "pmg"),
        ("--variant", "fine"),
        ("--bits", "12"),
        ("--images", "0"),
        ("--classes", "0"),
        ("--seed", "-1"),
        ("--threads", "100000"),
    ):
        answer = cli("synth", tmp_path / "out", *wrong)
        assert answer.status == 2, wrong
        assert "fix:" in answer.stderr
        assert not (tmp_path / "out").exists()
