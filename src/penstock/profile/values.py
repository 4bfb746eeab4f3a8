"""A profile as values, and as the document of spec/profile.md."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from penstock.documents import Document, Json, read_document, write_document
from penstock.profile.estimate import Estimate, fit
from penstock.types import Floats

KIND = "penstock profile"
VERSION = 1


@dataclass(frozen=True, slots=True)
class Figure:
    """A measured number with the quartiles of its repeats."""

    median: float
    low: float
    high: float

    @staticmethod
    def of(values: Sequence[float]) -> Figure:
        """The figure of repeats.

        >>> Figure.of([3.0, 1.0, 2.0]).median
        2.0
        """
        low, median, high = np.quantile(np.asarray(values, float), [0.25, 0.5, 0.75])
        return Figure(float(median), float(low), float(high))

    @staticmethod
    def exactly(value: float) -> Figure:
        """A number that was given, not measured."""
        return Figure(value, value, value)


@dataclass(frozen=True, slots=True)
class Disk:
    """What the disk serves, and what serving costs."""

    bytes_per_second: Figure
    reads_per_second: Figure
    file_seconds: Figure
    cpu_seconds_per_byte: float = 0.0
    depth: int = 1
    direct: bool = False
    probes: tuple[Mapping[str, Json], ...] = ()


@dataclass(frozen=True, slots=True)
class Dataset:
    """What the source holds."""

    num_samples: int
    source_bytes: int
    num_labels: int
    source_format: str
    codecs: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SampledImage:
    """One image that was measured; what a rule may know of an image before it is decoded."""

    width: int
    height: int
    channels: int
    bits: int
    source_bytes: int

    @property
    def pixels(self) -> int:
        """Width times height."""
        return self.width * self.height


@dataclass(frozen=True, slots=True)
class FormatCosts:
    """What the sampled images cost in one format: a number per image, in their order."""

    is_exact: bool
    bytes: Floats
    decode_seconds: Floats
    encode_seconds: Floats
    ms_ssim: Floats
    psnr: Floats


@dataclass(frozen=True, slots=True)
class Profile:
    """A machine, a dataset, and the cost of each candidate format."""

    cpu: str
    simd: str
    cores: int
    memory_bytes: int
    scaling: tuple[tuple[int, Figure], ...]
    disk: Disk
    dataset: Dataset
    images: tuple[SampledImage, ...]
    formats: Mapping[str, FormatCosts]
    compute: Figure | None = None
    compute_from: str = "unknown"
    transform: str = "none"
    ranks: int = 1

    def speedup(self, cores: float) -> float:
        """How much faster than one core so many decode: straight between measured points, the last slope beyond."""
        points = [(0.0, 0.0), *((float(threads), figure.median) for threads, figure in self.scaling)]
        if len(points) == 1:
            return cores
        if cores >= points[-1][0]:
            (x0, y0), (x1, y1) = points[-2:]
            return y1 + (cores - x1) * (y1 - y0) / (x1 - x0)
        return float(np.interp(cores, [x for x, _ in points], [y for _, y in points]))

    def estimates(self, name: str) -> tuple[Estimate, Estimate]:
        """Bytes and decode seconds of unseen images in a format."""
        pixels = np.array([image.pixels for image in self.images], float)
        source_bytes = np.array([image.source_bytes for image in self.images], float)
        costs = self.formats[name]
        return fit(pixels, source_bytes, costs.bytes), fit(pixels, source_bytes, costs.decode_seconds)


def write_profile(profile: Profile) -> bytes:
    """The document of a profile."""
    members: dict[str, Json] = {
        "kind": KIND,
        "version": VERSION,
        "machine": {
            "cpu": profile.cpu,
            "simd": profile.simd,
            "cores": profile.cores,
            "memory_bytes": profile.memory_bytes,
        },
        "scaling": [{"threads": threads, "speedup": _figure(figure)} for threads, figure in profile.scaling],
        "disk": _write_disk(profile.disk),
        "dataset": {
            "num_samples": profile.dataset.num_samples,
            "source_bytes": profile.dataset.source_bytes,
            "num_labels": profile.dataset.num_labels,
            "source_format": profile.dataset.source_format,
            "codecs": dict(profile.dataset.codecs),
        },
        "images": [
            {
                "width": image.width,
                "height": image.height,
                "channels": image.channels,
                "bits": image.bits,
                "source_bytes": image.source_bytes,
            }
            for image in profile.images
        ],
        "formats": {name: _write_format(profile, name) for name in profile.formats},
        "compute": {"from": profile.compute_from}
        | ({"images_per_second": _figure(profile.compute)} if profile.compute is not None else {}),
        "transform": profile.transform,
        "ranks": profile.ranks,
    }
    return write_document(members)


def read_profile(data: bytes, where: str = "") -> Profile:
    """The profile of a document; ArgumentError with the place of what is wrong."""
    document = read_document(data, kind=KIND, version=VERSION, where=where)
    machine, dataset, compute = (document.child(name) for name in ("machine", "dataset", "compute"))
    images = tuple(_read_image(item) for item in document.items("images"))
    if not images:
        raise document.refusal("images is empty: nothing was measured", "images")
    return Profile(
        cpu=machine.text("cpu"),
        simd=machine.text("simd"),
        cores=machine.integer("cores", minimum=1),
        memory_bytes=machine.integer("memory_bytes"),
        scaling=tuple(
            (item.integer("threads", minimum=1), _read_figure(item.child("speedup")))
            for item in document.items("scaling")
        ),
        disk=_read_disk(document.child("disk")),
        dataset=Dataset(
            num_samples=dataset.integer("num_samples", minimum=1),
            source_bytes=dataset.integer("source_bytes"),
            num_labels=dataset.integer("num_labels"),
            source_format=dataset.text("source_format"),
            codecs={name: dataset.child("codecs").number(name) for name in dataset.child("codecs").members},
        ),
        images=images,
        formats={name: _read_format(item, len(images)) for name, item in document.children("formats")},
        compute=_read_figure(compute.child("images_per_second")) if "images_per_second" in compute else None,
        compute_from=compute.text("from"),
        transform=document.text("transform"),
        ranks=document.integer("ranks", minimum=1),
    )


def _figure(figure: Figure) -> dict[str, Json]:
    return {"median": figure.median, "low": figure.low, "high": figure.high}


def _read_figure(document: Document) -> Figure:
    return Figure(*(document.number(name, minimum=0) for name in ("median", "low", "high")))


def _write_disk(disk: Disk) -> dict[str, Json]:
    return {
        "bytes_per_second": _figure(disk.bytes_per_second),
        "reads_per_second": _figure(disk.reads_per_second),
        "file_seconds": _figure(disk.file_seconds),
        "cpu_seconds_per_byte": disk.cpu_seconds_per_byte,
        "depth": disk.depth,
        "direct": disk.direct,
        "probes": [dict(probe) for probe in disk.probes],
    }


def _read_disk(document: Document) -> Disk:
    return Disk(
        bytes_per_second=_read_figure(document.child("bytes_per_second")),
        reads_per_second=_read_figure(document.child("reads_per_second")),
        file_seconds=_read_figure(document.child("file_seconds")),
        cpu_seconds_per_byte=document.number("cpu_seconds_per_byte", minimum=0),
        depth=document.integer("depth", minimum=1),
        direct=document.flag("direct"),
        probes=tuple(item.members for item in document.items("probes")),
    )


def _read_image(document: Document) -> SampledImage:
    return SampledImage(
        *(document.integer(name, minimum=1) for name in ("width", "height", "channels", "bits", "source_bytes"))
    )


def _write_format(profile: Profile, name: str) -> dict[str, Json]:
    costs = profile.formats[name]
    size, seconds = profile.estimates(name)
    return {
        "is_exact": costs.is_exact,
        "bytes": [round(value) for value in costs.bytes],
        "decode_seconds": costs.decode_seconds.tolist(),
        "encode_seconds": costs.encode_seconds.tolist(),
        "ms_ssim": costs.ms_ssim.tolist(),
        "psnr": [value if math.isfinite(value) else None for value in costs.psnr.tolist()],
        "estimates": {"bytes": size.as_dict(), "decode_seconds": seconds.as_dict()},
    }


def _read_format(document: Document, num_images: int) -> FormatCosts:
    def column(name: str) -> Floats:
        values = document.values(name)
        if len(values) != num_images:
            raise document.refusal(f"{name} has {len(values)} numbers for {num_images} images", name)
        numbers = [math.inf if value is None else value for value in values]
        if not all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in numbers):
            raise document.refusal(f"{name} holds something that is no number", name)
        return np.array(numbers, float)

    return FormatCosts(
        is_exact=document.flag("is_exact"),
        bytes=column("bytes"),
        decode_seconds=column("decode_seconds"),
        encode_seconds=column("encode_seconds"),
        ms_ssim=column("ms_ssim"),
        psnr=column("psnr"),
    )
