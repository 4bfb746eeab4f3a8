"""Models by name: our own, the user's, and those of libraries, called as each documents."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from penstock.errors import ArgumentError

torch = pytest.importorskip("torch")
from penstock.lab.training import MODELS, make_model  # noqa: E402  # needs torch

LIBRARIES = {
    "torchvision": ("models.py", "def get_model(name, **config):"),
    "timm": ("__init__.py", "def create_model(name, **config):"),
}
BODY = "\n    from torch import nn\n    made = nn.Linear(2, config.pop('num_classes'))\n    made.asked = name, config\n"


@pytest.mark.parametrize("name", sorted(MODELS))
def test_a_model_of_ours_scores_every_class(name: str) -> None:
    scores = make_model(name, 7)(torch.zeros(2, 3, 32, 32))
    assert scores.shape == ((2, 7, 32, 32) if name == "unet" else (2, 7))


def test_a_function_of_the_users_is_called_with_the_number_of_classes() -> None:
    assert make_model(f"{__name__}:narrow", 5).out_features == 5


def narrow(num_classes: int) -> object:
    return torch.nn.Linear(2, num_classes)


def test_a_module_of_the_working_directory_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "users_nets.py").write_text("from torch import nn\n\ndef net(n):\n    return nn.Linear(2, n)\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [path for path in sys.path if path])
    assert make_model("users_nets:net", 4).out_features == 4


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("nowhere_at_all:net", "there is no module 'nowhere_at_all'"),
        ("nowhere.at.all:net", "there is no module 'nowhere'"),
        (f"{__name__}:wide", "has no function 'wide'"),
    ],
)
def test_what_is_not_there_is_named(name: str, said: str) -> None:
    with pytest.raises(ArgumentError, match=said):
        make_model(name, 3)


@pytest.mark.parametrize("library", sorted(LIBRARIES))
def test_a_library_is_asked_for_its_model_by_name_and_classes(
    library: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The double has the one function that the library documents for this, and takes nothing else."""
    file, head = LIBRARIES[library]
    (tmp_path / library).mkdir()
    (tmp_path / library / "__init__.py").touch()
    (tmp_path / library / file).write_text(head + BODY + "    return made\n")
    monkeypatch.syspath_prepend(tmp_path)
    for name in (library, f"{library}.models"):  # not the real one, and none of this one for later tests
        monkeypatch.setitem(sys.modules, name, None)
        del sys.modules[name]
    made: Any = make_model(f"{library}/resnet50", 9)
    assert (made.asked, made.out_features) == (("resnet50", {}), 9)


@pytest.mark.parametrize("library", sorted(LIBRARIES))
def test_a_library_that_is_not_there_is_named(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.lab.training.models.find_spec", lambda name: None)
    with pytest.raises(ArgumentError, match=f"{library} is not installed"):
        make_model(f"{library}/resnet50", 9)


def test_an_unknown_name_lists_the_known() -> None:
    with pytest.raises(ArgumentError, match="there is no model 'resnet9'") as told:
        make_model("resnet9", 3)
    assert "resnet8" in str(told.value)
