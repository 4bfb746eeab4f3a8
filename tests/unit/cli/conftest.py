"""Two ways to call the command line: in this process (quick), and as a user does (a process of its own)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import penstock
from penstock.cli.run import run
from penstock.testing.codec import sample_image


@dataclass(frozen=True)
class Answer:
    """What a call left behind."""

    status: int
    stdout: str
    stderr: str

    @property
    def json(self) -> dict[str, object]:
        """The one object on stdout; anything else there is an error."""
        value = json.loads(self.stdout)
        assert isinstance(value, dict)
        return value


Call = Callable[..., Answer]


@pytest.fixture
def cli(capfd: pytest.CaptureFixture[str]) -> Call:
    """Calls the command line in this process."""

    def call(*words: str | Path) -> Answer:
        capfd.readouterr()
        with pytest.raises(SystemExit) as exited:
            run([str(word) for word in words])
        captured = capfd.readouterr()
        assert isinstance(exited.value.code, int)
        return Answer(exited.value.code, captured.out, captured.err)

    return call


@pytest.fixture
def shell() -> Call:
    """Calls the command line as a user does, in a process of its own; keywords are added to the environment."""

    def call(*words: str | Path, **environment: str) -> Answer:
        command = [sys.executable, "-m", "penstock", *map(str, words)]
        env = {**os.environ, **environment}
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=env, check=False)
        return Answer(done.returncode, done.stdout, done.stderr)

    return call


@pytest.fixture
def image(tmp_path: Path) -> Path:
    """A small raw image of 5×4 RGB pixels."""
    path = tmp_path / "image.raw"
    path.write_bytes(penstock.encode(np.arange(60, dtype=np.uint8).reshape(4, 5, 3), "raw"))
    return path


@pytest.fixture
def photo(tmp_path: Path) -> Path:
    """A small colour JPEG of 48×40 pixels."""
    path = tmp_path / "photo.jpg"
    path.write_bytes(penstock.encode(sample_image(40, 48, 3, "uint8"), "jpeg:q=90"))
    return path
