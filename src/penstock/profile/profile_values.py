"""Profile as values, and as the document of spec/profile.md."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from penstock.documents import Document, Json, is_finite, read_document, write_document
from penstock.profile.regression import Estimate, fit
from penstock.types import Floats

KIND = "penstock profile"
VERSION = 1
ENOUGH_TO_CORRECT = 16
"""Images: a regression on fewer says little."""

LARGEST_COST = 1e15
"""Most bytes or seconds of one image that a profile may state. Estimates of larger numbers overflow."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """Measured number with the quartiles of its repeats."""

    median: float
    low: float
    high: float

    @staticmethod
    def of(values: Sequence[float]) -> Measurement:
        """Summarize repeated measurements.

        >>> Measurement.of([3.0, 1.0, 2.0]).median
        2.0
        """
        low, median, high = np.quantile(np.asarray(values, float), [0.25, 0.5, 0.75])
        return Measurement(float(median), float(low), float(high))

    @staticmethod
    def exactly(value: float) -> Measurement:
        """Make a number that was given and not measured."""
        return Measurement(value, value, value)


@dataclass(frozen=True, slots=True)
class Disk:
    """Rates of the disk, and the CPU cost of reading."""

    bytes_per_second: Measurement
    reads_per_second: Measurement
    file_seconds: Measurement
    cpu_seconds_per_byte: float = 0.0
    cpu_seconds_per_read: float = 0.0
    page_bytes: int = 0
    """Records are read by whole pages of this size: about one page more than they hold."""
    depth: int = 1
    direct: bool = False
    seek_seconds: Measurement | None = None
    """Extra time of a random read over a sequential one, with other reads in flight; None if not measured."""
    probes: tuple[Mapping[str, Json], ...] = ()


@dataclass(frozen=True, slots=True)
class Dataset:
    """Facts about the source."""

    num_samples: int
    source_bytes: int
    num_labels: int
    source_format: str
    codecs: Mapping[str, float] = field(default_factory=dict)
    mean_pixels: float = 0.0
    """Mean pixels of all images, or of many more than were measured; 0 if unknown."""


@dataclass(frozen=True, slots=True)
class SampledImage:
    """Measured image, with the facts that a rule may know before decoding."""

    width: int
    height: int
    channels: int
    bits: int
    source_bytes: int

    @property
    def pixels(self) -> int:
        """Number of pixels: width times height."""
        return self.width * self.height


@dataclass(frozen=True, slots=True)
class FormatCosts:
    """Costs of the sampled images in one format, one number per image, in their order."""

    is_exact: bool
    bytes: Floats
    decode_seconds: Floats
    encode_seconds: Floats
    ms_ssim: Floats
    psnr: Floats
    pipeline: Measurement | None = None
    """CPU seconds of an image in the loader's own pipeline, all cores at work; None if it was not run."""


@dataclass(frozen=True, slots=True)
class Profile:
    """Machine, dataset, and the costs of each candidate format."""

    cpu: str
    simd: str
    cores: int
    memory_bytes: int
    scaling: tuple[tuple[int, Measurement], ...]
    disk: Disk
    dataset: Dataset
    images: tuple[SampledImage, ...]
    formats: Mapping[str, FormatCosts]
    compute: Measurement | None = None
    compute_from: str = "unknown"
    transform: str = "none"
    ranks: int = 1
    fidelities: Mapping[int, FormatCosts] = field(default_factory=dict)
    """Costs of `pjpeg` by number of scans, on the first images; empty if not measured."""
    layers: Mapping[int, FormatCosts] = field(default_factory=dict)
    """Costs of `sluice:layers=2` by number of layers, on the same images; empty if not measured."""
    busy_cores: Measurement | None = None
    """Cores that the loader's pipeline kept busy when nothing else held it up; None if it was not run."""
    damaged: Mapping[str, str] = field(default_factory=dict)
    """Sampled images that could not be decoded and were left out: what is wrong, by key."""

    @property
    def utilisation(self) -> float:
        """Share of the cores' time that a loader gets; the rest goes to kernel threads, queues and neighbours."""
        return min(1.0, self.busy_cores.median / self.cores) if self.busy_cores is not None else 1.0

    def speedup(self, cores: float) -> float:
        """Return the effective number of cores: linear between measured points, with the last slope beyond.

        Costs were measured with all cores busy, so that number counts fully; fewer cores disturb each other less.
        """
        return cores if cores == self.cores else self.cores * self._scaled(cores) / self._scaled(float(self.cores))

    def _scaled(self, cores: float) -> float:
        points = [(0.0, 0.0), *((float(threads), figure.median) for threads, figure in self.scaling)]
        if len(points) == 1:
            return cores
        if cores >= points[-1][0]:
            (x0, y0), (x1, y1) = points[-2:]
            return y1 + (cores - x1) * (y1 - y0) / (x1 - x0)
        return float(np.interp(cores, [x for x, _ in points], [y for _, y in points]))

    def estimates(self, name: str) -> tuple[Estimate, Estimate]:
        """Return estimates of bytes and decode seconds for unseen images in a format."""
        pixels = np.array([image.pixels for image in self.images], float)
        source_bytes = np.array([image.source_bytes for image in self.images], float)
        costs = self.formats[name]
        return fit(pixels, source_bytes, costs.bytes), fit(pixels, source_bytes, costs.decode_seconds)

    def corrections(self, name: str) -> tuple[float, float]:
        """Return the ratios of mean bytes and decode seconds of all images to those of the sampled ones, about 1.

        This is the regression estimator of a mean: sampled images are slightly smaller or larger than all images. The
        difference is known, because the sizes of all files, and the pixels of very many, are known.
        """
        if self.dataset.mean_pixels == 0 or len(self.images) < ENOUGH_TO_CORRECT:
            return 1.0, 1.0
        pixels = np.array([self.dataset.mean_pixels])
        source_bytes = np.array([self.dataset.source_bytes / self.dataset.num_samples])
        costs = self.formats[name]
        found = []
        for estimate, values in zip(self.estimates(name), (costs.bytes, costs.decode_seconds), strict=True):
            mean = float(np.mean(values))
            found.append(min(2.0, max(0.5, float(estimate.of(pixels, source_bytes)[0]) / mean)) if mean > 0 else 1.0)
        return found[0], found[1]


def write_profile(profile: Profile) -> bytes:
    """Serialize a profile."""
    busy_cores: dict[str, Json] = {"busy_cores": _figure(profile.busy_cores)} if profile.busy_cores is not None else {}
    members: dict[str, Json] = {
        "kind": KIND,
        "version": VERSION,
        "machine": {
            "cpu": profile.cpu,
            "simd": profile.simd,
            "cores": profile.cores,
            "memory_bytes": profile.memory_bytes,
            **busy_cores,
        },
        "scaling": [{"threads": threads, "speedup": _figure(figure)} for threads, figure in profile.scaling],
        "disk": _write_disk(profile.disk),
        "dataset": {
            "num_samples": profile.dataset.num_samples,
            "source_bytes": profile.dataset.source_bytes,
            "num_labels": profile.dataset.num_labels,
            "source_format": profile.dataset.source_format,
            "codecs": dict(profile.dataset.codecs),
            "mean_pixels": profile.dataset.mean_pixels,
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
        "fidelities": {str(scans): _write_costs(costs) for scans, costs in sorted(profile.fidelities.items())},
        "layers": {str(layers): _write_costs(costs) for layers, costs in sorted(profile.layers.items())},
        "compute": {"from": profile.compute_from}
        | ({"images_per_second": _figure(profile.compute)} if profile.compute is not None else {}),
        "transform": profile.transform,
        "ranks": profile.ranks,
    }
    if profile.damaged:
        members["damaged"] = dict(profile.damaged)
    return write_document(members)


def read_profile(data: bytes, where: str = "") -> Profile:
    """Read a profile. Raise ArgumentError with the place of an error."""
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
            mean_pixels=dataset.number("mean_pixels", minimum=0),
        ),
        images=images,
        formats={name: _read_format(item, len(images)) for name, item in document.children("formats")},
        compute=_read_figure(compute.child("images_per_second")) if "images_per_second" in compute else None,
        compute_from=compute.text("from"),
        transform=document.text("transform"),
        ranks=document.integer("ranks", minimum=1),
        fidelities=_read_fidelities(document, "fidelities"),
        layers=_read_fidelities(document, "layers"),
        busy_cores=_read_figure(machine.child("busy_cores")) if "busy_cores" in machine else None,
        damaged=_read_damaged(document),
    )


def _figure(figure: Measurement) -> dict[str, Json]:
    return {"median": figure.median, "low": figure.low, "high": figure.high}


def _read_figure(document: Document) -> Measurement:
    return Measurement(*(document.number(name, minimum=0) for name in ("median", "low", "high")))


def _write_disk(disk: Disk) -> dict[str, Json]:
    seeking: dict[str, Json] = {} if disk.seek_seconds is None else {"seek_seconds": _figure(disk.seek_seconds)}
    return seeking | {
        "bytes_per_second": _figure(disk.bytes_per_second),
        "reads_per_second": _figure(disk.reads_per_second),
        "file_seconds": _figure(disk.file_seconds),
        "cpu_seconds_per_byte": disk.cpu_seconds_per_byte,
        "cpu_seconds_per_read": disk.cpu_seconds_per_read,
        "page_bytes": disk.page_bytes,
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
        cpu_seconds_per_read=document.number("cpu_seconds_per_read", minimum=0),
        page_bytes=document.integer("page_bytes"),
        depth=document.integer("depth", minimum=1),
        direct=document.flag("direct"),
        seek_seconds=_read_figure(document.child("seek_seconds")) if "seek_seconds" in document else None,
        probes=tuple(item.members for item in document.items("probes")),
    )


def _read_image(document: Document) -> SampledImage:
    return SampledImage(
        *(document.integer(name, minimum=1) for name in ("width", "height", "channels", "bits", "source_bytes"))
    )


def _write_format(profile: Profile, name: str) -> dict[str, Json]:
    costs = profile.formats[name]
    size, seconds = profile.estimates(name)
    estimates: dict[str, Json] = {"estimates": {"bytes": size.as_dict(), "decode_seconds": seconds.as_dict()}}
    return (
        _write_costs(costs)
        | estimates
        | ({"pipeline_seconds": _figure(costs.pipeline)} if costs.pipeline is not None else {})
    )


def _write_costs(costs: FormatCosts) -> dict[str, Json]:
    return {
        "is_exact": costs.is_exact,
        "bytes": [round(value) for value in costs.bytes],
        "decode_seconds": costs.decode_seconds.tolist(),
        "encode_seconds": costs.encode_seconds.tolist(),
        "ms_ssim": costs.ms_ssim.tolist(),
        "psnr": [value if math.isfinite(value) else None for value in costs.psnr.tolist()],
    }


def _read_damaged(document: Document) -> dict[str, str]:
    if "damaged" not in document:
        return {}
    found = document.child("damaged")
    return {name: found.text(name) for name in found.members}


def _read_fidelities(document: Document, member: str) -> dict[int, FormatCosts]:
    if member not in document:
        return {}
    found = {}
    for number, item in document.children(member):
        if not number.isdecimal():
            raise item.refusal(f"{number!r} is no number of scans or layers", member)
        found[int(number)] = _read_format(item, len(item.values("bytes")))
    return found


def _read_format(document: Document, num_images: int) -> FormatCosts:
    def column(name: str) -> Floats:
        values = document.values(name)
        if len(values) != num_images:
            raise document.refusal(f"{name} has {len(values)} numbers for {num_images} images", name)
        if not all(_is_number(value) or (value is None and name == "psnr") for value in values):
            raise document.refusal(f"{name} holds something that is no number", name)
        return np.array([math.inf if value is None else value for value in values], float)

    def costs(name: str) -> Floats:
        values = column(name)
        if not bool(np.all((values >= 0) & (values <= LARGEST_COST))):
            raise document.refusal(f"{name} holds a number below 0 or above {LARGEST_COST:g}", name)
        return values

    return FormatCosts(
        is_exact=document.flag("is_exact"),
        bytes=costs("bytes"),
        decode_seconds=costs("decode_seconds"),
        encode_seconds=costs("encode_seconds"),
        ms_ssim=column("ms_ssim"),
        psnr=column("psnr"),
        pipeline=_read_figure(document.child("pipeline_seconds")) if "pipeline_seconds" in document else None,
    )


def _is_number(value: Json) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and is_finite(value)
