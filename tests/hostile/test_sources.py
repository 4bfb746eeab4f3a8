"""Sources and datasets made to do harm: each is one named abuse, and what becomes of it."""

from __future__ import annotations

import io
import json
import os
import struct
import tarfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import penstock
from penstock.build import build
from penstock.errors import PenstockError
from penstock.export import ExportOptions, export
from tests.unit.sources.tars import write_tar

IMAGE = penstock.encode(np.zeros((8, 8, 3), np.uint8), "png")


def tar_member_with_dots(root: Path) -> Path:
    return write_tar(root / "a.tar", {"../../evil.png": IMAGE})


def tar_member_absolute(root: Path) -> Path:
    return write_tar(root / "a.tar", {"/tmp/evil.png": IMAGE})


def tar_link_out(root: Path) -> Path:
    with tarfile.open(root / "a.tar", "w") as tar:
        header = tarfile.TarInfo("1.png")
        header.type, header.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(header)
    return root / "a.tar"


def tar_size_beyond_the_file(root: Path) -> Path:
    header = tarfile.TarInfo("1.png")
    header.size = 1 << 40
    (root / "a.tar").write_bytes(header.tobuf(tarfile.GNU_FORMAT) + IMAGE)
    return root / "a.tar"


def tar_pax_size_that_lies(root: Path) -> Path:
    with tarfile.open(root / "a.tar", "w", format=tarfile.PAX_FORMAT) as tar:
        header = tarfile.TarInfo("1.png")
        header.pax_headers = {"size": "99999999999999999999"}
        header.size = len(IMAGE)
        tar.addfile(header, io.BytesIO(IMAGE))
    return root / "a.tar"


def tar_json_deeper_than_the_stack(root: Path) -> Path:
    return write_tar(root / "a.tar", {"1.png": IMAGE, "1.json": b"[" * 200_000})


def tar_text_of_gigabytes(root: Path) -> Path:
    header = tarfile.TarInfo("1.txt")
    header.size = 1 << 30
    with (root / "a.tar").open("wb") as file:
        file.write(header.tobuf())
        file.truncate(header.size + 2048)
    return root / "a.tar"


def manifest_of_a_pipe(root: Path) -> Path:
    os.mkfifo(root / "pipe.png")
    (root / "a.jsonl").write_text('{"path": "pipe.png"}')
    return root / "a.jsonl"


def manifest_of_a_folder(root: Path) -> Path:
    (root / "x.png").mkdir()
    (root / "a.jsonl").write_text('{"path": "x.png"}')
    return root / "a.jsonl"


def manifest_deeper_than_the_stack(root: Path) -> Path:
    (root / "a.jsonl").write_text('{"path": "x.png", "x": ' + '{"a":' * 100_000)
    return root / "a.jsonl"


def manifest_with_half_a_character(root: Path) -> Path:
    (root / "1.png").write_bytes(IMAGE)
    (root / "a.jsonl").write_text('{"path": "1.png", "key": "a", "caption": ["x\\ud800"]}')
    return root / "a.jsonl"


def manifest_with_zero_bytes_in_a_path(root: Path) -> Path:
    (root / "a.jsonl").write_text(json.dumps({"path": "x\0.png"}))
    return root / "a.jsonl"


def folder_of_text_named_like_images(root: Path) -> Path:
    (root / "1.png").write_text("<?php evil(); ?>")
    return root


def folder_of_pipes(root: Path) -> Path:
    os.mkfifo(root / "1.png")
    return root


def manifest_of_lists_in_lists(root: Path) -> Path:
    (root / "1.png").write_bytes(IMAGE)
    rows = [{"path": "1.png", "key": "a", "x": 1}, {"path": "1.png", "key": "b"}]
    (root / "a.jsonl").write_text(
        json.dumps(rows[0]) + "\n" + json.dumps(rows[1])[:-1] + ', "x": ' + "[" * 900 + "]" * 900 + "}"
    )
    return root / "a.jsonl"


def folder_with_a_bomb(root: Path) -> Path:
    header = struct.pack(">IIBBBBB", 2**31 - 1, 2**31 - 1, 8, 2, 0, 0, 0)
    (root / "1.png").write_bytes(IMAGE[:16] + header + IMAGE[29:])
    return root


def parquet_of_other_bytes(root: Path) -> Path:
    column = pa.array([{"bytes": b"not an image", "path": "1.png"}])
    pq.write_table(pa.table({"image": column}), root / "a.parquet")
    return root / "a.parquet"


ABUSES: tuple[Callable[[Path], Path], ...] = (
    tar_member_with_dots,
    tar_member_absolute,
    tar_link_out,
    tar_size_beyond_the_file,
    tar_pax_size_that_lies,
    tar_json_deeper_than_the_stack,
    tar_text_of_gigabytes,
    manifest_of_a_pipe,
    manifest_of_a_folder,
    manifest_deeper_than_the_stack,
    manifest_with_half_a_character,
    manifest_with_zero_bytes_in_a_path,
    folder_of_text_named_like_images,
    folder_of_pipes,
    manifest_of_lists_in_lists,
    folder_with_a_bomb,
    parquet_of_other_bytes,
)


@pytest.mark.parametrize("abuse", ABUSES, ids=lambda abuse: abuse.__name__)
@pytest.mark.timeout(60)
def test_the_abuse_is_refused_by_name_and_gives_no_dataset(abuse: Callable[[Path], Path], tmp_path: Path) -> None:
    (tmp_path / "source").mkdir()
    source = abuse(tmp_path / "source")

    with pytest.raises(PenstockError) as caught:
        build(source, tmp_path / "out.pen", mix="raw=1")

    assert caught.value.where
    assert caught.value.fix
    assert not (tmp_path / "out.pen" / "manifest.json").exists()


KEYS = [
    "../../evil",
    "/etc/evil",
    "a/../../evil",
    ".hidden/evil",
    "a\0b",
    "",
    ".",
    "x" * 5000,
    "a",
    "a/b",
    "manifest.jsonl",
]


@pytest.mark.parametrize("layout", ["folder", "webdataset"])
def test_keys_that_lead_out_of_the_folder_stay_inside(layout: str, tmp_path: Path) -> None:
    (tmp_path / "1.png").write_bytes(IMAGE)
    keys = [key for key in KEYS if key]
    lines = [json.dumps({"key": key, "image": {"path": "1.png"}, "split": "../up", "label": "../../x"}) for key in keys]
    (tmp_path / "list.jsonl").write_text("\n".join(lines))
    build(tmp_path / "list.jsonl", tmp_path / "one.pen", mix="raw=1")

    export(tmp_path / "one.pen", tmp_path / "deep" / "back", options=ExportOptions(layout=layout))

    assert sorted(path.name for path in (tmp_path / "deep").iterdir()) == ["back"]
    found = [path for path in (tmp_path / "deep" / "back").rglob("*") if path.is_file()]
    assert not [path for path in found if path.name.startswith(".")]
    names = [path.name for path in found if path.suffix == ".png"]
    for tar in (path for path in found if path.suffix == ".tar"):
        with tarfile.open(tar) as opened:
            members = opened.getnames()
        assert not [name for name in members if name.startswith("/") or ".." in name.split("/")]
        names += [name for name in members if name.endswith(".png")]
    assert len(names) == len(keys)
    build(tmp_path / "deep" / "back", tmp_path / "two.pen", mix="raw=1")
    one, two = penstock.open(tmp_path / "one.pen"), penstock.open(tmp_path / "two.pen")
    assert one.column("key").to_pylist() == two.column("key").to_pylist()
