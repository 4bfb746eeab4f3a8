"""Names of exported files: safe, unlike one another, and as near to the keys as that allows."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.export.file_naming import folders_above, safe_path, unique_paths
from penstock.export.webdataset_layout import member_names
from penstock.sources.webdataset import split_name

KEYS = st.text(st.sampled_from("ab./_-\\ \0\n:é"), max_size=12)


@given(st.text() | KEYS)
def test_a_safe_path_stays_below_its_folder_and_is_not_hidden(text: str) -> None:
    parts = safe_path(text.replace("\ud800", "")).split("/")

    assert all(part and not part.startswith(".") and "\0" not in part for part in parts)
    assert all(len(part.encode("utf-8", "surrogatepass")) <= 255 for part in parts)


@given(KEYS)
def test_a_safe_path_is_its_own_safe_path(text: str) -> None:
    assert safe_path(safe_path(text)) == safe_path(text)


def test_an_ordinary_key_is_its_own_name() -> None:
    for key in ("train/n01440764/n01440764_10026.JPEG", "a b/ü.png", "leftImg8bit/x_leftImg8bit.png"):
        assert safe_path(key) == key


@given(st.lists(st.sampled_from(["a", "a/b", "a/b/c", "a-1", "a.png", "a-1.png", "b/a.png"]), max_size=12))
def test_no_two_files_share_a_path_and_no_file_is_a_folder(paths: list[str]) -> None:
    found = unique_paths(paths)

    assert len(set(found)) == len(found) == len(paths)
    assert not set(found) & {folder for path in found for folder in folders_above(path)}


@given(st.lists(KEYS, max_size=8))
def test_every_sample_of_a_tar_has_a_base_name_of_its_own(keys: list[str]) -> None:
    names = member_names(keys)

    assert len(set(names)) == len(keys)
    assert [split_name(f"{name}.jpg") for name in names] == [(name, "jpg") for name in names]


def test_long_names_are_cut_and_stay_apart() -> None:
    one, two = (safe_path("x" * 300 + end + ".png") for end in "ab")

    assert one != two
    assert one.endswith(".png")
    assert len(one) <= 220
