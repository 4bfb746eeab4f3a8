"""CSV, TSV and JSON lines as sources: fields, keys, and errors that name the line."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.errors import PenstockError, SourceError, StorageError
from penstock.index import Listing, Role
from penstock.sources import open_source
from penstock.sources.manifest_source import ManifestSource
from penstock.sources.rows import Rows, read_rows
from tests.unit.sources.listed import bytes_of


def listed(root: Path, text: str, name: str = "list.csv") -> Listing:
    """Write the manifest and every image that a test may name; each image holds its own path."""
    for image in ("a.jpg", "b.jpg", "in/c.png", "masks/a.png", "masks/b.png"):
        (root / image).parent.mkdir(parents=True, exist_ok=True)
        (root / image).write_text(image)
    (root / name).parent.mkdir(exist_ok=True)
    (root / name).write_text(text, encoding="utf-8")
    return ManifestSource(root / name).listing()


def refusal(root: Path, text: str, name: str = "list.csv") -> PenstockError:
    with pytest.raises(PenstockError) as caught:
        listed(root, text, name)
    assert caught.value.fix
    return caught.value


def test_a_csv_names_images_labels_splits_and_masks(tmp_path: Path) -> None:
    listing = listed(
        tmp_path, "path,label,split,mask_path,score,code\na.jpg,dog,train,masks/a.png,1,007\nb.jpg,cat,val,,2.5,08\n"
    )

    assert listing.keys.to_pylist() == ["a.jpg", "b.jpg"]
    assert bytes_of(ManifestSource(tmp_path / "list.csv"), listing) == [b"a.jpg", b"b.jpg"]
    assert bytes_of(ManifestSource(tmp_path / "list.csv"), listing, "mask") == [b"masks/a.png", None]
    assert listing.roles == {"image": Role.IMAGE, "mask": Role.MASK}
    assert listing.classes == ("cat", "dog")
    assert listing.splits is not None
    assert listing.splits.to_pylist() == ["train", "val"]
    assert {name: column.to_pylist() for name, column in listing.columns.items()} == {
        "label": [1, 0],
        "score": [1.0, 2.5],
        "code": ["007", "08"],
    }


def test_json_lines_hold_boxes_and_any_scalar(tmp_path: Path) -> None:
    rows = [
        {"image": "a.jpg", "label": 3, "boxes": [[0, 1, 2, 3], [4.5, 5, 6, 7]], "tags": ["x", "y"], "id": 17},
        {"image": "in/c.png", "label": 5, "boxes": [], "night": True},
    ]

    listing = listed(tmp_path, "\n\n".join(map(json.dumps, rows)), "list.jsonl")

    assert listing.classes is None
    assert {name: column.to_pylist() for name, column in listing.columns.items()} == {
        "label": [3, 5],
        "boxes": [[[0, 1, 2, 3], [4.5, 5, 6, 7]], []],
        "tags": [["x", "y"], None],
        "source_id": [17, None],
        "night": [None, True],
    }


def test_tabs_separate_a_tsv_and_quotes_hold_newlines(tmp_path: Path) -> None:
    listing = listed(tmp_path, 'path\tcaption\na.jpg\t"two\nlines, one comma"\nb.jpg\tx\n', "list.tsv")

    assert listing.columns["caption"].to_pylist() == ["two\nlines, one comma", "x"]


def test_a_key_column_names_the_samples(tmp_path: Path) -> None:
    listing = listed(tmp_path, "key,path\nz/1,a.jpg\ny/2,a.jpg\n")

    assert listing.keys.to_pylist() == ["z/1", "y/2"]


def test_classes_beside_the_manifest_number_the_labels(tmp_path: Path) -> None:
    (tmp_path / "classes.txt").write_text("dog\ncat\nbird\n")

    listing = listed(tmp_path, "path,label\na.jpg,cat\nb.jpg,dog\n")

    assert listing.columns["label"].to_pylist() == [1, 0]
    assert listing.classes == ("dog", "cat", "bird")


def test_paths_beside_the_manifests_folder_have_keys_without_dots(tmp_path: Path) -> None:
    listed(tmp_path, "path\na.jpg\n")
    (tmp_path / "lists").mkdir()
    (tmp_path / "lists" / "all.csv").write_text(f"path\n../a.jpg\n../in/c.png\n{tmp_path}/b.jpg\n")

    listing = ManifestSource(tmp_path / "lists" / "all.csv", allow_outside=True).listing()

    assert listing.keys.to_pylist() == ["a.jpg", "in/c.png", "b.jpg"]


def test_a_folder_with_metadata_of_hugging_face_is_a_manifest(tmp_path: Path) -> None:
    listed(tmp_path, "file_name,label\na.jpg,1\n", "metadata.csv")

    assert ManifestSource(tmp_path).listing().keys.to_pylist() == ["a.jpg"]


def test_the_state_changes_with_an_image(tmp_path: Path) -> None:
    listed(tmp_path, "path\na.jpg\n")

    def state() -> bytes:
        manifest = ManifestSource(tmp_path / "list.csv")
        manifest.listing()
        return manifest.state()

    before = state()
    (tmp_path / "a.jpg").write_text("other")

    assert state() != before


@pytest.mark.parametrize(
    ("name", "text", "what", "line"),
    [
        ("list.csv", "path,label\na.jpg,1\nb.jpg\n", "the row has 1 values, the header names 2 columns", 3),
        ("list.csv", 'path,x\na.jpg,"1\n2"\nb.jpg,3,4\n', "the row has 3 values", 4),
        ("list.csv", 'path\n"a.jpg\n', "the row cannot be read", 2),
        ("list.csv", "path,path\na.jpg,b.jpg\n", "the header names 'path' twice", 1),
        ("list.csv", "path,\na.jpg,1\n", "a column without a name", 1),
        ("list.csv", "path\na.jpg\nb.jpg\na.jpg\n", "two rows have the key 'a.jpg'", 4),
        ("list.csv", "path,label\n,1\n", "a row has no image", 2),
        ("list.csv", "path,key\na.jpg,x\nb.jpg,\n", "a row has an empty key", 3),
        ("list.jsonl", '{"path": "a.jpg", "x": 1}\n{"path": "b.jpg", "x": "one"}', "holds integers and text", 2),
        ("list.jsonl", '{"path": "a.jpg", "x": [1]}\n{"path": "b.jpg", "x": 2}', "holds lists and integers", 2),
        ("list.jsonl", '{"path": "a.jpg"}\n{"path": ', "the line is not JSON", 2),
        ("list.jsonl", '{"path": "a.jpg"}\n[1]', "the line holds no object", 2),
        ("list.jsonl", '{"path": "a.jpg", "x": NaN}', "NaN is not a JSON value", 1),
        ("list.jsonl", '{"path": "a.jpg", "path": "b.jpg"}', "a key stands twice", 1),
        ("list.jsonl", '{"path": "a.jpg", "x": 99999999999999999999}', "a number beyond 64 bits", 1),
        ("list.jsonl", '{"path": "a.jpg", "x": ' + "[" * 100_000, "the line is not JSON", 1),
    ],
)
def test_a_bad_row_is_named_with_its_line(tmp_path: Path, name: str, text: str, what: str, line: int) -> None:
    told = refusal(tmp_path, text, name)

    assert what in told.what
    assert f"{tmp_path / name}: line {line}" in told.where


def test_a_missing_file_is_named_with_the_line_that_wants_it(tmp_path: Path) -> None:
    told = refusal(tmp_path, "path,label\na.jpg,1\ngone.jpg,2\n")

    assert isinstance(told, StorageError)
    assert told.where.startswith(f"{tmp_path / 'list.csv'}: line 3: ")
    assert "gone.jpg" in told.what


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "the header has a column without a name"),
        ("path\n", "the manifest has no rows"),
        ("label,score\n1,2\n", "no column holds the paths"),
        ("left,right\na.jpg,b.jpg\n", "each of left, right may be the image"),
        ("path,a.b,a_b\na.jpg,1,2\n", "two fields named 'a_b'"),
    ],
)
def test_a_manifest_that_says_too_little_is_refused(tmp_path: Path, text: str, what: str) -> None:
    assert what in refusal(tmp_path, text).what


def test_a_label_outside_of_the_class_table_is_refused(tmp_path: Path) -> None:
    (tmp_path / "classes.txt").write_text("cat\ndog\n")

    assert "label 'cow' is not in the class table" in refusal(tmp_path, "path,label\na.jpg,cow\n").what
    assert "labels from 0 to 2 do not count the 2 names" in refusal(tmp_path, "path,label\na.jpg,0\nb.jpg,2\n").what


def test_a_manifest_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    (tmp_path / "list.csv").write_bytes(b"path\ncaf\xe9.jpg\n")

    with pytest.raises(SourceError, match="not UTF-8: byte 8"):
        ManifestSource(tmp_path / "list.csv").listing()


def read_or_refuse(path: Path) -> Rows | None:
    try:
        return read_rows(path)
    except SourceError as error:
        if str(path) not in error.where:
            raise
        return None


SCALARS = st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | st.text()


@given(
    column=st.sampled_from([st.integers(-9, 9), st.text(), st.booleans(), st.lists(st.integers(-9, 9))]), data=st.data()
)
@settings(max_examples=25, deadline=None)
def test_json_columns_come_back_as_they_were(
    tmp_path_factory: pytest.TempPathFactory, column: st.SearchStrategy[object], data: st.DataObject
) -> None:
    values = data.draw(st.lists(st.none() | column, min_size=1, max_size=20))
    path = tmp_path_factory.mktemp("rows") / "list.jsonl"
    path.write_text("\n".join(json.dumps({"x": value}) for value in values))

    assert read_rows(path).columns["x"].to_pylist() == values


@given(lines=st.lists(st.dictionaries(st.sampled_from("abc"), SCALARS | st.lists(SCALARS)), max_size=5))
@settings(max_examples=40, deadline=None)
def test_any_json_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, lines: list[dict[str, object]]) -> None:
    path = tmp_path_factory.mktemp("rows") / "list.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)))

    rows = read_or_refuse(path)

    assert rows is None or {len(column) for column in rows.columns.values()} <= {len(lines)}


@given(text=st.text('ab,"\n\r\t0.', max_size=40))
@settings(max_examples=60, deadline=None)
def test_any_csv_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    path = tmp_path_factory.mktemp("rows") / "list.csv"
    path.write_bytes(text.encode())

    rows = read_or_refuse(path)

    assert rows is None or {len(column) for column in rows.columns.values()} == {len(rows.lines)}


def test_an_image_that_says_so_is_one_and_others_are_not(tmp_path: Path) -> None:
    rows = [{"image": {"path": "a.jpg"}, "overlay": {"path": "b.jpg", "role": "depth"}, "name": "original.png"}]

    listing = listed(tmp_path, "\n".join(map(json.dumps, rows)), "list.jsonl")

    assert listing.roles == {"image": Role.IMAGE, "overlay": Role.DEPTH}
    assert listing.columns["name"].to_pylist() == ["original.png"]


def test_a_role_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    told = refusal(tmp_path, '{"image": {"path": "a.jpg", "role": "sound"}}', "list.jsonl")

    assert told.what == "there is no role 'sound'"


def test_names_that_an_index_cannot_have_are_changed(tmp_path: Path) -> None:
    listing = listed(tmp_path, "path,2nd box,split.part\na.jpg,1,2\n")

    assert list(listing.columns) == ["_2nd_box", "split_part"]


@pytest.mark.parametrize("path", ["../private/x.jpg", "sub/../../private/x.jpg", "{root}/private/x.jpg"])
def test_a_path_that_leads_out_of_the_folder_is_refused_unless_it_is_allowed(tmp_path: Path, path: str) -> None:
    (tmp_path / "private").mkdir()
    (tmp_path / "private" / "x.jpg").write_text("secret")
    (tmp_path / "cats" / "sub").mkdir(parents=True)
    (tmp_path / "cats" / "metadata.csv").write_text(f"path\n{path.format(root=tmp_path)}\n")

    with pytest.raises(SourceError, match="leads out of the manifest's folder") as caught:
        open_source(tmp_path / "cats").listing()

    assert caught.value.where.endswith("metadata.csv: line 2")
    assert "--allow-outside" in caught.value.fix
    listing = open_source(tmp_path / "cats", allow_outside=True).listing()
    assert Path(os.fsdecode(listing.files[0])).read_text() == "secret"


def test_a_path_goes_up_before_any_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "private" / "deep").mkdir(parents=True)
    (tmp_path / "private" / "x.jpg").write_text("secret")
    (tmp_path / "cats").mkdir()
    (tmp_path / "cats" / "link").symlink_to(tmp_path / "private" / "deep")
    (tmp_path / "cats" / "metadata.csv").write_text("path\nlink/../x.jpg\n")

    with pytest.raises(StorageError, match="No such file"):
        open_source(tmp_path / "cats").listing()


def test_absolute_paths_inside_of_the_folder_are_fine(tmp_path: Path) -> None:
    (tmp_path / "a.jpg").write_text("a")

    listing = listed(tmp_path, f"path\n{tmp_path / 'a.jpg'}\n")

    assert listing.keys.to_pylist() == ["a.jpg"]
