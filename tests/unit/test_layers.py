"""The arrow of ARCHITECTURE.md: imports point one way, without circles, and each privilege has one place."""

from __future__ import annotations

import ast
import itertools
import re

import pytest

from tests.import_graph import PACKAGE, ROOT, calls_in, find_circle, imports_of, inner_graph, modules, syntax

# A folder (or module at the top) may use what stands in the rows above its own, and nothing beside it in its row.
LAYERS = (
    ("errors", "types", "version", "_native"),
    ("counter_rng", "documents", "lane_counts", "rates", "tools", "units"),
    ("machine",),
    ("codecs", "limits", "pixels", "storage", "transforms"),
    ("functions",),
    ("index",),
    ("records",),
    ("sources",),
    ("order",),
    ("load",),
    ("kernels",),
    ("torch", "jax", "pillow"),
    ("info", "synth", "bench", "profile"),
    ("plan",),
    ("build", "export", "doctor"),
    ("report",),
    ("lab",),
    ("auto",),
    ("testing",),
    ("cli", "worker"),
    ("__main__",),
)
RANKS = {folder: rank for rank, row in enumerate(LAYERS) for folder in row}

# What only some places may import: the package, and who may.
PRIVILEGES = {
    # The lab measures rivals as their users run them: torch's DataLoader with Pillow, and codecs of imagecodecs.
    "torch": ("penstock.torch", "penstock.kernels", "penstock.lab.rivals", "penstock.lab.training"),
    "triton": ("penstock.kernels",),
    "jax": ("penstock.jax",),
    "typer": ("penstock.cli",),
    "rich": ("penstock.cli",),
    "tifffile": ("penstock.codecs.tiff",),
    "imagecodecs": ("penstock.codecs.tiff", "penstock.lab.coders"),
    # Functions in Python get the Pillow image that they were written for.
    "PIL": ("penstock.pillow", "penstock.functions.forms", "penstock.lab.rivals"),
    "cv2": ("penstock.lab.rivals",),
    "threading": (),
    # How a fresh interpreter imports the main script of another.
    "multiprocessing": ("penstock.functions.workers", "penstock.functions.worker_main"),
    "concurrent": (),
    # Functions and samples for a process that this one started.
    "pickle": ("penstock.functions.workers", "penstock.functions.worker_main", "penstock.functions.shared_memory"),
}

MODULES = sorted(modules())


def folder_of(module: str) -> str:
    """The place of a module in the layers; the package itself has none.

    >>> folder_of("penstock.codecs.table"), folder_of("penstock")
    ('codecs', '')
    """
    return module.split(".")[1] if "." in module else ""


def is_under(module: str, places: tuple[str, ...]) -> bool:
    """Whether a module is one of the places or inside one.

    >>> is_under("penstock.cli.app", ("penstock.cli",)), is_under("penstock.client", ("penstock.cli",))
    (True, False)
    """
    return any(module == place or module.startswith(f"{place}.") for place in places)


def test_every_folder_has_a_place_in_the_layers() -> None:
    placeless = {folder_of(module) for module in MODULES} - {""} - RANKS.keys()
    assert not placeless, f"give {sorted(placeless)} a place in LAYERS, and in ARCHITECTURE.md"


@pytest.mark.parametrize("module", MODULES)
def test_imports_point_one_way(module: str) -> None:
    own = folder_of(module)
    if not own:
        return  # penstock/__init__.py only hands names on
    for imported in sorted(imports_of(module)):
        if not is_under(imported, (PACKAGE,)):
            continue
        other = folder_of(imported)
        if other == own:
            continue
        assert other or own in ("cli", "__main__"), f"{module} imports the facade: name the module that has it"
        assert not other or RANKS[other] < RANKS[own], (
            f"{module} may not use {imported}: '{other}' is not above '{own}'"
        )


def test_no_import_circles_lazy_ones_counted() -> None:
    assert find_circle(inner_graph()) == []


@pytest.mark.parametrize("module", MODULES)
def test_special_imports_stay_in_their_place(module: str) -> None:
    for imported in imports_of(module):
        places = PRIVILEGES.get(imported.split(".")[0])
        assert places is None or is_under(module, places), f"{module} imports {imported}; only {places} may"


@pytest.mark.parametrize("module", MODULES)
def test_only_the_command_line_prints(module: str) -> None:
    if not is_under(module, ("penstock.cli",)):
        assert not {"print", "sys.stdout.write", "sys.stderr.write"} & set(calls_in(module))


# Modules that other modules run in a process of their own.
PROCESSES = {
    "penstock.worker": "tasks of benchmarks and the lab, under limits",
    "penstock.limits.join": "joins control groups, then becomes the command",
    "penstock.functions.worker_main": "runs functions of the user's",
}


@pytest.mark.parametrize("module", MODULES)
def test_no_module_runs_the_command_line_in_a_process(module: str) -> None:
    """An import against the layers can hide behind `python -m penstock …`."""
    started = [
        second.value
        for node in ast.walk(syntax(module))
        if isinstance(node, (ast.List, ast.Tuple))
        for first, second in itertools.pairwise(node.elts)
        if isinstance(first, ast.Constant) and first.value == "-m" and isinstance(second, ast.Constant)
    ]
    assert not [name for name in started if str(name).startswith(PACKAGE) and name not in PROCESSES]


@pytest.mark.parametrize("module", MODULES)
def test_only_storage_opens_data_files(module: str) -> None:
    # machine.py and limits/ talk to the kernel through its files; the command line closes its own streams; the hook
    # runs in programs without Penstock, and writes what it timed; rivals of the lab read as they do elsewhere.
    kernel = ("penstock.machine", "penstock.limits")
    rivals = ("penstock.lab.rivals",)
    if is_under(module, ("penstock.storage", *kernel, *rivals, "penstock.cli.run", "penstock.doctor.hook")):
        return
    opening = {"open", "read_bytes", "write_bytes", "read_text", "write_text", "fromfile", "tofile", "memmap"}
    opened = {call for call in calls_in(module) if "." in call or call == "open"}
    assert not {call for call in opened if call.split(".")[-1] in opening}


QUESTIONS = {
    *("exists", "is_file", "is_dir", "is_symlink", "is_mount", "is_fifo", "samefile", "stat", "lstat"),
    *("iterdir", "glob", "rglob", "walk", "scandir", "listdir", "access", "lexists", "isfile", "isdir", "islink"),
    *("getsize", "getmtime"),
}
"""Methods of `pathlib` and functions of `os` that ask the file system about a path."""

ASK_THEMSELVES = {
    "penstock.machine": "reads the kernel's files on memory and control groups",
    "penstock.limits.cgroups": "looks for control groups, which are folders of the kernel",
    "penstock.limits.limited_run": "looks for disks and control groups in /sys",
    "penstock.doctor.usage": "counts the tasks of a process in /proc",
    "penstock.lab.rivals.ffcv_beton": "a rival, which runs as its users run it",
    "penstock.lab.rivals.learned_codec": "a rival, in a process of its own",
}
"""Modules that ask about something other than data, and what."""


def questions_in(module: str) -> set[str]:
    """Return the questions about paths that a module asks by itself; functions that it imports do not count."""
    asked = (call for call in calls_in(module) if "." in call)
    return {call for call in asked if call.split(".")[-1] in QUESTIONS and call != "ast.walk"}


@pytest.mark.parametrize("module", MODULES)
def test_only_storage_asks_whether_a_path_exists(module: str) -> None:
    if is_under(module, ("penstock.storage",)) or module in ASK_THEMSELVES:
        return
    assert not questions_in(module), f"ask penstock.storage instead: {sorted(questions_in(module))}"


@pytest.mark.parametrize("module", ASK_THEMSELVES)
def test_modules_that_may_ask_still_do(module: str) -> None:
    assert module in MODULES
    assert questions_in(module), "it needs no exception any more"


def test_the_interpreter_lock_is_taken_and_released_in_one_place() -> None:
    files = [path for path in (ROOT / "native").rglob("*") if path.suffix in (".cpp", ".h")]
    asking = {path.stem for path in files if re.search(r"gil_scoped|PyGILState|PyEval_", path.read_text("utf-8"))}
    assert asking == {"interpreter_lock"}


def test_files_stay_readable_in_one_sitting() -> None:
    folders = ("src", "native", "tests", "bench", "scripts", "spec", "fuzz")
    files = [path for folder in folders for path in (ROOT / folder).rglob("*") if path.suffix in (".py", ".cpp", ".h")]
    lengths = {str(path.relative_to(ROOT)): len(path.read_text(encoding="utf-8").splitlines()) for path in files}
    assert {path: lines for path, lines in lengths.items() if lines > 800} == {}
