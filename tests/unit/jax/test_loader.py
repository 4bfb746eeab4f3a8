"""The adapter for JAX, where JAX is not installed; with it: tests/story/test_frameworks.py."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from penstock import PenstockError
from penstock.jax import Loader


def test_without_jax_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jax", None)
    with pytest.raises(PenstockError, match="needs JAX") as caught:
        Loader(tmp_path)
    assert "penstock[jax]" in caught.value.fix
