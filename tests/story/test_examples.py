"""The programs in examples/ run as they stand; those of JAX and Lightning are in test_frameworks.py."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.synth import Scenes, write


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
