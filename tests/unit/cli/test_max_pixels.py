"""`--max-pixels` of the commands that decode."""

from __future__ import annotations

from pathlib import Path

from penstock.build import build
from tests.dataset_files import make_photos
from tests.unit.cli.conftest import Call

PIXELS = 64 * 48


def test_every_command_that_decodes_takes_the_limit(cli: Call, tmp_path: Path) -> None:
    photos, dataset = make_photos(tmp_path / "photos", images=4), tmp_path / "data.pen"
    build(photos, dataset, mix="weir:fast=1", durable=False)
    limit = ("--max-pixels", str(PIXELS - 1))
    for command in (
        ("build", str(photos), str(tmp_path / "out.pen"), "--format", "weir:fast", *limit),
        ("verify", str(dataset), *limit),
        ("export", str(dataset), str(tmp_path / "out"), *limit),
    ):
        answer = cli(*command)

        assert answer.status != 0
        assert f"max_pixels={PIXELS - 1}" in answer.stderr + answer.stdout
