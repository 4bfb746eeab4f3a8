"""Datasets that are damaged or were written to harm: refused by name, by readers and by verify."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import penstock
from penstock import _native
from penstock.build import BuildOptions, build
from penstock.errors import DatasetError, PenstockError
from penstock.export import ExportOptions, export
from penstock.records import index, verify
from penstock.records.manifest import checksum_text
from tests.dataset_files import make_photos

Members = dict[str, object]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("hostile")
    make_photos(root / "photos", images=6, width=40, height=30)
    build(root / "photos", root / "data.pen", mix="weir:fast=0.5,png=0.5", options=BuildOptions(shard_bytes=8192))
    return root / "data.pen"


@pytest.fixture
def folder(whole: Path, tmp_path: Path) -> Path:
    shutil.copytree(whole, tmp_path / "data.pen")
    return tmp_path / "data.pen"


def seal(members: Members) -> bytes:
    """A manifest with these members and the right checksum: what an attacker would write."""
    members.pop("checksum", None)
    body = json.dumps(members, indent=2).removesuffix("\n}").encode()
    return body + f',\n  "checksum": "{checksum_text(_native.crc32c(body))}"\n}}\n'.encode()


def change_manifest(folder: Path, change: Callable[[Members], object]) -> None:
    members = json.loads((folder / "manifest.json").read_bytes())
    change(members)
    (folder / "manifest.json").write_bytes(seal(members))


def change_index(folder: Path, change: Callable[[pa.Table], pa.Table], compression: str = "snappy") -> None:
    """Another index, with a manifest that agrees to it."""
    table = change(pq.read_table(folder / "index.parquet"))
    pq.write_table(table, folder / "index.parquet", compression=compression, use_dictionary=False)
    data = (folder / "index.parquet").read_bytes()
    entry = {"file": "index.parquet", "bytes": len(data), "checksum": checksum_text(_native.crc32c(data))}
    change_manifest(folder, lambda members: members.update(index=entry))


def put(table: pa.Table, name: str, row: int, value: object) -> pa.Table:
    column = table.column(name).to_pylist()
    column[row] = value
    return table.set_column(table.schema.names.index(name), name, pa.array(column, table.schema.field(name).type))


def shard_entry(members: Members, **changes: object) -> None:
    shards = members["shards"]
    assert isinstance(shards, list)
    shards[0].update(changes)


MANIFESTS: dict[str, tuple[Callable[[Members], object], str]] = {
    "leaves the folder": (lambda m: shard_entry(m, file="shards/../../secret.shard"), "no name that a file"),
    "absolute path": (lambda m: shard_entry(m, file="/etc/passwd"), "no name that a file"),
    "other folder": (lambda m: shard_entry(m, file="elsewhere/a.shard"), "no name that a file"),
    "hidden name": (lambda m: shard_entry(m, file="shards/.a.shard"), "no name that a file"),
    "index elsewhere": (lambda m: m.update(index={**dict(m["index"]), "file": "../index.parquet"}), "no name"),  # type: ignore[call-overload]
    "other kind": (lambda m: m.update(kind="cake"), "'cake'"),
    "later version": (lambda m: m.update(version=2), "version 2"),
    "no shards": (lambda m: m.pop("shards"), "shards is missing"),
    "shards no list": (lambda m: m.update(shards={}), "shards"),
    "negative size": (lambda m: shard_entry(m, bytes=-1), "bytes is -1"),
    "size no number": (lambda m: shard_entry(m, bytes="many"), "bytes"),
    "odd checksum": (lambda m: shard_entry(m, checksum="md5:0"), "no checksum"),
    "shard twice": (lambda m: m.update(shards=[*m["shards"], *m["shards"]]), "listed twice"),  # type: ignore[misc]
    "no image": (lambda m: m.update(fields=[]), "no field 'image'"),
    "field twice": (lambda m: m.update(fields=[*m["fields"], *m["fields"]]), "same name"),  # type: ignore[misc]
    "no lanes": (lambda m: m.update(lanes=0), "lanes"),
    "odd identity": (lambda m: m.update(identity="x"), "identity"),
    "lanes beyond all": (lambda m: m.update(lanes=10**30), "lanes is 1000000000000000000000000000000, above 960"),
    "no samples": (lambda m: m.update(num_samples=0), "num_samples is 0"),
    "a shard of 2^70 bytes": (lambda m: shard_entry(m, bytes=2**70), "bytes is 1180591620717411303424, above"),
    "a format of 100,000 characters": (
        lambda m: m["fields"][0].update(formats=["weir:fast", "x" * 100_000]),  # type: ignore[index]
        "a format of more than 500 characters",
    ),
    "a format twice": (lambda m: m["fields"][0].update(formats=["png", "png"]), "lists a format twice"),  # type: ignore[index]
    "a count of 400 digits": (lambda m: m["formats"]["png"].update(samples=10**400), "samples is 1000"),  # type: ignore[index]
    "a share of 400 digits": (lambda m: m["formats"]["png"].update(share=10**400), "not a number"),  # type: ignore[index]
    "wrong number of samples": (lambda m: m.update(num_samples=7), "6 rows, the manifest says 7"),
}


@pytest.mark.parametrize("name", MANIFESTS)
def test_a_manifest_that_cannot_be_is_refused(folder: Path, name: str) -> None:
    change, what = MANIFESTS[name]
    change_manifest(folder, change)

    with pytest.raises(DatasetError, match=re.escape(what)) as caught:
        penstock.Dataset(folder).locations()
    assert str(folder) in caught.value.where
    assert caught.value.fix


def retyped(table: pa.Table, name: str, kind: pa.DataType, value: object) -> pa.Table:
    """A column of another type, with one value in all rows."""
    return table.set_column(table.schema.names.index(name), name, pa.array([value] * len(table), kind))


def in_pieces(table: pa.Table) -> pa.Table:
    offset, length = (table.column(f"image.{name}")[0].as_py() for name in ("offset", "length"))
    checksums = pa.array([[table.column("image.checksum")[0].as_py()], *([None] * 5)], pa.list_(pa.uint32()))
    return put(table, "image.segments", 0, [offset, length]).append_column("image.segment_checksums", checksums)


INDICES: dict[str, tuple[Callable[[pa.Table], pa.Table], str]] = {
    "beyond the shard": (lambda t: put(t, "image.offset", 2, 2**40), "sample 2, field 'image': does not lie inside"),
    "negative offset": (lambda t: put(t, "image.offset", 1, -5), "sample 1"),
    "into the header": (lambda t: put(t, "image.offset", 1, 0), "sample 1"),
    "overflowing length": (lambda t: put(t, "image.length", 3, 2**63 - 1), "sample 3"),
    "negative length": (lambda t: put(t, "image.length", 3, -1), "sample 3"),
    "unknown shard": (lambda t: put(t, "image.shard", 0, "shards/other.shard"), "which the manifest does not list"),
    "unknown format": (lambda t: put(t, "image.format", 0, "raw"), "which the manifest does not list"),
    "no image": (lambda t: put(t, "image.shard", 4, None), "sample 4"),
    "no width": (lambda t: put(t, "image.width", 2, 0), "sample 2, field 'image': has width 0, not 1 to"),
    "negative height": (lambda t: put(t, "image.height", 2, -7), "has height -7"),
    "too many pixels": (
        lambda t: put(put(t, "image.height", 5, 2**31 - 1), "image.width", 5, 2**31 - 1),
        "has more pixels than any image",
    ),
    "no channel": (lambda t: put(t, "image.channels", 2, 0), "has channels 0, not 1 to 4"),
    "too many bits": (lambda t: put(t, "image.bits", 2, 200), "has 200 bits, not 8 or 16"),
    "orientation 77": (lambda t: put(t, "image.orientation", 2, 77), "has orientation 77, not 1 to 8"),
    "no bytes": (lambda t: put(t, "image.length", 2, 0), "sample 2, field 'image': has no bytes"),
    "pieces of a format without pieces": (in_pieces, "sample 0"),
    "offset is text": (lambda t: retyped(t, "image.offset", pa.string(), "x"), "is of type string, not int64"),
    "offset is no number": (lambda t: retyped(t, "image.offset", pa.float64(), float("nan")), "is of type double"),
    "width of 64 bits": (lambda t: retyped(t, "image.width", pa.int64(), 2**40), "is of type int64, not int32"),
    "format is a number": (lambda t: retyped(t, "image.format", pa.int64(), 1), "is of type int64, not string"),
    "segments is a number": (lambda t: retyped(t, "image.segments", pa.int64(), 1), "not list<int64>"),
    "label is text": (lambda t: retyped(t, "label", pa.string(), "x"), "column 'label' is of type string, not int32"),
    "hash is short": (lambda t: retyped(t, "image.pixels", pa.binary(8), b"12345678"), "fixed_size_binary[8]"),
    "a column twice": (lambda t: t.append_column("key", t.column("key")), "has column 'key' twice"),
    "no column": (lambda t: t.drop_columns(["image.checksum"]), "no column 'image.checksum'"),
}


@pytest.mark.parametrize("name", INDICES)
def test_an_index_that_leads_astray_is_refused(folder: Path, name: str) -> None:
    change, what = INDICES[name]
    change_index(folder, change)

    with pytest.raises(DatasetError, match=re.escape(what)):
        penstock.Dataset(folder).locations()


CONTRADICTIONS: dict[str, tuple[Callable[[Path], None], str]] = {
    "ids reversed": (
        lambda f: change_index(f, lambda t: t.set_column(0, "id", pa.array(range(len(t) - 1, -1, -1), pa.int64()))),
        "row 0 has id 5",
    ),
    "keys equal": (lambda f: change_index(f, lambda t: retyped(t, "key", pa.string(), "same")), "two samples have"),
    "keys out of order": (lambda f: change_index(f, lambda t: put(t, "key", 2, "zzz")), "keys are not sorted"),
    "kept flipped": (
        lambda f: change_index(
            f,
            lambda t: t.set_column(
                t.schema.names.index("image.kept"),
                "image.kept",
                pa.array([not kept for kept in t.column("image.kept").to_pylist()]),
            ),
        ),
        "is marked as kept, but has a hash of other pixels",
    ),
    "kept miscounted": (
        lambda f: change_manifest(f, lambda m: m["formats"]["png"].update(kept=2, encoded=1)),  # type: ignore[index]
        "what it counts of format 'png'",
    ),
    "samples miscounted": (
        lambda f: change_manifest(f, lambda m: m["formats"]["png"].update(samples=999999)),  # type: ignore[index]
        "what it counts of format 'png'",
    ),
    "share invented": (
        lambda f: change_manifest(f, lambda m: m["formats"]["png"].update(share=77.0)),  # type: ignore[index]
        "what it counts of format 'png'",
    ),
    "records miscounted": (lambda f: change_manifest(f, lambda m: shard_entry(m, records=12345)), "12345 records"),
    "shard of another format": (
        lambda f: change_manifest(f, lambda m: shard_entry(m, format="raw")),
        "the manifest says format 'raw'",
    ),
    "lanes": (lambda f: change_manifest(f, lambda m: m.update(lanes=960)), "it says 960 lanes; 6 samples have 1"),
    "skipped invented": (
        lambda f: change_manifest(f, lambda m: m.update(skipped=[{"key": "x", "reason": "y"}])),
        "1 skipped samples, but its recipe skips none",
    ),
    "skipped is there": (
        lambda f: change_manifest(f, lambda m: m.update(skipped=[{"key": first_key(f), "reason": "y"}])),
        "is listed as skipped and is in the index",
    ),
    "labels beyond the classes": (
        lambda f: change_index(f, lambda t: put(t, "label", 0, 9)),
        "do not count its 3 classes",
    ),
    "recipe changed": (
        lambda f: change_manifest(f, lambda m: m["recipe"].update(seed=7)),  # type: ignore[attr-defined]
        "its identity is not that",
    ),
}


def first_key(folder: Path) -> str:
    return str(penstock.Dataset(folder).column("key")[0].as_py())


@pytest.mark.parametrize("name", CONTRADICTIONS)
def test_verify_finds_what_manifest_and_index_tell_differently(folder: Path, name: str) -> None:
    change, what = CONTRADICTIONS[name]
    change(folder)

    for quick in (True, False):
        told = [str(problem) for problem in verify(folder, quick=quick, threads=1).problems]
        assert any(what in line for line in told), told


HUGE_WINDOWS = [{"run": 10**30, "runs": 10**30}, {"run": 2**62, "runs": 2}, {"run": -1, "runs": 2}, {"run": "x"}]


@pytest.mark.parametrize("window", HUGE_WINDOWS)
def test_a_window_beyond_all_is_refused_by_a_loader(folder: Path, window: Members) -> None:
    change_manifest(folder, lambda m: m["recipe"].update(plan={"window": window}))  # type: ignore[attr-defined]

    with pytest.raises(DatasetError, match="run"):
        penstock.Loader(folder)


def test_text_of_an_index_that_is_not_utf8_is_refused(folder: Path) -> None:
    bad = pa.array([b"\xff\xfe"] * 6, pa.binary()).view(pa.string())
    change_index(folder, lambda t: t.set_column(t.schema.names.index("key"), "key", bad))

    with pytest.raises(DatasetError, match="cannot be read"):
        verify(folder)


def test_keys_that_are_null_are_refused(folder: Path) -> None:
    change_index(folder, lambda t: put(t, "key", 3, None))

    with pytest.raises(DatasetError, match="column 'key' has rows without a value"):
        verify(folder)


@pytest.mark.parametrize("label", [9, -1])
@pytest.mark.parametrize("layout", ["folder", "webdataset"])
def test_a_label_that_counts_no_class_is_refused_by_export(folder: Path, layout: str, label: int) -> None:
    change_index(folder, lambda t: put(t, "label", 0, label))

    with pytest.raises(DatasetError, match="do not count the 3 classes"):
        export(folder, folder.parent / "back", options=ExportOptions(layout=layout))


def test_a_small_index_of_a_huge_table_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index, "LEAST_UNPACKED", 1000)
    change_index(folder, lambda t: retyped(t, "key", pa.string(), "x" * 2**24), compression="zstd")

    with pytest.raises(DatasetError, match="cannot hold 6 rows"):
        penstock.Dataset(folder).locations()


def test_an_image_whose_pieces_are_empty_is_refused(tmp_path: Path) -> None:
    make_photos(tmp_path / "photos", images=4, width=40, height=30)
    build(tmp_path / "photos", tmp_path / "data.pen", mix="pjpeg=1")
    pieces = penstock.Dataset(tmp_path / "data.pen").column("image.segments")[0].as_py()
    empty = [value if place % 2 == 0 else 0 for place, value in enumerate(pieces)]
    first_empty = [pieces[0], 0, *pieces[2:]]

    for changed in (empty, first_empty):
        change_index(
            tmp_path / "data.pen",
            lambda table, changed=changed: put(  # type: ignore[misc]
                put(table, "image.segments", 0, changed), "image.length", 0, sum(changed[1::2])
            ),
        )
        with pytest.raises(DatasetError, match="sample 0"):
            penstock.Loader(tmp_path / "data.pen", on_error="skip")


def test_overlapping_records_are_found(folder: Path) -> None:
    offset = penstock.Dataset(folder).with_format("png")
    first, second = offset.ids[:2].tolist()
    change_index(
        folder,
        lambda table: (
            put(table, "image.offset", second, table.column("image.offset")[first].as_py())
            if table.column("image.shard")[first].as_py() == table.column("image.shard")[second].as_py()
            else put(table, "image.length", first, table.column("image.length")[first].as_py() + 64)
        ),
    )

    assert verify(folder).problems


def test_a_manifest_that_is_no_json_is_refused(folder: Path) -> None:
    body = b'{"kind": [[[['
    (folder / "manifest.json").write_bytes(body + b"\n")
    with pytest.raises(DatasetError, match="does not end with its checksum"):
        penstock.Dataset(folder)
    tail = f',\n  "checksum": "{checksum_text(_native.crc32c(body))}"\n}}\n'.encode()
    (folder / "manifest.json").write_bytes(body + tail)
    with pytest.raises(DatasetError, match="no JSON"):
        penstock.Dataset(folder)


def flip(path: Path, byte: int, bit: int = 0) -> None:
    data = bytearray(path.read_bytes())
    data[byte] ^= 1 << bit
    path.write_bytes(data)


@pytest.mark.parametrize("place", [0.0, 0.3, 0.7, 0.999])
@pytest.mark.parametrize("file", ["manifest.json", "index.parquet"])
def test_a_flipped_bit_in_manifest_or_index_is_named_by_every_reader(folder: Path, file: str, place: float) -> None:
    flip(folder / file, int(place * (folder / file).stat().st_size), bit=2)

    for read in (lambda: penstock.Dataset(folder).locations(), lambda: verify(folder)):
        with pytest.raises(DatasetError) as caught:
            read()
        assert file in caught.value.where


def shard_of(folder: Path) -> tuple[Path, list[int], list[int]]:
    """A shard with its records: where they begin and end."""
    dataset = penstock.Dataset(folder)
    found = dataset.locations()
    ids = [number for number in range(len(dataset)) if found.file[number] == 0]
    ids.sort(key=lambda number: int(found.offset[number]))
    begins = [int(found.offset[number]) for number in ids]
    return (
        dataset.shard_paths()[0],
        begins,
        [begin + int(found.length[n]) for begin, n in zip(begins, ids, strict=True)],
    )


@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize("byte", [0, 9, 20, 33, 50, 62])
def test_a_flipped_bit_in_a_header_is_named(folder: Path, byte: int, quick: bool) -> None:
    path, _, _ = shard_of(folder)
    flip(path, byte)

    (problem,) = verify(folder, quick=quick).problems

    assert problem.file == f"shards/{path.name}"
    assert "header" in problem.what or "begin as a shard" in problem.what


@pytest.mark.parametrize("quick", [False, True])
def test_a_flipped_bit_in_padding_is_named(folder: Path, quick: bool) -> None:
    path, _, ends = shard_of(folder)
    for byte in (ends[0], path.stat().st_size - 1):
        flip(path, byte)
        (problem,) = verify(folder, quick=quick).problems
        assert (problem.file, problem.byte) == (f"shards/{path.name}", byte)
        assert "padding" in problem.what
        flip(path, byte)
    assert verify(folder).problems == ()


def test_a_flipped_bit_in_a_record_is_named_by_verify_and_by_readers(folder: Path) -> None:
    path, begins, ends = shard_of(folder)
    dataset = penstock.Dataset(folder)
    key = next(
        dataset[i]["key"]
        for i in range(len(dataset))
        if dataset.locations().file[i] == 0 and dataset.locations().offset[i] == begins[-1]
    )
    flip(path, (begins[-1] + ends[-1]) // 2, bit=5)

    for quick in (True, False):
        (problem,) = verify(folder, quick=quick).problems
        assert (problem.file, problem.key, problem.byte) == (f"shards/{path.name}", key, begins[-1])
    with pytest.raises(DatasetError, match="does not match its checksum") as caught:
        list(dataset)
    assert path.name in caught.value.where


def test_a_missing_a_short_and_a_foreign_shard_are_named(folder: Path, whole: Path) -> None:
    shards = sorted((folder / "shards").iterdir())
    shards[0].unlink()
    shards[1].write_bytes(shards[1].read_bytes()[:-4096])
    (folder / "shards" / "extra.shard").write_bytes(b"x")

    told = {problem.file: problem.what for problem in verify(folder, quick=True).problems if problem.key is None}

    assert "could not open" in told[f"shards/{shards[0].name}"]
    assert "bytes, the manifest says" in told[f"shards/{shards[1].name}"]
    assert "does not list" in told["shards/extra.shard"]


def test_every_error_says_what_where_and_how_to_fix_it(folder: Path) -> None:
    for path in sorted(folder.rglob("*.*")):
        content = path.read_bytes()
        path.write_bytes(content[: len(content) // 2])
        with pytest.raises(PenstockError) as caught:
            list(penstock.Dataset(folder))
        assert caught.value.what, path
        assert caught.value.where, path
        assert caught.value.fix, path
        path.write_bytes(content)
