"""Answers follow the lines: rates that are the other way round turn every answer around."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import ClassVar

import pytest

from penstock.documents import Json
from penstock.lab import Recipe
from penstock.lab.lines import Line
from penstock.lab.model import telling_disk
from penstock.lab.recipe import Cell, DataFacts
from penstock.lab.recipes.bottleneck import Bottleneck
from penstock.lab.recipes.codecs import Codecs
from penstock.lab.recipes.dropin import DropIn
from penstock.lab.recipes.fidelity import Fidelity
from penstock.lab.recipes.lossless import Lossless
from penstock.lab.recipes.mix import Mix
from penstock.lab.recipes.orthogonal import Orthogonal
from penstock.lab.recipes.regimen import Regimen
from penstock.lab.recipes.storage_budget import StorageBudget
from penstock.lab.recipes.thrash import Thrash
from penstock.lab.recipes.time_budget import TimeBudget
from penstock.lab.recipes.train import Train
from penstock.lab.recipes.whatif import WhatIf

DATA = DataFacts(num_samples=1000, source_bytes=100_000_000, codec="png", num_classes=10, num_mask_classes=0)
NUM_EPOCHS = 3


class Machine:
    """A machine on paper: a disk and cores that follow the arithmetic, with a little noise by seed."""

    def __init__(self, disk: float, cores: float = 1.0, gains: float = 0.0) -> None:
        self.disk = disk
        """Bytes per second."""
        self.cores = cores
        self.gains = gains
        """Accuracy that low qualities gain over the source."""

    bytes_of: ClassVar = {
        "source": 1e5,
        "png": 1e5,
        "raw": 4e5,
        "jpeg": 1.5e4,
        "weir": 9e4,
        "weir:fast": 9e4,
        "l3": 1.4e5,
    }

    model_seconds: Mapping[str, float] = defaultdict(lambda: 2e-4)

    def size(self, variant: str) -> float:
        parts = [part.rpartition("=") for part in variant.split(",")]
        if all(share.replace(".", "", 1).isdigit() and name in self.bytes_of for name, _, share in parts):
            return sum(self.size(name) * float(share) for name, _, share in parts)
        return self.bytes_of.get(variant, 2e4)

    def decode_seconds(self, variant: str) -> float:
        costs = {"source": 5e-3, "png": 5e-3, "raw": 1e-4, "jpeg": 2e-3, "weir": 1e-3, "weir:fast": 1e-3, "l3": 2e-3}
        parts = [part.rpartition("=") for part in variant.split(",")]
        if all(share.replace(".", "", 1).isdigit() and name in costs for name, _, share in parts):
            return sum(costs[name] * float(share) for name, _, share in parts) / self.cores
        return costs.get(variant, 2e-3) / self.cores

    def measures(self, cell: Cell) -> dict[str, Json]:
        told = cell.settings
        variant = str(told.get("variant", "source"))
        noise = 1 + 0.001 * cell.seed
        cached = float(str(told.get("cache_bytes", 0))) / (self.size(variant) * DATA.num_samples)
        missed = max(0.0, 1 - cached)
        read = self.size(variant) / self.disk
        if told.get("policy") in ("page cache", "torch"):
            missed = 0.95
        if told.get("storage") in ("memory", "synthetic"):
            missed = 0.0
        decode = 0.0 if told.get("loader") == "synthetic" else self.decode_seconds(variant)
        model = self.model_seconds[str(told.get("model", ""))] if cell.job == "train" else 0.0
        rate = noise / max(read * missed, decode, model, 1e-9)
        epoch = {"seconds": DATA.num_samples / rate, "num_images": 1000.0, "disk_bytes": self.size(variant) * 1000}
        epoch |= {"accuracy": self.accuracy(cell), "wait_seconds": 0.1, "compute_seconds": 0.1}
        return {
            "epochs": [dict(epoch) for _ in range(NUM_EPOCHS)],
            "num_images": 1000,
            "images_per_second": rate,
            "epoch_seconds": DATA.num_samples / rate,
            "disk_bytes_per_epoch": self.size(variant) * 1000 * missed,
            "anonymous_bytes": 10**8,
            "encoded_bytes": self.size(str(told.get("format", variant))) * 1000,
            "data_bytes": self.size(variant) * 1000,
            "load_rate": noise / read,
            "decode_rate": noise / self.decode_seconds(variant),
            "both_rate": noise / max(read * missed, self.decode_seconds(variant)),
            "decode_seconds": self.decode_seconds(str(told.get("format", variant))),
            "encode_seconds": 0.01,
            "is_lossless": int(not str(told.get("format", "")).startswith("jpeg")),
            "ms_ssim": 1.0,
            "accuracy": self.accuracy(cell),
            "stall_share": 0.5,
            "cpu_seconds_per_epoch": 1.0,
        }

    def accuracy(self, cell: Cell) -> float:
        stages = cell.settings.get("stages")
        names = [str(stage[0]) for stage in stages if isinstance(stage, list)] if isinstance(stages, list) else []
        names = names or [str(cell.settings.get("variant", "source"))]
        epochs = float(str(cell.settings.get("epochs", 8)))
        share = sum(name != "source" for name in names) / len(names)
        return 0.5 + 0.01 * min(epochs, 30) + self.gains * share * (1.2 if len(names) > 1 else 1) + 0.0001 * cell.seed


def lines_on(machine: Machine, recipe: Recipe) -> list[Line]:
    """The lines that a run would leave."""
    lines: list[Line] = []
    while True:
        known = {line.key for line in lines}
        waiting = [cell for cell in recipe.cells(DATA, lines) if cell.key not in known]
        if not waiting:
            return lines
        for cell in waiting:
            circumstances: dict[str, Json] = {
                "cores": 2,
                "cpu": "paper",
                "system": "",
                "penstock": "",
                "commit": "",
                "date": "",
            }
            lines.append(Line(cell.key, recipe.name, cell.job, dict(cell.settings), cell.seed, str(cell.limits), {},
                              machine.measures(cell), "", circumstances))  # fmt: skip


def answers(recipe: Recipe, machines: Sequence[Machine]) -> list[str]:
    return [recipe.findings(lines_on(machine, recipe)).answer for machine in machines]


SLOW, FAST = Machine(disk=5e6), Machine(disk=5e10)


def test_a_fast_disk_reverses_thrash() -> None:
    slow, fast = answers(Thrash(), [SLOW, FAST])
    assert slow.startswith("A cache of one's own pays")
    assert fast.startswith("No cache of one's own pays here")


def test_a_fast_disk_reverses_orthogonal() -> None:
    slow, fast = answers(Orthogonal(), [SLOW, FAST])
    assert slow.startswith("Use both")
    assert fast.startswith("One is enough")


def test_a_fast_disk_reverses_bottleneck() -> None:
    slow, fast = answers(Bottleneck(), [SLOW, FAST])
    assert slow.startswith("Disk limits alexnet, source")
    assert fast.startswith("Preparation limits alexnet, source")


@pytest.mark.parametrize(("heavy_seconds", "verdict"), [(8e-3, "As published"), (1e-3, "Disagrees")])
def test_the_model_decides_who_limits_from_memory(heavy_seconds: float, verdict: str) -> None:
    class Trained(Machine):
        model_seconds: Mapping[str, float] = {"alexnet": 2e-4, "resnet8": heavy_seconds}  # never changed

    recipe = Bottleneck()
    assert recipe.findings(lines_on(Trained(disk=5e10), recipe)).sections[0].sentences[1].startswith(verdict)


def test_a_fast_disk_reverses_mix() -> None:
    recipe = Mix(pairs=("png+raw",), disk="120MB/s", rivals=())
    balanced, fast = answers(recipe, [Machine(disk=1.2e8), FAST])
    assert balanced == "Mixing pays for png+raw."
    assert fast == "Mixing pays for no pair here."


def test_like_profiles_do_not_pay() -> None:
    assert answers(Mix(pairs=("png+jpeg",), disk="120MB/s", rivals=()), [Machine(disk=1.2e8)]) == [
        "Mixing pays for no pair here."
    ]


def test_the_best_mix_sits_at_the_crossing() -> None:
    recipe = Mix(pairs=("png+raw",), rivals=())
    found = recipe.findings(lines_on(Machine(disk=1.2e8), recipe))
    assert any("best share sits at the crossing" in sentence for sentence in found.sections[0].sentences)


def test_a_fast_disk_reverses_lossless() -> None:
    recipe = Lossless(formats=("png", "l3", "jpeg"))
    slow = Machine(disk=5e6)
    quick = Machine(disk=5e10)
    assert answers(recipe, [slow])[0].startswith("jpeg reaches the common accuracy first")
    recipe = Lossless(formats=("png", "weir:fast", "jpeg"))
    assert answers(recipe, [quick])[0].startswith("weir:fast reaches the common accuracy first")


def test_a_fast_disk_reverses_train() -> None:
    recipe = Train(loaders=("synthetic", "penstock", "penstock@raw"), models=("alexnet",))
    slow, fast = answers(recipe, [SLOW, FAST])
    assert slow.startswith("Fastest: with alexnet, penstock.")
    assert fast.startswith("Fastest: with alexnet, penstock@raw.")


@pytest.mark.parametrize(("machine", "verdict"), [(Machine(disk=1.2e8), "As published"), (FAST, "Disagrees")])
def test_training_says_whether_a_mix_feeds_better(machine: Machine, verdict: str) -> None:
    recipe = Train(loaders=("penstock", "penstock@raw", "penstock@source=0.5/raw=0.5"), models=("alexnet",))
    lines = lines_on(machine, recipe)
    assert lines[-1].setting("variant") == "png=0.5,raw=0.5"
    assert recipe.findings(lines).sections[0].sentences[0].startswith(verdict)


def test_a_fast_disk_reverses_time_budget() -> None:
    class Costly(Machine):
        def accuracy(self, cell: Cell) -> float:
            return super().accuracy(cell) - (0.02 if cell.settings.get("variant") != "source" else 0.0)

    recipe = TimeBudget(formats=("jpeg:q=10",))
    slow, fast = answers(recipe, [Costly(disk=5e6), Costly(disk=5e10, cores=1000)])
    assert "jpeg:q=10 reaches most" in slow
    assert "source reaches most" in fast


@pytest.mark.parametrize(("gains", "verdict"), [(-0.05, "does not beat"), (0.05, "beats")])
def test_data_that_learns_better_from_both_reverses_regimen(gains: float, verdict: str) -> None:
    class Refined(Machine):
        def accuracy(self, cell: Cell) -> float:
            stages = cell.settings.get("stages")
            is_mixed = isinstance(stages, list) and len(stages) > 1
            return 0.6 + (self.gains if is_mixed else 0.0) + 0.0001 * cell.seed

    assert f" {verdict} the best single quality" in answers(Regimen(), [Refined(1e7, gains=gains)])[0]


def test_a_stage_that_does_not_follow_the_model_reverses_whatif() -> None:
    class Odd(Machine):
        def measures(self, cell: Cell) -> dict[str, Json]:
            measures = super().measures(cell)
            return measures | ({"both_rate": 1.0} if cell.limits.cores == 1 else {})

    class Plain(Machine):
        def measures(self, cell: Cell) -> dict[str, Json]:
            self.disk = cell.limits.disk_bytes_per_second or 1e9
            self.cores = float(str(cell.settings.get("threads", 1)))
            return super().measures(cell)

    good, bad = answers(WhatIf(), [Plain(2e7), Odd(2e7)])
    assert good.startswith("Predictions can be planned with")
    assert bad.startswith("Predictions are not good enough")


def test_other_images_reverse_codecs() -> None:
    class Odd(Machine):
        def decode_seconds(self, variant: str) -> float:
            return {"weir:fast": 1.0}.get(variant, super().decode_seconds(variant))

    recipe = Codecs(formats=("png", "weir:fast"))
    usual, odd = answers(recipe, [Machine(1e7), Odd(1e7)])
    assert usual.startswith("weir:fast decodes quickest")
    assert odd.startswith("png decodes quickest")


def test_labels_in_fine_detail_reverse_fidelity() -> None:
    class Fine(Machine):
        def accuracy(self, cell: Cell) -> float:
            return 0.9 - (0.2 if cell.settings.get("fidelity") == 1 else 0.0) + 0.0001 * cell.seed

        def measures(self, cell: Cell) -> dict[str, Json]:
            share = {"1 scan": 0.3, "2 scans": 0.5, "5 scans": 0.7}.get(str(cell.settings["way"]), 1.0)
            return super().measures(cell) | {"disk_bytes_per_epoch": 1e6 * share, "epoch_seconds": share}

    class Coarse(Fine):
        def accuracy(self, cell: Cell) -> float:
            return 0.9 + 0.0001 * cell.seed

    coarse, fine = answers(Fidelity(), [Coarse(1e7), Fine(1e7)])
    assert coarse.startswith("Enough: 1 scan,")
    assert fine.startswith("Enough: 2 scans,")


def test_labels_in_fine_texture_reverse_storage_budget() -> None:
    class Learner(Machine):
        quality, number = 0.3, 0.3

        def accuracy(self, cell: Cell) -> float:
            is_compressed = cell.settings.get("variant") != "source"
            is_fewer = float(str(cell.settings.get("share", 1.0))) < 1
            return 0.9 - self.quality * is_compressed - self.number * is_fewer + 0.0001 * cell.seed

    class Coarse(Learner):
        quality = 0.0

    class Texture(Learner):
        number = 0.1

    coarse, texture, neither = answers(StorageBudget(), [Coarse(1e7), Texture(1e7), Learner(1e7)])
    assert coarse.startswith("Compress: +30.0 points")
    assert texture.startswith("Subsample: -20.0 points")
    assert neither.startswith("Either will do")


@pytest.mark.parametrize(
    ("loss", "said"),
    [(-0.03, "As published: strong"), (-0.3, "Disagrees with what was published, that strong")],
)
def test_a_loss_beyond_what_was_published_is_called_a_disagreement(loss: float, said: str) -> None:
    recipe = DropIn(formats=("jpeg:q=10",))
    found = recipe.findings(lines_on(Machine(1e7, gains=loss), recipe))
    assert any(sentence.startswith(said) for sentence in found.sections[0].sentences)


def test_a_format_that_is_smaller_and_quicker_has_a_telling_disk_too() -> None:
    assert telling_disk((200e3, 400e3), (5e-3, 1e-4)) == 400e3 / 5e-3
    assert telling_disk((400e3, 200e3), (1e-4, 5e-3)) == 400e3 / 5e-3
    assert telling_disk((200e3, 20e3), (5e-3, 2e-3)) == 220e3 / 7e-3


def test_room_for_uneven_sizes_explains_what_liquid_reads() -> None:
    class Uneven(Machine):
        def measures(self, cell: Cell) -> dict[str, Json]:
            found = super().measures(cell) | {"deviation_bytes": 5e4}
            if cell.settings.get("policy") == "liquid" and cell.settings["cached_share"]:
                found["disk_bytes_per_epoch"] = float(str(found["disk_bytes_per_epoch"])) + 3e6
            return found

    recipe = Thrash(shares=(0.5,))
    said = recipe.findings(lines_on(Uneven(5e6), recipe)).sections[0].sentences
    assert any("3.2 points at 50% of memory" in sentence and "at most -0.2" in sentence for sentence in said)
