"""An input that should reverse a recipe's answer does, in runs that are really measured.

Where a clock decides, one side is slower by a factor that no busy machine makes up for; else bytes and accuracies do.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from penstock import encode
from penstock.lab import Findings, Recipe, find_recipe, run_recipe, with_settings
from penstock.synth import Scenes, write
from penstock.types import Pixels

SLOW, FAST = "3MB/s", "none"
LEARNING = ("crop=stretch", "size=32", "batch_size=8", "learning_rate=0.05", "torch_threads=1", "epochs=4")


def found(name: str, data: Path, out: Path, *settings: str) -> Findings:
    """What a recipe finds on the data with one seed."""
    recipe: Recipe = with_settings(find_recipe(name), ["seeds=1", *settings])
    return recipe.findings(run_recipe(recipe, data, out))


def write_images(folder: Path, images: list[Pixels]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for number, pixels in enumerate(images):
        (folder / f"{number:03d}.png").write_bytes(encode(pixels, "png"))
    return folder


def noise(count: int, side: int) -> list[Pixels]:
    """Images that no codec makes smaller."""
    draw = np.random.default_rng(5)
    return [draw.integers(0, 256, (side, side, 3), np.uint8) for _ in range(count)]


@pytest.fixture(scope="module")
def smooth(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Images that every codec makes smaller."""
    folder = tmp_path_factory.mktemp("smooth") / "images"
    write(folder, images=12, scenes=Scenes(width=192, height=192, classes=2))
    return folder


def test_noise_reverses_codecs(smooth: Path, tmp_path: Path) -> None:
    settings = ("formats=png,webp:lossless,raw", "repeats=1", "images=2")
    photos = found("codecs", smooth, tmp_path / "photos", *settings)
    random = found("codecs", write_images(tmp_path / "noise", noise(2, 64)), tmp_path / "random", *settings)
    assert photos.values["smallest_lossless"] == "webp:lossless"
    assert random.values["smallest_lossless"] == "raw"


@pytest.mark.usefixtures("few_threads")
class TestLabelsInTexture:
    """What strong compression throws away first is the label: answers about lossy images turn around."""

    @pytest.mark.long
    def test_reverse_dropin(self, striped: Callable[[str], Path], tmp_path: Path) -> None:
        coarse, texture = (
            found("dropin", striped(kind), tmp_path / kind, *LEARNING, "formats=jpeg:q=5")
            for kind in ("coarse", "texture")
        )
        assert coarse.answer.startswith("jpeg:q=5 drops in")
        assert texture.answer.startswith("None of these qualities drops in")

    def test_reverse_storage_budget(self, striped: Callable[[str], Path], tmp_path: Path) -> None:
        verdicts = [
            found("storage-budget", striped(kind), tmp_path / kind, *LEARNING, "shares=0.3", "ladder=jpeg:q=5")
            for kind in ("coarse", "texture")
        ]
        assert [verdict.values["verdict"] for verdict in verdicts] == ["Compress", "Subsample"]

    @pytest.mark.long
    def test_reverse_fidelity(self, striped: Callable[[str], Path], tmp_path: Path) -> None:
        enough = [
            found("fidelity", striped(kind), tmp_path / kind, *LEARNING, f"disk={FAST}", "scans=1").values["best"]
            for kind in ("coarse", "texture")
        ]
        assert enough == ["1 scan", "all scans"]


@pytest.mark.long
@pytest.mark.usefixtures("needs_groups")
def test_memory_for_everything_reverses_orthogonal(smooth: Path, tmp_path: Path) -> None:
    # The JPEGs are 136 KiB in all: a disk of 3 MB/s gives them in one burst, and is no limit.
    settings = ("disk=300kB/s", "epochs=2", "batch_size=4")
    little = found("orthogonal", smooth, tmp_path / "little", *settings, "cached_share=0.3")
    plenty = found("orthogonal", smooth, tmp_path / "plenty", *settings, "cached_share=1.5")
    assert (little.values["second"], plenty.values["second"]) == ("compressed", "cache")
    assert little.answer.startswith("Use both")
    assert plenty.answer.startswith("One is enough")


@pytest.mark.long
@pytest.mark.usefixtures("needs_groups")
def test_a_fast_disk_reverses_mix(smooth: Path, tmp_path: Path) -> None:
    def best(disk: str) -> object:
        settings = (f"disk={disk}", "pairs=webp:lossless+raw", "shares=0,0.5,1", "rivals=", "seconds=0.3", "threads=1")
        values = found("mix", smooth, tmp_path / disk.replace("/", ""), *settings).values["pairs"]
        assert isinstance(values, dict)
        return values["webp:lossless+raw"]["best"]  # type: ignore[call-overload, index]  # of JSON

    assert (best(SLOW), best(FAST)) == (0.0, 1.0)


@pytest.mark.long
@pytest.mark.usefixtures("needs_groups")
def test_memory_for_everything_reverses_thrash(tmp_path: Path) -> None:
    data = write_images(tmp_path / "data", noise(40, 1024))
    settings = ("policies=page cache,pinned", "disk=100MB/s", "epochs=2", "batch_size=4")
    thrashing = found("thrash", data, tmp_path / "thrashing", *settings, "shares=0.5")
    fitting = found("thrash", data, tmp_path / "fitting", *settings, "shares=2")
    assert thrashing.answer.startswith("A cache of one's own pays")
    assert fitting.answer.startswith("No cache of one's own pays here")


@pytest.mark.long
@pytest.mark.usefixtures("needs_groups", "few_threads")
class TestTraining:
    """Recipes that train: a slow disk, a slow model, labels in fine texture."""

    tiny = ("size=32", "batch_size=8", "torch_threads=1", "model=alexnet")

    def test_a_slow_model_reverses_bottleneck(self, large: Path, tmp_path: Path) -> None:
        settings = (*self.tiny, "crop=stretch", "formats=", "thread_counts=1", "epochs=2")
        disk = found("bottleneck", large, tmp_path / "disk", *settings, "models=alexnet", f"disk={SLOW}")
        model = found(
            "bottleneck", large, tmp_path / "model", *settings, f"models={__name__}:slow_model", "disk=200MB/s"
        )
        assert "is storage; over all" in disk.answer
        assert "is compute; over all" in model.answer

    def test_a_fast_disk_reverses_train(self, large: Path, tmp_path: Path) -> None:
        settings = (*self.tiny, "loaders=penstock@webp:lossless,penstock@raw", "models=alexnet", "epochs=2")
        slow = found("train", large, tmp_path / "slow", *settings, "disk=4MB/s")
        fast = found("train", large, tmp_path / "fast", *settings, f"disk={FAST}", "crop=stretch")
        assert slow.values["best"] == {"alexnet": "penstock@webp:lossless"}
        assert fast.values["best"] == {"alexnet": "penstock@raw"}

    def test_a_fast_disk_reverses_lossless(self, large: Path, tmp_path: Path) -> None:
        settings = (*self.tiny, "formats=webp:lossless,raw", "epochs=3", "crop=stretch")
        slow = found("lossless", large, tmp_path / "slow", *settings, "disk=4MB/s")
        fast = found("lossless", large, tmp_path / "fast", *settings, f"disk={FAST}")
        assert slow.values["fastest"] == "webp:lossless"
        assert fast.values["fastest"] == "raw"

    def test_labels_in_texture_reverse_time_budget(self, striped: Callable[[str], Path], tmp_path: Path) -> None:
        settings = (*LEARNING, "formats=jpeg:q=5", "timed_epochs=2", "max_epochs=5")
        slow = ("disk=2MB/s", "budget_epochs=1")
        coarse = found("time-budget", striped("large"), tmp_path / "coarse", *settings, *slow)
        texture = found("time-budget", striped("texture"), tmp_path / "texture", *settings, "budget_epochs=4")
        assert coarse.values["best"] == "jpeg:q=5"
        assert texture.values["best"] == "source"


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Images whose decoding takes long, in two classes."""
    folder = tmp_path_factory.mktemp("large") / "images"
    write(folder, images=40, scenes=Scenes(width=384, height=384, classes=2))
    return folder


@pytest.fixture(scope="module")
def striped(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Upright or level: noisy halves (`coarse`, `large`), or stripes of one pixel that strong compression wipes out."""
    made: dict[str, Path] = {}

    def make(kind: str) -> Path:
        if kind not in made:
            made[kind] = tmp_path_factory.mktemp(kind) / "images"
            for seed, (part, count) in enumerate({"train": 48, "val": 32}.items()):
                for label in (0, 1):
                    images = stripes(kind, label, count, 2 * seed + label)
                    write_images(made[kind] / part / str(label), images)
        return made[kind]

    return make


def stripes(kind: str, label: int, count: int, seed: int) -> list[Pixels]:
    draw = np.random.default_rng(seed)
    side = 96 if kind == "large" else 32
    place = np.mgrid[0:side, 0:side][label]
    pattern = (place % 2 * 24 - 12 if kind == "texture" else (place >= side // 2) * 40 - 20)[..., None]
    shades = [draw.integers(70, 180, 3) + pattern + draw.integers(-20, 21, (side, side, 3)) for _ in range(count)]
    return [shade.astype(np.uint8) for shade in shades]


def slow_model(num_classes: int) -> object:
    """A network on a device that takes long for every batch, and leaves the cores to the loader.

    It waits rather than computes: other programs make a computation slower, by another factor in each of the runs that
    are compared, but not a wait.
    """
    from torch import Tensor, nn

    class Slow(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.last = nn.Linear(3, num_classes)

        def forward(self, batch: Tensor) -> Tensor:
            time.sleep(0.3)  # the device's time, many times that of decoding a batch
            scores: Tensor = self.last(batch.mean((2, 3)))
            return scores

    return Slow()
