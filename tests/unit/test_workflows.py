"""The workflows and forms of .github: well-formed, and nothing but make targets that exist is run."""

from __future__ import annotations

import importlib
import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.import_graph import ROOT

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))
PYPROJECT = ROOT / "pyproject.toml"
HOME = "https://github.com/penstock/penstock"
KEYS = {"name", "on", "permissions", "concurrency", "env", "jobs"}
JOB_KEYS = {
    *("name", "strategy", "runs-on", "timeout-minutes", "steps", "needs", "environment", "permissions", "uses", "if"),
}
STEP_KEYS = {"name", "uses", "with", "run", "if"}
TRIGGERS = {"push", "pull_request", "schedule", "workflow_dispatch", "workflow_call"}
ACTION = re.compile(r"[\w.-]+/[\w./-]+@(v\d+|release/v\d+)")


def load(path: Path) -> Any:  # noqa: ANN401  # a document
    return importlib.import_module("yaml").safe_load(path.read_text(encoding="utf-8"))


def jobs_of(path: Path) -> dict[str, Any]:
    jobs: dict[str, Any] = load(path)["jobs"]
    return jobs


def make_targets() -> set[str]:
    return set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE))


def test_all_the_workflows_are_there() -> None:
    assert [path.stem for path in WORKFLOWS] == ["ci", "docs", "nightly", "release", "wheels"]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_is_well_formed(path: Path) -> None:
    document = {
        ("on" if key is True else key): value for key, value in load(path).items()
    }  # YAML 1.1 takes on for true

    assert set(document) <= KEYS
    assert set(document["on"]) <= TRIGGERS
    assert document["permissions"] == {"contents": "read"}
    for job in document["jobs"].values():
        assert set(job) <= JOB_KEYS
        assert ("uses" in job) != ("steps" in job)
        assert set([job["needs"]] if "needs" in job else []) <= set(document["jobs"])
        if "steps" in job:
            assert {"runs-on", "timeout-minutes"} <= set(job)
        for step in job.get("steps", []):
            assert set(step) <= STEP_KEYS
            assert ("uses" in step) != ("run" in step)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_actions_have_a_version_and_local_workflows_exist(path: Path) -> None:
    for job in jobs_of(path).values():
        for uses in [job.get("uses"), *(step.get("uses") for step in job.get("steps", []))]:
            if uses is not None and uses.startswith("./"):
                assert (ROOT / uses).is_file()
            elif uses is not None:
                assert ACTION.fullmatch(uses), uses


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_runs_make_targets_that_exist_and_nothing_else(path: Path) -> None:
    targets = make_targets()
    for job in jobs_of(path).values():
        for line in [line for step in job.get("steps", []) for line in step.get("run", "").splitlines()]:
            command, target, *settings = line.split(" ", 2)
            assert command == "make"
            assert target in targets
            assert all("=" in setting for text in settings for setting in re.sub(r"\$\{\{.*?\}\}", "x", text).split())


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_names_only_matrix_values_that_it_has(path: Path) -> None:
    for job in jobs_of(path).values():
        known = set(job.get("strategy", {}).get("matrix", {}))
        assert set(re.findall(r"\$\{\{ *matrix\.(\w+) *\}\}", json.dumps(job))) == known


def test_ci_covers_every_python_and_both_machines() -> None:
    matrix = jobs_of(ROOT / ".github" / "workflows" / "ci.yml")["test"]["strategy"]["matrix"]

    assert matrix["python"] == ["3.10", "3.11", "3.12", "3.13", "3.14"]
    assert {machine.endswith("-arm") for machine in matrix["machine"]} == {False, True}


def test_ci_runs_what_a_change_must_pass_here() -> None:
    jobs = jobs_of(ROOT / ".github" / "workflows" / "ci.yml").values()
    ran = {line.split()[1] for job in jobs for step in job["steps"] for line in step.get("run", "").splitlines()}

    assert ran == set(re.findall(r"^make (\S+)", (ROOT / ".ci" / "run").read_text(), flags=re.MULTILINE))


@pytest.mark.parametrize("path", [path for path in FORMS if path.stem != "config"], ids=lambda path: path.stem)
def test_an_issue_form_asks_for_something(path: Path) -> None:
    form = load(path)

    assert {"name", "description", "labels", "body"} == set(form)
    asked = [item for item in form["body"] if item["type"] != "markdown"]
    assert len({item["id"] for item in asked}) == len(asked)
    assert any(item.get("validations", {}).get("required") for item in asked)


def test_the_home_of_the_project_is_the_same_everywhere() -> None:
    urls = re.findall(r'= "(https://[^"]+)"', PYPROJECT.read_text(encoding="utf-8"))
    fuzzing = load(ROOT / "fuzz" / "oss-fuzz" / "project.yaml")

    assert HOME in urls
    assert all(url.startswith(HOME) for url in urls)
    assert (fuzzing["homepage"], fuzzing["main_repo"]) == (HOME, f"{HOME}.git")
    assert load(ROOT / "CITATION.cff")["repository-code"] == HOME
    links = load(ROOT / ".github" / "ISSUE_TEMPLATE" / "config.yml")["contact_links"]
    assert all(link["url"].startswith(f"{HOME}/") for link in links)


def test_the_citation_has_the_version_of_the_package() -> None:
    version = re.search(r'^version = "(.+)"$', PYPROJECT.read_text(encoding="utf-8"), flags=re.MULTILINE)

    assert version is not None
    assert load(ROOT / "CITATION.cff")["version"] == version[1]


def test_every_library_of_the_wheel_is_in_the_notice() -> None:
    from scripts.system import LIBRARIES

    notice = (ROOT / "NOTICE").read_text(encoding="utf-8").lower()
    assert all(name.removeprefix("lib") in notice for name in LIBRARIES)


def test_the_devcontainer_is_json_and_calls_make() -> None:
    container = json.loads((ROOT / ".devcontainer" / "devcontainer.json").read_text(encoding="utf-8"))

    command, target = container["postCreateCommand"].split()
    assert command == "make"
    assert target in make_targets()
