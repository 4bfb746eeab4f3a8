"""`SampleIndex`: the samples of a folder, an archive, a manifest or a dataset, by id.

Build, profile, export and the loader all read this object. It holds columns and no Python object per sample; pixels are
read when a sample is asked for.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from penstock.codecs import DecodeOptions, codec_for
from penstock.errors import ArgumentError, PenstockError
from penstock.index.fields import Field
from penstock.index.file_names import FileNames
from penstock.index.image_columns import ImageColumns
from penstock.index.selection import Ids, Subset, chosen_ids
from penstock.storage import Store
from penstock.types import Pixels

if TYPE_CHECKING:
    import pyarrow as pa

I = TypeVar("I", bound="SampleIndex")  # noqa: E741


class SampleIndex(ABC):
    """Samples by position: a map-style dataset for torch, and columns for everything else.

    `index[i]` is a dict with `id`, `key`, `split` (if there are splits), every column, and every image decoded. Splits
    and subsets are cheap copies that share the opened columns. An index can be pickled and used after a fork: no file
    stays open.

    >>> import pathlib, tempfile, penstock
    >>> import numpy as np
    >>> folder = tempfile.TemporaryDirectory()
    >>> for name in ("cat/1.png", "cat/2.png", "dog/1.png"):
    ...     place = pathlib.Path(folder.name, name)
    ...     place.parent.mkdir(exist_ok=True)
    ...     _ = place.write_bytes(penstock.encode(np.zeros((4, 5, 3), np.uint8), "png"))
    >>> index = penstock.open(folder.name)
    >>> len(index), index.class_to_idx, index.targets.tolist(), index[2]["key"], index[2]["image"].shape
    (3, {'cat': 0, 'dog': 1}, [0, 0, 1], 'dog/1.png', (4, 5, 3))
    >>> folder.cleanup()
    """

    place: str
    """Path of the source or dataset."""
    kind: str
    """Kind of source, such as "folder" or "dataset"."""
    left_out: Mapping[str, int]
    """Files and fields that are not part of the samples, with their number."""
    _ids: Ids | None = None

    @property
    @abstractmethod
    def num_samples(self) -> int:
        """The number of all samples, whatever is selected."""

    @property
    @abstractmethod
    def fields(self) -> tuple[Field, ...]:
        """Fields of a sample: image fields, `image` first, then columns."""

    @property
    @abstractmethod
    def splits(self) -> tuple[str, ...]:
        """Names that `split` takes, sorted."""

    @property
    @abstractmethod
    def files(self) -> FileNames:
        """Files that hold the images."""

    @property
    @abstractmethod
    def fingerprint(self) -> str:
        """A text that is equal for equal samples in the same order; part of a loader's state."""

    @property
    def store(self) -> Store | None:
        """The store that holds the files; None if they are files of a local disk."""
        return None

    @abstractmethod
    def locations(self, field: str = "image") -> ImageColumns:
        """Return where the bytes of an image field lie: arrays by id, for all samples whatever is selected."""

    @abstractmethod
    def _column(self, name: str) -> pa.Array:
        """Return a column for all samples; raises `ArgumentError` if it does not exist."""

    @abstractmethod
    def _read(self, sample_id: int, field: str, fidelity: int | None) -> bytes:
        """Return the bytes of an image; b"" if the sample has none."""

    @property
    @abstractmethod
    def sizes(self) -> npt.NDArray[np.int64]:
        """Encoded bytes of each sample's images, by id, for all samples."""

    @property
    def ids(self) -> Ids:
        """The id of the sample at each position."""
        return np.arange(self.num_samples) if self._ids is None else self._ids

    @property
    def selection(self) -> Ids | None:
        """Ids of the selected samples; None if all are selected."""
        return self._ids

    @property
    def image_fields(self) -> tuple[Field, ...]:
        """Fields that hold images, `image` first."""
        return tuple(field for field in self.fields if field.is_image)

    @property
    def formats(self) -> tuple[str, ...]:
        """Formats of the field `image` in a dataset; empty for other sources, whose files may be of any format."""
        return self.fields[0].formats

    @property
    def classes(self) -> tuple[str, ...] | None:
        """Names of the labels, if there are any."""
        return next((field.classes for field in self.fields if field.name == "label"), None)

    @property
    def class_to_idx(self) -> dict[str, int]:
        """The label of each class name; empty without class names."""
        return {name: number for number, name in enumerate(self.classes or ())}

    @property
    def targets(self) -> npt.NDArray[np.int64]:
        """Labels of the selected samples, -1 where a sample has none. Raises `ArgumentError` without labels."""
        labels = self._labels
        return labels if self._ids is None else labels[self._ids]

    @cached_property
    def _labels(self) -> npt.NDArray[np.int64]:
        import pyarrow as pa

        column = self._column("label")
        if not pa.types.is_integer(column.type):
            raise ArgumentError(
                f"the labels are of type {column.type}, not class numbers",
                where=self.place,
                fix='read them with `column("label")`',
                code=100,
            )
        return np.asarray(column.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64))

    @cached_property
    def split_numbers(self) -> npt.NDArray[np.int16]:
        """The split of each sample by id, as an index into `splits`; -1 for samples in none."""
        numbers = np.full(self.num_samples, -1, np.int16)
        if self.splits:
            found = np.asarray(self._column("split").to_numpy(zero_copy_only=False))
            for number, name in enumerate(self.splits):
                numbers[found == name] = number
        return numbers

    @property
    def columns(self) -> pa.Table:
        """All columns of the selected samples as an Arrow table. For one column use `column`."""
        import pyarrow as pa

        columns = [field.name for field in self.fields if not field.is_image]
        names = ["key", *(["split"] if self.splits else []), *columns]
        return pa.table({name: self.column(name) for name in names})

    def column(self, name: str) -> pa.Array:
        """Return one column (`key`, `split`, `label`…) for the selected samples."""
        column = self._column(name)
        return column if self._ids is None else column.take(self._ids)

    def split(self: I, name: str) -> I:
        """Select the samples of a split."""
        return self._narrowed(self._ids_of_split(name))

    def subset(self: I, ids: Sequence[int] | Ids) -> I:
        """Select samples by id, in this order; ids may repeat, and must be in the selection."""
        chosen = np.asarray(ids, np.int64).reshape(-1)
        allowed = np.zeros(self.num_samples, bool)
        allowed[self.ids] = True
        wrong = (chosen < 0) | (chosen >= self.num_samples)
        wrong |= ~allowed[np.where(wrong, 0, chosen)]
        if wrong.any():
            raise ArgumentError(
                f"sample {int(chosen[np.argmax(wrong)])} is not here", where=self.place, fix="choose from `ids`"
            )
        return self.selected(chosen)

    def select(self, split: str | None, subset: Subset | None) -> Ids | None:
        """Return the ids of a split and a part of it, ascending; None means all samples.

        A slice counts within the split; a mask has one entry per sample of the index; a list holds ids.
        """
        if self._ids is None and split is None and subset is None:
            return None
        of_split = None if split is None else self._ids_of_split(split)
        return chosen_ids(self.num_samples, self._ids, of_split, subset)

    def selected(self: I, ids: Ids | None) -> I:
        """Return a copy with these samples selected, unchecked; None selects all."""
        other = copy.copy(self)
        other._ids = ids
        return other

    def read(self, position: int, field: str = "image", *, fidelity: int | None = None) -> bytes:
        """Return the stored bytes of an image; b"" if the sample has none.

        A dataset's bytes are checked against their checksum. For images in a format that stores several fidelities
        (`pjpeg`, `sluice:layers=2`), `fidelity` is the number of scans or layers, rounded up to the next
        that is stored; None is all of them.
        """
        return self._read(self._id_at(position), field, fidelity)

    def __len__(self) -> int:
        """Return the number of selected samples; `num_samples` counts all of them."""
        return self.num_samples if self._ids is None else len(self._ids)

    def __getitem__(self, position: int) -> dict[str, Any]:
        """Return the sample at a position: `id`, `key`, `split`, its columns, and its images decoded."""
        return self._sample(self._id_at(position))

    def __getitems__(self, positions: Sequence[int]) -> list[dict[str, Any]]:
        """Return several samples; torch's DataLoader asks for batches with it."""
        return [self[position] for position in positions]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return (self[position] for position in range(len(self)))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} '{self.place}': {len(self)} samples, {', '.join(self.formats) or self.kind}>"

    def _sample(self, sample_id: int) -> dict[str, Any]:
        sample: dict[str, Any] = {"id": sample_id, "key": self._column("key")[sample_id].as_py()}
        if self.splits:
            sample["split"] = self._column("split")[sample_id].as_py()
        for field in self.fields:
            if not field.is_image:
                sample[field.name] = self._column(field.name)[sample_id].as_py()
            elif field.role == "source":
                sample[field.name] = self._read(sample_id, field.name, None)
            else:
                sample[field.name] = self._decode(sample_id, field)
        return sample

    def _decode(self, sample_id: int, field: Field) -> Pixels | None:
        data = self._read(sample_id, field.name, None)
        if not data:
            return None
        try:
            codec = codec_for(data)
            return codec.decode(data, DecodeOptions(palette="indices" if field.role == "mask" else "colours"))
        except PenstockError as error:
            raise error.within(f"{field.name} of sample {sample_id} in {self.place}") from error

    def _id_at(self, position: int) -> int:
        count = len(self)
        if not -count <= position < count:
            raise IndexError(f"position {position} of {count} samples")
        position %= count
        return position if self._ids is None else int(self._ids[position])

    def _ids_of_split(self, name: str) -> Ids:
        if name not in self.splits:
            known = ", ".join(repr(split) for split in self.splits) or "none: leave split out"
            raise ArgumentError(f"there is no split {name!r}", where=self.place, fix=f"splits here: {known}", code=100)
        return np.flatnonzero(self.split_numbers == self.splits.index(name))

    def _narrowed(self: I, ids: Ids) -> I:
        """Select what is selected already and among these ids."""
        return self.selected(ids if self._ids is None else self._ids[np.isin(self._ids, ids)])
