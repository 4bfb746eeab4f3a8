"""The settings of the campaign: two datasets, three disks, with and without a cache."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.limits import Limits


@dataclass(frozen=True, slots=True)
class Corpus:
    """Real images, and what is done to them."""

    name: str
    files: str
    """Name of the files in `bench.corpus`."""
    source: str
    """The format that keeps their bytes."""
    transform: str
    job: str
    """The same, as rivals call it."""

    @property
    def formats(self) -> tuple[str, ...]:
        """Formats that are built, each once; mixes are views over these."""
        return (self.source, "raw", "weir:fast", "weir:dense", *(("sluice",) if self.source == "jpeg" else ()))


CORPORA = {
    "cityscapes": Corpus("cityscapes", "cityscapes", "png", "none", "full"),
    "imagenet": Corpus("imagenet", "imagenet", "jpeg", "train224", "train224"),
}
DISKS = (60, 200, 800)
CACHED = (0.0, 0.3)


@dataclass(frozen=True, slots=True)
class Setting:
    """A dataset on a machine."""

    corpus: Corpus
    disk_megabytes: int
    """Rate in MB/s, enforced by a control group."""
    cached: float
    """Memory for the cache, as a share of the source's bytes."""

    @property
    def name(self) -> str:
        """Name as `--setting` takes it: `cityscapes-60-0`.

        >>> Setting(CORPORA["imagenet"], 200, 0.3).name
        'imagenet-200-30'
        """
        return f"{self.corpus.name}-{self.disk_megabytes}-{round(self.cached * 100)}"

    @property
    def disk_bytes_per_second(self) -> float:
        """Rate in bytes per second, as the kernel counts."""
        return self.disk_megabytes * 1e6

    @property
    def limits(self) -> Limits:
        """Limits for a control group."""
        return Limits(disk_bytes_per_second=self.disk_bytes_per_second)


SETTINGS = tuple(Setting(corpus, disk, cached) for corpus in CORPORA.values() for disk in DISKS for cached in CACHED)


def chosen(names: str) -> list[Setting]:
    """Return settings whose names begin with one of these words; all for an empty text."""
    return [setting for setting in SETTINGS if any(setting.name.startswith(word) for word in names.split(","))]
