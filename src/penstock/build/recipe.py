"""Recipe of a dataset: the format and order of its samples, and the target of every field."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

from penstock import _native
from penstock.build.assignment import write_order
from penstock.build.index_table import WrittenField
from penstock.build.options import BuildOptions
from penstock.build.rules import Features, Headers, Rules
from penstock.build.target import check_format, is_trained, keep_target, target_of
from penstock.codecs import Format, parse_format
from penstock.errors import ArgumentError
from penstock.index import ListedIndex
from penstock.index.source_files import source_files

SOURCE_FIELD = "source"
_NONE: npt.NDArray[np.int64] = np.empty(0, np.int64)


class Recipe:
    """Source, rules and options together: everything that affects the bytes of a dataset."""

    def __init__(self, index: ListedIndex, rules: Rules, options: BuildOptions, pool: _native.ThreadPool) -> None:
        self.index = index
        self.pool = pool
        self.rules = rules
        self.options = options
        self.files = source_files(index)
        self.field_formats = {**rules.field_formats, **options.field_formats()}
        for format in (*rules.formats, *self.field_formats.values()):
            check_format(format)
        self._check_fields()

    def with_places(self, index: ListedIndex) -> Recipe:
        """Return the same recipe with its bytes at other places: an index that was staged."""
        moved = Recipe(index, self.rules, self.options, self.pool)
        moved.__dict__["members"] = self.members  # lengths that staging found out are no part of what was asked for
        return moved

    @property
    def formats(self) -> tuple[Format, ...]:
        """Formats of the field `image`, in the order in which they are written."""
        return self.rules.formats

    @cached_property
    def members(self) -> dict[str, dict[str, object]]:
        """Members `source` and `recipe` of the manifest."""
        return {
            "source": {"kind": self.index.kind, "fingerprint": source_fingerprint(self.index)},
            "recipe": {
                **self.rules.recipe,
                **self.options.recipe(),
                "formats": {name: str(format) for name, format in sorted(self.field_formats.items())},
            },
        }

    @cached_property
    def identity(self) -> str:
        """Identity of the dataset, a hash of its recipe."""
        text = json.dumps(self.members, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:32]

    @cached_property
    def assigned(self) -> npt.NDArray[np.int32]:
        """Format number of each sample."""
        lengths = self.index.locations("image").length
        return self.rules.assign(Features(lengths, self.index.table, self._read_headers))

    @property
    def fallback(self) -> Format:
        """Format of JPEGs that `sluice` cannot restore."""
        return parse_format("jpeg")

    @property
    def writing_order(self) -> tuple[Format, ...]:
        """Formats except the fallback, which comes last if there is `sluice`: only then is its content known."""
        has_sluice = any(format.codec == "sluice" for format in self.formats)
        return tuple(format for format in self.formats if not has_sluice or format != self.fallback)

    def order(self, format: Format, further: Sequence[int] = ()) -> npt.NDArray[np.int64]:
        """Return the ranks of the samples in a format, and of further ones, in the order in which they are written."""
        ranks = np.flatnonzero(self.assigned == self.formats.index(format)) if format in self.formats else _NONE
        ranks = np.union1d(ranks, np.array(further, np.int64))
        return write_order(ranks, self.index.rows[ranks], self.options.seed, self.options.runs)

    def written_fields(self) -> list[WrittenField]:
        """Return the image fields in the order of a record."""
        fields = [
            WrittenField(name, str(self.field_formats[name]) if name in self.field_formats else None)
            for name in self.index.roles
        ]
        return [*fields, WrittenField(SOURCE_FIELD, None)] if self.options.keep_source else fields

    def targets(self, format: Format, tables: _native.SluiceTables | None = None) -> list[_native.Target]:
        """Return the target of each image field of the source; `tables` are those of `sluice` if it trains any."""
        targets = []
        for name, role in self.index.roles.items():
            wanted = format if name == "image" else self.field_formats.get(name)
            check, limit = self.options.check, (self.options.max_side, self.options.short_side)
            if wanted is None:
                targets.append(keep_target(role, check=check, limit=limit))
            else:
                targets.append(target_of(wanted, role, check=check, limit=limit))
            if tables is not None and name == "image" and is_trained(format):
                targets[-1].use_tables(tables.id)
        return targets

    def _read_headers(self) -> Headers:
        place = self.index.locations("image")
        inspecting = _native.inspect_sources(self.pool, self.files, (place.file, place.offset, place.length))
        inspecting.job.finish()
        width, height, channels, bits, codec = zip(*inspecting.headers(), strict=True)
        return Headers(
            np.array(width, np.int64),
            np.array(height, np.int64),
            np.array(channels, np.int64),
            np.array(bits, np.int64),
            np.array(codec, np.str_),
        )

    def _check_fields(self) -> None:
        further = [name for name in self.index.roles if name != "image"]
        unknown = sorted(set(self.field_formats) - set(further))
        if unknown:
            raise ArgumentError(
                f"no further image field is named '{unknown[0]}'",
                where="formats of fields",
                fix=f"choose of: {', '.join(further) or 'none'}; the formats of image are those of the mix",
                code=130,
            )
        if self.options.keep_source and SOURCE_FIELD in (*further, *self.index.table.column_names):
            raise ArgumentError("the source has a field 'source' of its own", where="keep_source", fix="rename it")


def source_fingerprint(index: ListedIndex) -> str:
    """Return a digest that is equal for sources with the same keys, columns and lengths, wherever they lie."""
    import pyarrow as pa

    digest = hashlib.sha256(index.kind.encode())
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, index.table.schema) as stream:
        stream.write_table(index.table)
    digest.update(sink.getvalue())
    for name, role in index.roles.items():
        found = index.locations(name)
        digest.update(f"{name} {role.value}".encode())
        digest.update(found.is_absent.tobytes())
        digest.update(found.length.tobytes())
    digest.update("\0".join(index.classes or ()).encode())
    return digest.hexdigest()
