"""Answers follow the lines: rates that are the other way round turn every answer around."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import ClassVar

import pytest

from penstock.documents import Json
from penstock.lab import Recipe
from penstock.lab.lines import Line
from penstock.lab.recipes.bottleneck import Bottleneck
from penstock.lab.recipes.codecs_recipe import Codecs
from penstock.lab.recipes.contract import Cell, DataFacts
from penstock.lab.recipes.dropin import DropIn
from penstock.lab.recipes.fidelity_recipe import Fidelity
from penstock.lab.recipes.lossless import Lossless
from penstock.lab.recipes.mix import Mix
from penstock.lab.recipes.orthogonal import Orthogonal
from penstock.lab.recipes.regimen import Regimen
from penstock.lab.recipes.storage_budget import StorageBudget
from penstock.lab.recipes.thrash import Thrash
from penstock.lab.recipes.time_budget import TimeBudget
from penstock.lab.recipes.train_recipe import Train
from penstock.lab.recipes.whatif import WhatIf
from penstock.rates import break_even_bandwidth

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
    assert slow.startswith("The bottleneck of alexnet, source, 1 thread, 10MB/s is storage;")
    assert fast.startswith("The bottleneck of alexnet, source, 1 thread, 10MB/s is decode;")


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
    assert any(
        sentence.startswith("As published: the best share of png+raw sits where load and decode cross")
        for sentence in found.sections[0].sentences
    )


def test_a_best_mix_one_step_beside_the_crossing_is_a_disagreement() -> None:
    class Odd(Machine):
        """The crossing is at 7 %, between shares of 0 and 25 %; here 50 % is best."""

        def measures(self, cell: Cell) -> dict[str, Json]:
            measures = super().measures(cell)
            share = float(str(cell.settings.get("share", 0.0)))
            return measures | {"both_rate": (900.0 if share == 0.5 else 400.0) + cell.seed}

    recipe = Mix(pairs=("png+raw",), disk="30MB/s", rivals=())
    said = recipe.findings(lines_on(Odd(disk=3e7), recipe)).sections[0].sentences
    assert any(sentence.startswith("Disagrees with what was published, that the best share") for sentence in said)


def test_pairs_are_compared_with_what_the_paper_says_of_them() -> None:
    class Paying(Machine):
        def measures(self, cell: Cell) -> dict[str, Json]:
            is_mixed = 0 < float(str(cell.settings.get("share", 0.0))) < 1
            return super().measures(cell) | {"both_rate": (1200.0 if is_mixed else 1000.0) + cell.seed}

    class Vain(Machine):
        def measures(self, cell: Cell) -> dict[str, Json]:
            return super().measures(cell) | {"both_rate": 1000.0 + cell.seed}

    recipe = Mix(pairs=("png+jpeg", "png+webp:lossless"), disk="120MB/s", rivals=())
    paying, vain = (recipe.findings(lines_on(kind(1.2e8), recipe)).sections[0].sentences for kind in (Paying, Vain))
    assert [sentence.split(" (")[0] for sentence in paying[-2:]] == [
        "As published: mixing png and jpeg pays",
        "Disagrees with what was published, that mixing png and webp:lossless does not pay",
    ]
    assert [sentence.split(" (")[0] for sentence in vain[-2:]] == [
        "Disagrees with what was published, that mixing png and jpeg pays",
        "As published: mixing png and webp:lossless does not pay",
    ]


def test_other_loaders_stand_beside_ours_on_the_same_disk_only() -> None:
    recipe = Mix(pairs=("png+raw", "jpeg+weir"), rivals=("torch",))
    lines = lines_on(Machine(disk=1.2e8), recipe)
    (section,) = (one for one in recipe.findings(lines).sections if one.title == "Beside other loaders")
    assert section.table is not None
    assert [row[1] for row in section.table.rows] == ["the folder", "png=0.5,raw=0.5"]


def test_a_fast_disk_reverses_lossless() -> None:
    recipe = Lossless(formats=("png", "l3", "jpeg"))
    slow = Machine(disk=5e6)
    quick = Machine(disk=5e10)
    assert answers(recipe, [slow])[0].startswith("jpeg reaches the common accuracy first")
    recipe = Lossless(formats=("png", "weir:fast", "jpeg"))
    assert answers(recipe, [quick])[0].startswith("weir:fast reaches the common accuracy first")


@pytest.mark.parametrize(("lowest", "is_reached"), [(0.6, True), (0.3, False)])
def test_a_run_that_never_reaches_the_common_accuracy_has_no_time(lowest: float, *, is_reached: bool) -> None:
    class Failing(Machine):
        def accuracy(self, cell: Cell) -> float:
            return lowest if cell.settings.get("variant") == "png" and cell.seed == 1 else 0.6

    recipe = Lossless(formats=("png", "l3", "jpeg"))
    found = recipe.findings(lines_on(Failing(disk=5e6), recipe))
    (section,) = found.sections
    assert section.table is not None
    assert section.sentences[0].endswith("Every run reached it.") == is_reached
    assert ("png in 1 of 3 runs" in section.sentences[0]) != is_reached
    assert (section.table.rows[0][4] == "not reached in 1 of 3 runs") != is_reached


def test_no_format_is_fastest_if_none_reaches_the_accuracy_in_every_run() -> None:
    class Failing(Machine):
        def accuracy(self, cell: Cell) -> float:
            return 0.1 if cell.seed == 1 else 0.6

    recipe = Lossless(formats=("png", "jpeg"))
    found = recipe.findings(lines_on(Failing(disk=5e6), recipe))
    assert found.answer.startswith("No format reached the common accuracy")
    assert found.values["fastest"] == ""


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


@pytest.mark.parametrize(
    ("gains", "noise", "verdict"),
    [(-0.05, 0.0, "does not beat"), (0.05, 0.0, "beats"), (0.0, 0.02, "cannot be told apart from")],
)
def test_data_that_learns_better_from_both_reverses_regimen(gains: float, noise: float, verdict: str) -> None:
    class Refined(Machine):
        def accuracy(self, cell: Cell) -> float:
            stages = cell.settings.get("stages")
            is_mixed = isinstance(stages, list) and len(stages) > 1
            return 0.6 + (self.gains + noise * (cell.seed - 1) if is_mixed else 0.0) + 0.0001 * cell.seed

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

    good, bad = answers(WhatIf(disk="4MB/s"), [Plain(4e6), Odd(4e6)])
    assert good.startswith("Predictions can be planned with: ")
    assert bad.startswith("Predictions are not good enough")


def test_other_images_reverse_codecs() -> None:
    class Odd(Machine):
        def decode_seconds(self, variant: str) -> float:
            return {"weir:fast": 1.0}.get(variant, super().decode_seconds(variant))

    recipe = Codecs(formats=("png", "raw", "weir:fast"))
    (first,) = answers(recipe, [Machine(1e7)])
    assert first.startswith("raw decodes quickest (0.100 ms an image), weir:fast quickest of those that compress")
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
    assert coarse.startswith("Enough: 1 scan (")
    assert fine.startswith("Enough: 2 scans (")


@pytest.mark.parametrize(
    ("loss", "noise", "verdict"),
    [(0.0, 0.0, "As published"), (0.1, 0.0, "Disagrees with what was published"), (0.04, 0.05, "Not shown")],
)
def test_a_tuner_that_loses_accuracy_is_said_to(loss: float, noise: float, verdict: str) -> None:
    class Tuned(Machine):
        def accuracy(self, cell: Cell) -> float:
            return 0.9 - (loss + noise * (cell.seed - 1) if cell.settings["way"] == "tuned" else 0.0)

    recipe = Fidelity()
    said = recipe.findings(lines_on(Tuned(1e7), recipe)).sections[0].sentences
    assert said[-1].startswith(verdict)
    assert "the scans that gradients choose" in said[-1]


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
    [(-0.03, "As published: compression"), (-0.3, "Disagrees with what was published, that compression")],
)
def test_a_loss_beyond_what_was_published_is_called_a_disagreement(loss: float, said: str) -> None:
    recipe = DropIn(formats=("jpeg:q=10",))
    found = recipe.findings(lines_on(Machine(1e7, gains=loss), recipe))
    assert any(sentence.startswith(said) for sentence in found.sections[0].sentences)


@pytest.mark.parametrize(("cached_share", "verdict"), [(0.1, "As published"), (0.3, "Not shown")])
def test_data_that_fits_in_the_cache_shows_nothing_about_adding_up(cached_share: float, verdict: str) -> None:
    recipe = Orthogonal(cached_share=cached_share)
    found = recipe.findings(lines_on(SLOW, recipe))
    assert found.values["fits"] == (verdict == "Not shown")
    assert found.sections[0].sentences[1].startswith(verdict)


@pytest.mark.parametrize(("read", "verdict"), [(1.0, "As published"), (4.0, "Not shown")])
def test_reading_by_pages_shows_nothing_about_sizes(read: float, verdict: str) -> None:
    class Paged(Machine):
        def measures(self, cell: Cell) -> dict[str, Json]:
            found = super().measures(cell)
            return found | {"disk_bytes_per_epoch": float(str(found["disk_bytes_per_epoch"])) * read}

    recipe = TimeBudget(formats=("jpeg:q=10",))
    said = recipe.findings(lines_on(Paged(disk=5e6), recipe)).sections[0].sentences
    assert said[2].startswith(verdict)
    assert any("read page by page" in sentence for sentence in said) == (read > 1)


def test_predictions_say_which_stage_nothing_tests() -> None:
    class Quick(Machine):
        """Cores that never limit."""

        def measures(self, cell: Cell) -> dict[str, Json]:
            self.disk, self.cores = cell.limits.disk_bytes_per_second or 1e9, 1e6
            measures = super().measures(cell)
            return measures | {"both_rate": measures["load_rate"], "held_share": 0.0}

    recipe = WhatIf()
    found = recipe.findings(lines_on(Quick(2e7), recipe))
    assert found.answer.startswith("Predictions can be planned with where storage limits")
    assert "On none of these machines decoding limits: such predictions are not tested." in found.sections[0].sentences


@pytest.mark.parametrize(
    ("cpu_seconds", "disk_share", "stall", "limits"),
    [(0.1, 0.95, 0.5, "storage"), (1.9, 0.3, 0.5, "decode"), (0.1, 0.1, 0.5, "latency"), (1.9, 0.9, 0.01, "compute")],
)
def test_the_advice_on_a_training_follows_what_was_busy(
    cpu_seconds: float, disk_share: float, stall: float, limits: str
) -> None:
    class Busy(Machine):
        def measures(self, cell: Cell) -> dict[str, Json]:
            busy = {"epoch_seconds": 1.0, "cpu_seconds_per_epoch": cpu_seconds, "stall_share": stall}
            return super().measures(cell) | busy | {"disk_bytes_per_epoch": disk_share * 50e6}

    recipe = Train(loaders=("penstock",), models=("alexnet",), disk="50MB/s")
    assert recipe.findings(lines_on(Busy(5e7), recipe)).values["bottleneck"] == limits


def test_goodput_is_only_told_where_the_ideal_was_measured() -> None:
    columns = []
    for loaders in (("synthetic", "penstock"), ("penstock",)):
        recipe = Train(loaders=loaders, models=("alexnet",))
        (section,) = recipe.findings(lines_on(FAST, recipe)).sections
        assert section.table is not None
        columns.append(section.table.columns[3])
    assert columns == ["compute", "rate"]


def test_one_run_is_never_called_as_published() -> None:
    """Each recipe that judges a claim, measured once on a machine on which everything is as published."""
    for kind in (
        Bottleneck,
        DropIn,
        Fidelity,
        Lossless,
        Mix,
        Orthogonal,
        Regimen,
        StorageBudget,
        Thrash,
        TimeBudget,
        Train,
    ):
        recipe = kind(seeds=1)
        found = recipe.findings(lines_on(Machine(5e6), recipe))
        said = [sentence for section in found.sections for sentence in section.sentences]
        assert not [sentence for sentence in said if "As published" in sentence or "Disagrees" in sentence], recipe.name
        assert [sentence for sentence in said if sentence.startswith("Not shown")] or recipe.name == "mix", recipe.name


def test_a_format_that_is_smaller_and_quicker_has_a_break_even_bandwidth_too() -> None:
    assert break_even_bandwidth((200e3, 400e3), (5e-3, 1e-4)) == 400e3 / 5e-3
    assert break_even_bandwidth((400e3, 200e3), (1e-4, 5e-3)) == 400e3 / 5e-3
    assert break_even_bandwidth((200e3, 20e3), (5e-3, 2e-3)) == 220e3 / 7e-3


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
