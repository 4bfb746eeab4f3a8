"""The flow chart follows its evidence."""

from __future__ import annotations

from penstock.lab.advice import Situation, flow_chart
from penstock.lab.statistics import Estimate

SIZES = {"source": 1000, "jpeg:q=85": 400, "jpeg:q=50": 250, "jpeg:q=10": 100}


def first(situation: Situation) -> str:
    return flow_chart(situation)[0]


def test_a_model_that_does_not_wait_needs_nothing() -> None:
    assert first(Situation(stall_share=0.02, memory_bytes=300, sizes=SIZES)).startswith("Keep the data as it is: 2 %")


def test_data_that_fits_in_memory_is_cached_as_it_is() -> None:
    assert first(Situation(stall_share=0.5, memory_bytes=1200, sizes=SIZES)).startswith("Cache the data as it is")


def test_the_highest_quality_that_fits_is_chosen() -> None:
    assert first(Situation(stall_share=0.5, memory_bytes=300, sizes=SIZES)).startswith("Use jpeg:q=50")


def test_a_quality_that_costs_accuracy_for_sure_is_passed_over() -> None:
    losses = {"jpeg:q=10": Estimate(-0.2, -0.22, -0.18, 3)}
    said = first(Situation(stall_share=0.5, memory_bytes=120, sizes=SIZES, losses=losses))
    assert said.startswith("What fits in memory costs too much accuracy: keep the quality")


def test_a_loss_within_noise_does_not_forbid() -> None:
    losses = {"jpeg:q=50": Estimate(-0.02, -0.08, 0.04, 3)}
    assert "-2.0 points (-8.0 to +4.0)" in first(Situation(0.5, "disk", 300, SIZES, losses))


def test_without_a_word_on_memory_the_choices_are_named() -> None:
    losses = {"jpeg:q=50": Estimate(0.001, -0.01, 0.012, 3), "jpeg:q=10": Estimate(-0.2, -0.22, -0.18, 3)}
    said = first(Situation(sizes=SIZES, losses=losses))
    assert said == (
        "Take the highest quality that fits in memory: source (1000 B), jpeg:q=85 (400 B), jpeg:q=50 (250 B). "
        "Not jpeg:q=10 (-20.0 points)."
    )


def test_busy_cores_are_told_which_files_were_measured_to_decode_faster() -> None:
    gains = {"jpeg:q=85": 1.02, "jpeg:q=50": 1.67}
    said = first(Situation(stall_share=0.5, bottleneck="decode", sizes=SIZES, cpu_gains=gains))
    assert said.startswith("The cores limit: use a format that decodes faster, decode less")
    assert "From memory jpeg:q=50 is 1.67 times as fast as the source" in said
    assert "jpeg:q=85" not in said


def test_limits_of_storage_and_time_are_answered() -> None:
    said = flow_chart(Situation(sizes=SIZES, storage_limit_bytes=300, best_in_time="jpeg:q=10", budget_seconds=9.0))
    assert any("compress to jpeg:q=50 rather than drop samples" in sentence for sentence in said)
    assert said[-1] == "Within 9.0 s of training, jpeg:q=10 reached most."
