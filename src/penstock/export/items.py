"""Files of an export, collected for the native threads."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from penstock import _native
from penstock.codecs import Format
from penstock.export.images import FieldImages
from penstock.types import OnProgress

POLL_SECONDS = 0.1
ABSENT = -1


@dataclass(slots=True)
class Items:
    """Texts and images in the order in which they are written."""

    names: list[bytes] = field(default_factory=list)
    texts: list[bytes] = field(default_factory=list)
    images: list[tuple[FieldImages, int] | None] = field(default_factory=list)

    def add_text(self, name: str, text: bytes) -> None:
        """Add a file with this content."""
        self.names.append(name.encode())
        self.texts.append(text)
        self.images.append(None)

    def add_image(self, name: str, images: FieldImages, position: int) -> None:
        """Add the image of a sample."""
        self.names.append(name.encode())
        self.texts.append(b"")
        self.images.append((images, position))

    def plan(self, files: _native.SourceFiles, target: Format, max_pixels: int) -> _native.ExportPlan:
        """Convert the items to a plan for the native threads."""
        columns = (
            self._column("file", np.int32, ABSENT),
            self._column("offset", np.int64),
            self._column("length", np.int64),
            self._column("checksum", np.uint32),
            self._column("metadata_length", np.int64),
            self._column("way", np.uint8),
        )
        pieces = self._pieces()
        parameters = list(target.parameters)
        return _native.ExportPlan(files, self.names, self.texts, columns, pieces, target.codec, parameters, max_pixels)

    def _pieces(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        none = np.empty(0, np.int64)
        found = [none if image is None else image[0].pieces(image[1]) for image in self.images]
        return np.array([len(pieces) // 2 for pieces in found], np.int64), np.concatenate([none, *found])

    def _column(self, name: str, dtype: type, of_texts: int = 0) -> npt.NDArray[Any]:
        values = (of_texts if image is None else getattr(image[0], name)[image[1]] for image in self.images)
        return np.fromiter(values, dtype, len(self.images))


def wait(exporting: _native.Exporting, on_progress: OnProgress, done: int, total: int, per_sample: float) -> None:
    """Wait for a job and report progress; an interrupt ends the job first."""
    job = exporting.job
    try:
        while not job.wait(POLL_SECONDS):
            on_progress("writing", done + int(job.num_done / per_sample), total)
    except BaseException:
        job.cancel()
        while not job.wait(POLL_SECONDS):  # files under way are still written; their folder goes after them
            pass
        raise
    job.finish()
    on_progress("writing", done + int(job.num_tasks / per_sample), total)
