"""Benchmarks on this machine. Measures and returns; the command line prints."""

from penstock.bench.codec_bench import CodecBench, CodecBenchOptions, bench_codecs
from penstock.bench.corpus import Corpus, SourceImage, Unreadable, load_corpus
from penstock.bench.loader_bench import (
    EpochResult,
    LoaderBench,
    LoaderBenchOptions,
    bench_loader,
)
from penstock.bench.remote import EmulatedBench, bench_under
from penstock.bench.result import Distortion, FormatResult, Speed
from penstock.bench.spread import Spread

__all__ = [
    "CodecBench",
    "CodecBenchOptions",
    "Corpus",
    "Distortion",
    "EmulatedBench",
    "EpochResult",
    "FormatResult",
    "LoaderBench",
    "LoaderBenchOptions",
    "SourceImage",
    "Speed",
    "Spread",
    "Unreadable",
    "bench_codecs",
    "bench_loader",
    "bench_under",
    "load_corpus",
]
