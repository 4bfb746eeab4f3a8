"""Manifest of images: a CSV, TSV or JSON-lines table of paths and fields, one row per sample.

path,label,split,mask                      {"path": "a/1.jpg", "label": "cat", "boxes": [[0, 0, 31, 17]]}
a/1.jpg,cat,train,masks/1.png              {"path": "a/2.jpg", "label": "dog", "boxes": []}

Paths are relative to the manifest, and lead to files inside its folder unless the user allows others. A manifest that
came with downloaded images could otherwise name private files, which would be copied into the dataset.

Special columns are the image (`path`, `image`, `file_name`…), `label`, `split` and `key` (by default the path). Labels
are numbers, or names that are numbered in sorted order or in the order of classes.txt next to the manifest. A column
whose values all end like images is an image field. In JSON, an image may also be an object such as
{"path": "masks/1.png", "role": "mask"}; then only such columns are images.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from penstock.errors import SourceError
from penstock.index import ABSENT, ImageColumns, Listing, Role
from penstock.sources.assemble import assemble, read_classes
from penstock.sources.files import FileFacts, facts_in
from penstock.sources.names import ending_of, field_name, image_endings, role_of
from penstock.sources.probe import Probe
from penstock.sources.rows import Rows, read_rows
from penstock.sources.source import FilesOnly
from penstock.storage import StorePath

if TYPE_CHECKING:
    import pyarrow as pa

ENDINGS = (".csv", ".tsv", ".jsonl", ".ndjson")
IN_FOLDERS = ("manifest.jsonl", "manifest.csv", "metadata.jsonl", "metadata.csv")
"""Names of manifests that a folder may contain; the last two are those of Hugging Face."""
IMAGE_COLUMNS = ("image", "path", "image_path", "file_name", "filename", "file")
PATH_ENDINGS = ("_path", "_file", "_file_name", "_filename")


class ManifestSource(FilesOnly):
    """File of rows, or a folder with one of well-known name."""

    kind = "manifest"

    def __init__(self, path: Path | StorePath, *, allow_outside: bool = False) -> None:
        """Open a manifest. `allow_outside` permits paths that lead out of its folder, by `..` or from the root."""
        place = StorePath.of(path)
        inside = [name for name in IN_FOLDERS if (place / name).is_object()] if place.is_folder() else [""]
        found = [place / name if name else place for name in inside]
        if not found:
            raise SourceError(
                "the folder holds no manifest",
                where=str(place),
                fix=f"name the file: {', '.join(IN_FOLDERS)}…",
                code=620,
            )
        self._place = found[0]
        self.path = path / inside[0] if inside[0] else path
        self._allow_outside = allow_outside
        self._facts: list[FileFacts] = []

    @classmethod
    def detects(cls, probe: Probe) -> bool:
        """Return whether the path is such a file, or a folder that has one."""
        if probe.is_folder:
            return any(probe.named(name) for name in IN_FOLDERS)
        return probe.has(*ENDINGS)

    def listing(self) -> Listing:
        """Read all rows, and check that their files exist."""
        rows = read_rows(self._place)
        columns = dict(rows.columns)
        fields = self._fields(columns, rows.images)
        # Paths are read by the build; where the files lie is nobody's business afterwards.
        paths = {field: _texts(columns.pop(column), rows, column) for field, column in fields.items()}
        keys = _texts(columns.pop("key"), rows, "key") if "key" in columns else None
        files, places = self._look_at(paths, rows)
        done = assemble(columns, fields=list(fields), classes=read_classes(self._place.parent), where=str(self.path))
        key_column = self._keys(keys, paths["image"], rows)
        return Listing(
            keys=key_column,
            roles={field: self._role(rows.images.get(column, ""), field) for field, column in fields.items()},
            images=places,
            files=files,
            store=self._place.foreign_store,
            splits=done.splits,
            columns=done.columns,
            classes=done.classes,
        )

    def state(self) -> bytes:
        """Return sizes and times of the manifest and, once they were read, of its files."""
        return b"".join(facts.state() for facts in (self._own_facts(), *self._facts))

    def _own_facts(self) -> FileFacts:
        return facts_in(self._place.parent, [self._place.name.rpartition("/")[2]])

    def _fields(self, columns: dict[str, pa.Array], told: Mapping[str, str]) -> dict[str, str]:
        """Return image fields with their columns, `image` first: marked ones, else those that look like images."""
        if told:
            image = self._image_column({name: columns[name] for name in told})
            return {"image": image, **{field_name(name): name for name in told if name != image}}
        image = self._image_column(columns)
        return {"image": image, **_further_images(columns, image)}

    def _role(self, told: str, field: str) -> Role:
        if not told:
            return Role.IMAGE if field == "image" else role_of(field)
        if told not in (role.value for role in Role):
            known = ", ".join(role.value for role in Role)
            raise SourceError(f"there is no role '{told}'", where=str(self.path), fix=f"choose of: {known}", code=620)
        return Role(told)

    def _image_column(self, columns: dict[str, pa.Array]) -> str:
        for name in IMAGE_COLUMNS:
            if name in columns:
                return name
        likely = [name for name, column in columns.items() if _is_images(column)]
        if len(likely) == 1:
            return likely[0]
        raise SourceError(
            "no column holds the paths of the images"
            if not likely
            else f"each of {', '.join(likely)} may be the image",
            where=str(self.path),
            fix=f"name one of the columns ({', '.join(columns) or 'there is none'}) 'path' or 'image'",
            code=620,
        )

    def _look_at(self, paths: dict[str, list[str | None]], rows: Rows) -> tuple[list[bytes], dict[str, ImageColumns]]:
        """Return the files of all fields, and the position of each sample's file."""
        root = self._place.parent
        files: list[bytes] = []
        places: dict[str, ImageColumns] = {}
        for field, values in paths.items():
            present = [row for row, value in enumerate(values) if value]
            if field == "image" and len(present) < len(values):
                missing = next(row for row, value in enumerate(values) if not value)
                raise SourceError("a row has no image", where=rows.where(missing), fix="fill in its path", code=620)
            found = [self._file(str(values[row]), rows, row) for row in present]
            facts = facts_in(root, found, lambda index, present=present: rows.where(present[index]))  # type: ignore[misc]
            self._facts.append(facts)
            file = np.full(len(values), ABSENT, np.int32)
            length = np.zeros(len(values), np.int64)
            file[present] = np.arange(len(files), len(files) + len(present))
            length[present] = facts.sizes
            places[field] = ImageColumns.of_files(file, length)
            files += root.references(found)
        return files, places

    def _file(self, path: str, rows: Rows, row: int) -> str:
        """Return the file that a path of the manifest names, relative to the manifest's folder if it is inside."""
        local = self._place.parent.local
        if self._allow_outside and local is not None:
            return path
        root = os.fspath(local) if local is not None else f"/{self._place.parent.name}"
        # Without `..`, so that the system cannot follow a link first and go up from there.
        inner = os.path.relpath(path, os.path.abspath(root)) if path.startswith("/") else os.path.normpath(path)  # noqa: PTH100
        if inner == ".." or inner.startswith("../"):
            raise SourceError(
                f"'{path}' leads out of the manifest's folder",
                where=rows.where(row),
                fix="put the manifest into a folder above its images; or, if you trust it to name any file that you "
                "may read, allow it: --allow-outside (BuildOptions.allow_outside)",
                code=622,
            )
        return inner

    def _keys(self, keys: list[str | None] | None, paths: Sequence[str | None], rows: Rows) -> pa.Array:
        import pyarrow as pa

        named = keys if keys is not None else relative_keys([str(path) for path in paths], str(self._place.parent))
        first: dict[str, int] = {}
        for row, key in enumerate(named):
            if not key:
                raise SourceError("a row has an empty key", where=rows.where(row), fix="fill it in", code=620)
            earlier = first.setdefault(key, row)
            if earlier != row:
                raise SourceError(
                    f"two rows have the key '{key}'",
                    where=f"{rows.where(row)}, and {rows.place(earlier)}",
                    fix="remove one of them, or give them keys of their own in a column 'key'",
                    code=620,
                )
        return pa.array(named, pa.string())


def relative_keys(paths: list[str], root: str) -> list[str]:
    """Convert paths to keys: relative to the manifest, or to the folder that holds all of them.

    >>> relative_keys(["a/1.jpg", "./b//2.jpg"], "/data")
    ['a/1.jpg', 'b/2.jpg']
    >>> relative_keys(["../images/1.jpg", "/data/images/b/2.jpg"], "/data/labels")
    ['1.jpg', 'b/2.jpg']
    """
    plain = [os.path.normpath(path) for path in paths]
    if any(path.startswith(("../", "/")) for path in plain):
        whole = [os.path.normpath(os.path.join(os.path.abspath(root), path)) for path in plain]  # noqa: PTH100, PTH118
        base = os.path.commonpath([os.path.dirname(path) for path in whole])  # noqa: PTH120
        plain = [os.path.relpath(path, base) for path in whole]
    return plain


def _further_images(columns: dict[str, pa.Array], image: str) -> dict[str, str]:
    """Return other image fields with their columns."""
    fields: dict[str, str] = {}
    for name, column in columns.items():
        if name in (image, "key", "label", "split") or not _is_images(column):
            continue
        field = next((name.removesuffix(ending) for ending in PATH_ENDINGS if name.endswith(ending)), name)
        fields[field_name(name if field in fields or field in columns else field)] = name
    return fields


def _is_images(column: pa.Array) -> bool:
    """Return whether all values end like images."""
    import pyarrow as pa

    if not pa.types.is_string(column.type):
        return False
    endings = image_endings()
    values = [value for value in column.to_pylist() if value]
    return bool(values) and all(ending_of(value) in endings for value in values)


def _texts(column: pa.Array, rows: Rows, name: str) -> list[str | None]:
    import pyarrow as pa

    if pa.types.is_integer(column.type) or pa.types.is_null(column.type):
        column = column.cast(pa.string())
    if not pa.types.is_string(column.type):
        raise SourceError(f"column '{name}' holds no text", where=rows.where(0), fix="give paths as text", code=620)
    values: list[str | None] = column.to_pylist()
    return values
