"""Data of the campaign: real images repeated under new names, built once in each format."""

from __future__ import annotations

import shutil
from hashlib import blake2b
from pathlib import Path

import numpy as np

from bench.campaign.settings import Corpus
from bench.campaign.views import make_view
from bench.corpus import files_of
from penstock.build import build
from penstock.build.assignment import assign_formats
from penstock.profile import Profile, read_profile, write_profile
from penstock.profile.measure import ProfileOptions, measure
from penstock.records import Dataset
from penstock.records.manifest import FILE_NAME
from penstock.types import Floats

FILES_PER_FOLDER = 500
RIVAL_FILES = 1000
"""Rivals are slow, and read from the page cache: fewer files do."""


class Data:
    """One corpus in a work folder: its files, its builds, views over them, its profile. Whatever exists is kept."""

    def __init__(self, corpus: Corpus, work: Path, num_files: int) -> None:
        self.corpus = corpus
        self.folder = work / f"{corpus.name}-{num_files}"
        self.num_files = num_files

    def prepare(self) -> None:
        """Copy and build what is missing."""
        self.copy_files()
        for format in self.corpus.formats:
            path = self.build_path(format)
            if not (path / FILE_NAME).exists():
                print(f"  building {path.name}", flush=True)
                build(self.images, path, mix=f"{format}=1")
        if self.num_files > RIVAL_FILES:
            Data(self.corpus, self.folder.parent, RIVAL_FILES).copy_files()

    @property
    def images(self) -> Path:
        """The folder of images."""
        return self.folder / "images"

    @property
    def builds(self) -> dict[str, Path]:
        """Datasets of one format, by format."""
        return {format: self.build_path(format) for format in self.corpus.formats}

    @property
    def source_bytes(self) -> int:
        """Bytes of all images in the source."""
        return int(Dataset(self.build_path(self.corpus.source)).locations().length.sum())

    def build_path(self, format: str) -> Path:
        """Return the path of the dataset of one format."""
        return self.folder / f"{format.replace(':', '-')}.pen"

    def copy_files(self) -> None:
        """Copy files with their own blocks, because a link would be read once and served to all."""
        done = self.folder / "copied"
        if done.exists():
            return
        print(f"  copying {self.num_files} files", flush=True)
        files = files_of(self.corpus.files)
        for number in range(self.num_files):
            file = files[number % len(files)]
            place = self.images / f"part{number // FILES_PER_FOLDER:03d}"
            place.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, place / f"{number:06d}{file.suffix.lower()}")
        done.touch()

    @property
    def profile_path(self) -> Path:
        """Remove it to profile again."""
        return self.folder / "profile.json"

    def profile(self) -> Profile:
        """Profile that was measured once, before anything that it predicts."""
        path = self.profile_path
        if not path.exists():
            print("  profiling", flush=True)
            wanted = ProfileOptions(
                on=self.folder, formats=",".join(self.corpus.formats), transform=self.corpus.transform
            )
            path.write_bytes(write_profile(measure(self.images, wanted)))
        return read_profile(path.read_bytes(), str(path))

    def mixed(self, first: str, second: str, share_of_second: float) -> Path:
        """Return a view with a seeded choice of samples in the second format, like `build --mix`."""
        chosen = assign_formats(np.arange(self.num_files), [1 - share_of_second, share_of_second], seed=0)
        name = f"{first}-{second}-{share_of_second:.4f}".replace(":", "-")
        return self.view(name, [(first, second)[number] for number in chosen])

    def view(self, name: str, chosen: list[str]) -> Path:
        """Return a view by name and content; sample i is in the format `chosen[i]`."""
        digest = blake2b(",".join(chosen).encode(), digest_size=4).hexdigest()
        return make_view(self.builds, chosen, self.folder / "views" / f"{name}-{digest}.pen")

    def features(self) -> tuple[Floats, Floats]:
        """Return pixels and source bytes of every sample, for a plan's rule."""
        found = Dataset(self.build_path(self.corpus.source)).locations()
        return found.width.astype(float) * found.height, found.length.astype(float)
