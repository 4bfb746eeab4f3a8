"""WebDataset shards: samples, fields, keys, and what is refused."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.errors import SourceError
from penstock.index import Listing, Role
from penstock.sources.webdataset import WebDataset, split_name
from tests.unit.sources.listed import bytes_of
from tests.unit.sources.tars import write_tar


def listed(path: Path) -> Listing:
    return WebDataset(path).listing()


def images(listing: Listing, field: str = "image") -> list[bytes | None]:
    return bytes_of(WebDataset(Path()), listing, field)


def refusal(tmp_path: Path, members: Mapping[str, bytes]) -> SourceError:
    with pytest.raises(SourceError) as caught:
        listed(write_tar(tmp_path / "a.tar", members))
    assert caught.value.fix
    return caught.value


def test_members_with_one_base_name_form_a_sample(tmp_path: Path) -> None:
    path = write_tar(
        tmp_path / "a.tar",
        {"cats/1.jpg": b"one", "cats/1.cls": b"3\n", "cats/1.txt": b"a cat", "b.2/2.JPG": b"two", "b.2/2.cls": b"0"},
    )

    listing = listed(path)

    assert listing.keys.to_pylist() == ["cats/1", "b.2/2"]
    assert images(listing, "image") == [b"one", b"two"]
    assert listing.columns["label"].to_pylist() == [3, 0]
    assert listing.columns["txt"].to_pylist() == ["a cat", None]
    assert listing.roles == {"image": Role.IMAGE}
    assert listing.classes is None


def test_named_images_are_fields_of_their_own(tmp_path: Path) -> None:
    path = write_tar(tmp_path / "a.tar", {"1.png": b"a", "1.seg.png": b"b", "1.depth.png": b"c", "2.jpg": b"d"})

    listing = listed(path)

    assert listing.roles == {"image": Role.IMAGE, "depth": Role.DEPTH, "seg": Role.MASK}
    assert images(listing, "image") == [b"a", b"d"]
    assert images(listing, "seg") == [b"b", None]


def test_json_becomes_columns_and_may_name_the_sample(tmp_path: Path) -> None:
    path = write_tar(
        tmp_path / "a.tar",
        {
            "1.jpg": b"",
            "1.json": b'{"__key__": "photos/1.v2.jpg", "boxes": [[0, 1, 2, 3.5]], "id": 7, "who": {"name": "x"}}',
            "2.jpg": b"",
            "2.json": b'{"label": "dog", "boxes": []}',
        },
    )

    listing = listed(path)

    assert listing.keys.to_pylist() == ["photos/1.v2.jpg", "2"]
    assert listing.columns["boxes"].to_pylist() == [[[0, 1, 2, 3.5]], []]
    assert listing.columns["source_id"].to_pylist() == [7, None]
    assert listing.columns["who"].to_pylist() == ['{"name": "x"}', None]
    assert listing.columns["label"].to_pylist() == [None, 0]
    assert listing.classes == ("dog",)


def test_shards_name_splits_and_part_equal_keys(tmp_path: Path) -> None:
    write_tar(tmp_path / "train-000000.tar", {"0.jpg": b""})
    write_tar(tmp_path / "train-000001.tar", {"0.jpg": b""})
    write_tar(tmp_path / "deep" / "val-000000.tar", {"0.jpg": b""})

    listing = listed(tmp_path)

    assert listing.keys.to_pylist() == ["deep/val-000000/0", "train-000000/0", "train-000001/0"]
    assert listing.splits is not None
    assert listing.splits.to_pylist() == ["val", "train", "train"]


def test_shards_without_a_split_in_their_names_have_none(tmp_path: Path) -> None:
    listing = listed(write_tar(tmp_path / "part-0.tar", {"0.jpg": b""}))

    assert listing.splits is None


def test_the_state_changes_with_a_shard(tmp_path: Path) -> None:
    path = write_tar(tmp_path / "a.tar", {"0.jpg": b""})
    before = WebDataset(path).state()
    path.write_bytes(path.read_bytes() + bytes(512))

    assert WebDataset(path).state() != before


def test_a_compressed_tar_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "a.tar.gz").write_bytes(b"\x1f\x8b")

    with pytest.raises(SourceError, match="compressed tar") as caught:
        listed(tmp_path)

    assert caught.value.where == str(tmp_path / "a.tar.gz")


def test_a_sample_without_an_image_is_refused(tmp_path: Path) -> None:
    told = refusal(tmp_path, {"1.jpg": b"", "1.cls": b"0", "2.cls": b"1"})

    assert told.what == "sample '2' has no image"
    assert told.where == f"{tmp_path / 'a.tar'}: sample '2'"


def test_two_members_of_one_name_are_refused(tmp_path: Path) -> None:
    assert "two members that end in .jpg" in refusal(tmp_path, {"1.jpg": b"", "1.JPG": b""}).what


def test_a_sample_in_two_places_of_a_tar_is_refused(tmp_path: Path) -> None:
    assert "two samples" in refusal(tmp_path, {"1.jpg": b"", "2.jpg": b"", "1.png": b""}).what


def test_json_that_cannot_be_read_is_named_with_its_byte(tmp_path: Path) -> None:
    told = refusal(tmp_path, {"1.jpg": b"", "1.json": b"{"})

    assert "member '1.json' cannot be read" in told.what
    assert told.where == f"{tmp_path / 'a.tar'}: byte 1024"


def test_numbers_and_text_in_one_column_are_refused(tmp_path: Path) -> None:
    told = refusal(tmp_path, {"1.jpg": b"", "1.cls": b"3", "2.jpg": b"", "2.cls": b"dog"})

    assert told.what == "column 'label' holds integers and text: 'dog'"
    assert told.where.endswith("sample '2'")


def test_a_tar_of_something_else_is_refused(tmp_path: Path) -> None:
    assert "no member is the image" in refusal(tmp_path, {"a.txt": b"x"}).what


@given(names=st.lists(st.text("ab./_", min_size=1, max_size=8), min_size=1, max_size=8, unique=True))
@settings(max_examples=100, deadline=None)
def test_base_and_suffix_make_up_the_name(names: list[str]) -> None:
    for name in names:
        base, suffix = split_name(name)
        assert name == (f"{base}.{suffix}" if suffix else base)
        assert "." not in base.rpartition("/")[2] or not suffix


def test_a_thousand_samples_stand_where_they_were_put(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    contents = [rng.bytes(int(size)) for size in rng.integers(0, 2000, 1000)]
    path = write_tar(tmp_path / "a.tar", {f"{index:04}.png": image for index, image in enumerate(contents)})

    assert images(listed(path)) == contents


def test_classes_beside_the_tars_are_what_labels_count(tmp_path: Path) -> None:
    (tmp_path / "classes.txt").write_text("dog\ncat\n")
    write_tar(tmp_path / "a.tar", {"1.jpg": b"", "1.cls": b"1"})

    listing = listed(tmp_path)

    assert listing.classes == ("dog", "cat")
    assert listing.columns["label"].to_pylist() == [1]


def test_a_split_in_json_counts_more_than_the_name_of_the_tar(tmp_path: Path) -> None:
    path = write_tar(tmp_path / "train-0.tar", {"1.jpg": b"", "1.json": b'{"split": "holdout"}', "2.jpg": b""})

    splits = listed(path).splits

    assert splits is not None
    assert splits.to_pylist() == ["holdout", "train"]


def test_a_label_of_two_signs_is_text(tmp_path: Path) -> None:
    listing = listed(write_tar(tmp_path / "a.tar", {"1.jpg": b"", "1.cls": b"--1"}))

    assert listing.classes == ("--1",)
    assert listing.columns["label"].to_pylist() == [0]
