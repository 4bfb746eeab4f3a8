"""What a build looks at before there is a dataset."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock import _native
from penstock.build import build
from penstock.build.publish import check_opens, publish_dataset
from penstock.errors import DatasetError, StorageError
from penstock.records.manifest import checksum_text
from penstock.storage import LockedStore, MemoryStore, StorePath
from penstock.types import Buffer
from tests.dataset_files import make_photos


def test_a_dataset_is_published_once_in_a_store_with_its_manifest_last(tmp_path: Path) -> None:
    build(make_photos(tmp_path / "photos", images=3), tmp_path / "data.pen", mix="weir:fast=1", durable=False)
    published: list[str] = []

    class Noting(MemoryStore):
        def publish(self, name: str, data: Buffer) -> None:
            published.append(name)
            super().publish(name, data)

    place = StorePath(Noting(), "sets/data.pen")
    publish_dataset(tmp_path / "data.pen", place)

    assert published[-2:] == ["sets/data.pen/index.parquet", "sets/data.pen/manifest.json"]
    assert all((place / name).read() == (tmp_path / "data.pen" / name).read_bytes() for name in place.tree().files)
    with pytest.raises(StorageError, match="exists already") as caught:
        publish_dataset(tmp_path / "data.pen", place)
    assert caught.value.code == 430


def test_a_build_replaces_nothing_that_was_published(tmp_path: Path) -> None:
    store = LockedStore(tmp_path, tmp_path, durable=True)
    store.publish("manifest.json", b"first")

    with pytest.raises(StorageError, match="exists already"):
        store.publish("manifest.json", b"second")

    assert (tmp_path / "manifest.json").read_bytes() == b"first"


def test_an_index_that_no_reader_takes_is_refused(tmp_path: Path) -> None:
    build(make_photos(tmp_path / "photos", images=3), tmp_path / "data.pen", mix="weir:fast=1", durable=False)
    manifest = (tmp_path / "data.pen" / "manifest.json").read_bytes()
    index = (tmp_path / "data.pen" / "index.parquet").read_bytes()
    check_opens(manifest, index, "here")

    table = pq.read_table(io.BytesIO(index))
    place = table.schema.names.index("image.metadata_length")
    field = table.schema.field(place)
    changed = table.set_column(place, field, pa.array([-5, 0, 0], field.type))
    file = io.BytesIO()
    pq.write_table(changed, file)
    members = json.loads(manifest)
    entry = {"file": "index.parquet", "bytes": len(file.getvalue())}
    members["index"] = {**entry, "checksum": checksum_text(_native.crc32c(file.getvalue()))}
    del members["checksum"]
    body = json.dumps(members, indent=2).removesuffix("\n}").encode()
    sealed = body + f',\n  "checksum": "{checksum_text(_native.crc32c(body))}"\n}}\n'.encode()

    with pytest.raises(DatasetError, match="image"):
        check_opens(sealed, file.getvalue(), "here")
