"""The programs in examples/ run as they stand."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from penstock.synth import Scenes, write

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eighty small images in four classes."""
    folder = tmp_path_factory.mktemp("synth") / "photos"
    write(folder, images=80, scenes=Scenes(width=96, height=80, classes=4))
    return folder


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Listings are kept where no other test sees them."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def test_plain_torch_loop(photos: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from examples.torch_loop import main

    losses = main(str(photos))

    assert len(losses) == 6
    assert losses[-1] < losses[0]
    assert "resumed in epoch 0, 48 samples left in it" in capsys.readouterr().out


def test_numpy_loop(photos: Path) -> None:
    from examples.numpy_loop import main

    mean, deviation = main(str(photos))
    assert 0.05 < mean < 0.95
    assert 0.01 < deviation < 0.5


@pytest.mark.skipif(find_spec("jax") is None, reason="jax is not installed")
def test_jax_loop(photos: Path) -> None:
    # In a process of its own: once imported, JAX objects to every later fork.
    program = "import json, sys; from examples.jax_loop import main; print(json.dumps(main(sys.argv[1])))"
    done = subprocess.run(
        [sys.executable, "-c", program, str(photos)], cwd=ROOT, capture_output=True, text=True, check=True
    )
    losses = json.loads(done.stdout.splitlines()[-1])
    assert len(losses) == 20
    assert losses[-1] < 0.9 * losses[0]


@pytest.mark.skipif(find_spec("pytorch_lightning") is None, reason="pytorch-lightning is not installed")
@pytest.mark.filterwarnings("ignore")  # Lightning warns about its own dependencies
def test_lightning_loop(photos: Path) -> None:
    from examples.lightning_loop import main

    assert main(str(photos)) == 6
