"""Every recipe runs end to end on tiny synthetic data, and an input that should reverse its answer does.

Rates of tiny runs on a busy machine are noise; the runs here show that cells can be measured and that findings can be
drawn from what they measure. More reversals: test_real_reversals.py measures, test_reversals.py follows the arithmetic.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from penstock.lab import RECIPES, Recipe, find_recipe, run_page, run_recipe, with_settings
from penstock.synth import Scenes, write

pytestmark = [pytest.mark.long, pytest.mark.usefixtures("few_threads")]

TINY = {
    "bottleneck": ["models=alexnet", "thread_counts=1", "epochs=2", "disk=50MB/s", "size=32"],
    "codecs": ["images=4", "repeats=1", "formats=png,weir:fast,raw,jpeg:q=50,webp:q=50,avif:q=50,jxl:q=50"],
    "dropin": ["formats=jpeg:q=50", "epochs=2", "size=32"],
    "fidelity": ["epochs=2", "size=32"],
    "lossless": ["formats=png,weir:fast", "epochs=2", "size=32", "disk=50MB/s"],
    "mix": ["pairs=png+raw", "shares=0,0.5,1", "rivals=torch", "seconds=0.05"],
    "orthogonal": ["epochs=2"],
    "regimen": ["formats=jpeg:q=10", "epochs=3", "size=32"],
    "storage-budget": ["shares=0.5", "ladder=jpeg:q=85,jpeg:q=10", "epochs=2", "size=32"],
    "thrash": ["shares=0.5", "epochs=2"],
    "time-budget": ["formats=jpeg:q=10", "epochs=2", "max_epochs=3", "timed_epochs=2", "disk=50MB/s", "size=32"],
    "train": ["loaders=synthetic,torch,penstock,dali", "models=alexnet", "epochs=2", "size=32", "disk=50MB/s"],
    "whatif": ["seconds=0.05"],
}


@pytest.fixture(scope="module")
def coarse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return labelled(tmp_path_factory.mktemp("coarse"), "coarse")


@pytest.fixture(scope="module")
def texture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return labelled(tmp_path_factory.mktemp("texture"), "texture")


def labelled(folder: Path, variant: str) -> Path:
    scenes = Scenes(width=64, height=64, classes=3, variant=variant)
    write(folder / "train", images=240, scenes=scenes)
    write(folder / "val", images=120, scenes=replace(scenes, seed=1))
    return folder


def tiny(name: str, *more: str) -> Recipe:
    return with_settings(find_recipe(name), ["seeds=1", *TINY[name], *more])


@pytest.mark.usefixtures("needs_groups")
@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_runs_from_data_to_page(name: str, coarse: Path, tmp_path: Path) -> None:
    recipe = tiny(name)

    lines = run_recipe(recipe, coarse, tmp_path)

    page = run_page(recipe, "coarse", lines).decode()
    assert "<svg" in page
    assert recipe.findings(lines).answer
    installed = [line for line in lines if "is not installed" not in line.left_out]
    assert [line.left_out for line in installed if line.left_out] == []


def test_a_line_says_that_it_was_trained_in_mixed_precision(coarse: Path, tmp_path: Path) -> None:
    lines = run_recipe(tiny("dropin", "amp=yes"), coarse, tmp_path)
    assert {line.measures["is_amp"] for line in lines if line.job == "train"} == {1}


def test_masks_are_learned_too(tmp_path: Path) -> None:
    write(tmp_path / "data", images=24, scenes=Scenes(width=48, height=32, classes=1), masks=True)
    recipe = with_settings(tiny("dropin"), ["target=mask", "crop=stretch"])
    lines = run_recipe(recipe, tmp_path / "data", tmp_path / "run")
    assert {line.setting("model") for line in lines if line.job == "train"} == {"unet"}


class TestLabelsInTexture:
    """What strong compression throws away first is the label: answers about lossy formats turn around."""

    settings = ("epochs=10", "size=64", "crop=stretch", "learning_rate=0.02", "batch_size=16")

    def test_reverse_dropin(self, coarse: Path, texture: Path, tmp_path: Path) -> None:
        def loss(data: Path) -> float:
            recipe = tiny("dropin", "formats=jpeg:q=5", *self.settings)
            lines = run_recipe(recipe, data, tmp_path / data.name)
            return float(str(recipe.findings(lines).values["losses"]["jpeg:q=5"]))  # type: ignore[call-overload, index]

        assert loss(coarse) > -0.1
        assert loss(texture) < -0.15
