"""Which long tests a change calls for."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from fuzz.targets import PARTS
from penstock.codecs.table import BUILTIN
from scripts import touched
from scripts.touched import CODECS, FUZZ, FUZZ_ONE, FUZZ_PARTS, RULES, changed_files, find_base, long_tests
from tests.import_graph import ROOT


def test_a_codecs_files_call_for_its_own_fuzzing_alone() -> None:
    found = long_tests(["native/codecs/webp_container.cpp"])

    assert found == [FUZZ_ONE.format(codec="webp"), "tests/parity"]


def test_shared_native_code_calls_for_all_fuzzing_once() -> None:
    found = long_tests(["native/base/buffer.h", "native/codecs/png.cpp"])

    assert FUZZ in found
    assert not any("::" in test for test in found)


def test_prose_calls_for_nothing() -> None:
    assert long_tests(["README.md", "docs/guide/codecs.md", "spec/weir.md"]) == []


def test_a_changed_test_calls_for_itself_unless_its_folder_is_called_for() -> None:
    assert long_tests(["tests/story/test_wheel.py"]) == ["tests/story/test_wheel.py"]
    assert long_tests(["tests/parity/test_l3.py", "native/codecs/exif.h"]) == ["tests/parity"]


def test_set_up_is_told_what_the_tests_need(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(touched, "changed_files", lambda _: ["pyproject.toml", "native/codecs/png.cpp"])

    assert touched.main(["--base", "HEAD", "--groups"]) == 0
    assert capsys.readouterr().out.split() == ["fuzz", "wheel"]


def test_an_example_or_adapter_calls_for_the_frameworks(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for file in ("examples/jax_loop.py", "src/penstock/jax/loader.py", "src/penstock/torch/loader.py"):
        monkeypatch.setattr(touched, "changed_files", lambda _, file=file: [file])
        assert touched.main(["--base", "HEAD", "--groups"]) == 0
        assert "frameworks" in capsys.readouterr().out.split()


def test_a_codec_s_parts_are_fuzzed_with_it() -> None:
    by_rule = {test for rule in RULES for test in rule.tests}
    by_codec = {part for parts in FUZZ_PARTS.values() for part in parts}
    assert {part for part in PARTS if FUZZ_ONE.format(codec=part) not in by_rule} == by_codec
    assert FUZZ_ONE.format(codec="weir_tile") in long_tests(["native/codecs/weir_file.cpp"])


def test_every_codec_is_known_by_name() -> None:
    assert {codec.name for codec in BUILTIN} <= set(CODECS)


def test_every_long_test_is_called_for_by_something() -> None:
    files = [file for file in (ROOT / "tests").rglob("test_*.py") if "pytest.mark.long" in file.read_text("utf-8")]
    called = [ROOT / test for rule in RULES for test in rule.tests]
    files.remove(Path(__file__))
    orphans = [file for file in files if not any(place == file or place in file.parents for place in called)]

    assert [str(file) for file in orphans] == [], "say in scripts/touched.py which changes call for them"


def git(folder: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=a", "-c", "user.email=a@b")
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


def test_a_branch_is_compared_with_where_it_left_main(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    git(tmp_path, "init", "-b", "main")
    for name in ("a", "b", "c"):
        (tmp_path / name).touch()
        git(tmp_path, "add", name)
        git(tmp_path, "commit", "-m", name)
        if name == "a":
            git(tmp_path, "update-ref", "refs/remotes/origin/main", "HEAD")
    (tmp_path / "d").touch()
    monkeypatch.setattr(touched, "ROOT", tmp_path)

    assert changed_files(find_base()) == ["b", "c", "d"]

    git(tmp_path, "update-ref", "refs/remotes/origin/main", "HEAD")
    assert changed_files(find_base()) == ["c", "d"]
