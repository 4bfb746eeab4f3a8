"""What `bench_codecs` measures, and that it measures nothing it has not verified."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.bench import CodecBenchOptions, bench_codecs, load_corpus
from penstock.bench import codec_bench as codecs_module
from penstock.codecs import parse_format, parse_formats
from penstock.errors import CodecError
from tests.unit.bench.conftest import PythonCodec

QUICK = CodecBenchOptions(repeats=2)


@pytest.fixture(autouse=True)
def short_repeats(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(codecs_module, "MIN_REPEAT_SECONDS", 0.001)


def test_sizes_are_those_of_the_encoded_images(folder: Path) -> None:
    found = bench_codecs(load_corpus(folder), [parse_format("raw")], QUICK)

    (raw,) = found.formats
    assert (raw.pixel_bytes, raw.encoded_bytes) == (9252, 9252 + 3 * 32)
    assert raw.ratio == pytest.approx(9252 / 9348)
    assert (raw.num_images, raw.num_refused, raw.lossless, raw.distortion) == (3, 0, True, None)


def test_speeds_agree_with_the_seconds_they_come_from(folder: Path) -> None:
    (raw,) = bench_codecs(load_corpus(folder), [parse_format("raw")], QUICK).formats

    for speed in (raw.encode, raw.decode):
        assert speed is not None
        assert speed.megabytes_per_second.highest == pytest.approx(9252 / speed.cpu_seconds.lowest / 1e6)
        assert speed.images_per_second.lowest == pytest.approx(3 / speed.cpu_seconds.highest)
        assert speed.wall_seconds.lowest > 0


def test_several_threads_are_timed_by_the_clock(folder: Path) -> None:
    found = bench_codecs(load_corpus(folder), [parse_format("raw")], CodecBenchOptions(threads=2, repeats=1))

    (raw,) = found.formats
    assert (found.threads, found.clock, raw.threads) == (2, "wall", 2)
    assert raw.decode is not None
    assert raw.decode.images_per_second.median == pytest.approx(3 / raw.decode.wall_seconds.median)


def test_a_lossy_format_has_its_distortion_stated(folder: Path) -> None:
    good, bad = bench_codecs(load_corpus(folder), parse_formats("jpeg:q=95,jpeg:q=5"), QUICK).formats

    assert good.distortion is not None
    assert bad.distortion is not None
    assert good.distortion.psnr.median > bad.distortion.psnr.median > 10
    assert 1 > good.distortion.ms_ssim.median > bad.distortion.ms_ssim.median > 0


def test_images_that_a_format_cannot_hold_are_counted(folder: Path) -> None:
    (webp,) = bench_codecs(load_corpus(folder), [parse_format("webp:lossless")], QUICK).formats

    assert (webp.num_images, webp.num_refused) == (2, 1)
    assert webp.refusal
    assert webp.pixel_bytes == 30 * 20 * 3 + 40 * 50 * 3


def test_a_format_that_holds_nothing_has_no_speed(folder: Path, python_codec: PythonCodec) -> None:
    (plain,) = bench_codecs(load_corpus(folder / "b"), [parse_format("plain")], QUICK).formats

    assert (plain.num_images, plain.num_refused, plain.ratio) == (0, 2, 0)
    assert (plain.encode, plain.decode) == (None, None)


def test_files_as_they_are_stored_are_timed_by_codec(folder: Path) -> None:
    found = bench_codecs(load_corpus(folder), [], QUICK)

    assert [(stored.format, stored.num_images, stored.lossless) for stored in found.stored] == [
        ("jpeg", 1, False),
        ("raw", 2, True),
    ]
    assert all(stored.encode is None and stored.decode is not None for stored in found.stored)


def test_a_codec_in_python_is_measured_on_one_thread(folder: Path, python_codec: PythonCodec) -> None:
    found = bench_codecs(load_corpus(folder), [parse_format("plain")], CodecBenchOptions(threads=2, repeats=1))

    (plain,) = found.formats
    assert (plain.threads, plain.num_images, plain.num_refused) == (1, 1, 2)
    assert plain.refusal == "plain holds only 8-bit grey"
    assert plain.decode is not None


def test_a_broken_promise_stops_the_benchmark_before_anything_is_timed(
    folder: Path, lying_codec: PythonCodec, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(codecs_module.TimedJob, "measure", lambda _: pytest.fail("was timed"))

    with pytest.raises(CodecError, match="plain promises to be lossless") as raised:
        bench_codecs(load_corpus(folder), [parse_format("plain")], QUICK)

    assert raised.value.where == str(folder / "a.raw")


def test_progress_is_reported_by_stage(folder: Path) -> None:
    seen: list[tuple[str, int, int]] = []

    def on_progress(stage: str, done: int, total: int) -> None:
        seen.append((stage, done, total))

    corpus = load_corpus(folder, on_progress=on_progress)
    bench_codecs(corpus, [parse_format("raw")], QUICK, on_progress=on_progress)

    assert list(dict.fromkeys(stage for stage, _, _ in seen)) == ["reading", "verifying raw", "timing"]
    assert all(0 <= done < total for _, done, total in seen)
