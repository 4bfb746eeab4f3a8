"""The shape of the tree: names of files, sizes of classes and signatures, and private names that stay private."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator

import pytest

from tests.import_graph import ROOT, SOURCE, modules, syntax

# Every folder may have these: they mean the same thing everywhere.
SHARED_NAMES = {"__init__", "__main__", "table", "contract"}
ADAPTERS = {"load/loader.py", "torch/loader.py", "jax/loader.py"}
# A shipped suite has the name of the contract that it tests.
SUITES = "testing/"

MOST_PARAMETERS = 8
LOADERS = {"penstock.load.loader", "penstock.torch.loader", "penstock.jax.loader"}
# Triton passes every pointer, stride and compile-time constant of a kernel as an argument of its own.
TRITON = "penstock.kernels.device."

MOST_CLASS_LINES = 250

# Private by an underscore, public by their documentation.
DOCUMENTED = {"_native", "_replace", "_asdict", "_fields", "_exit", "_getframe"}
TOOLS = ("tests", "bench", "scripts", "fuzz", "examples", "spec")
# Triton's interpreter rewrites each helper on every call; the tests of kernels would take minutes without this.
NAMED_EXCEPTIONS = {"tests/unit/kernels/conftest.py": {"interpreter._patch_lang"}}


def test_file_names_stand_for_one_thing() -> None:
    places = defaultdict(list)
    for path in modules().values():
        place = path.relative_to(SOURCE / "penstock").as_posix()
        if path.stem not in SHARED_NAMES and place not in ADAPTERS and not place.startswith(SUITES):
            places[path.stem].append(place)
    repeated = {name: found for name, found in places.items() if len(found) > 1}
    assert repeated == {}


@pytest.mark.parametrize("module", sorted(modules()))
def test_signatures_have_at_most_eight_parameters(module: str) -> None:
    if module.startswith(TRITON):
        return
    long = {
        node.name: count
        for node in ast.walk(syntax(module))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        if (count := num_parameters(node)) > MOST_PARAMETERS and not (module in LOADERS and node.name == "__init__")
    }
    assert long == {}


@pytest.mark.parametrize("module", sorted(modules()))
def test_classes_fit_on_a_few_screens(module: str) -> None:
    lengths = {
        f"{module}.{node.name}": (node.end_lineno or 0) - node.lineno + 1
        for node in ast.walk(syntax(module))
        if isinstance(node, ast.ClassDef)
    }
    large = {name for name, lines in lengths.items() if lines > MOST_CLASS_LINES}
    assert large == set()


def tool_files() -> list[str]:
    return sorted(path.relative_to(ROOT).as_posix() for top in TOOLS for path in (ROOT / top).rglob("*.py"))


@pytest.mark.parametrize("place", tool_files())
def test_tests_and_tools_use_public_names_alone(place: str) -> None:
    found = set(private_uses(ast.parse((ROOT / place).read_text(encoding="utf-8"))))
    assert found <= NAMED_EXCEPTIONS.get(place, set())


def num_parameters(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Return how many parameters a caller may give; `self` and `cls` do not count.

    >>> num_parameters(ast.parse("def f(self, a, *b, c=1, **d): ...").body[0])
    4
    """
    names = [*node.args.posonlyargs, *node.args.args]
    given = len(names) + len(node.args.kwonlyargs) + (node.args.vararg is not None) + (node.args.kwarg is not None)
    return given - (bool(names) and names[0].arg in ("self", "cls"))


def private_uses(tree: ast.AST) -> Iterator[str]:
    """Yield the private names of other objects that a file uses, as written.

    >>> sorted(private_uses(ast.parse("self._own; loader._plan; setattr(x, '_y', 1); from a import _b")))
    ['a._b', 'loader._plan', "setattr(x, '_y')"]
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and is_private(node.attr) and ast.unparse(node.value) not in OWN:
            yield ast.unparse(node)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names if is_private(alias.name))
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("setattr", "getattr")) and node.args[1:]:
            name = node.args[1]
            if isinstance(name, ast.Constant) and is_private(str(name.value)):
                yield f"{ast.unparse(node.func)}({ast.unparse(node.args[0])}, {ast.unparse(name)})"


OWN = {"self", "cls", "super()"}


def is_private(name: str) -> bool:
    """Tell whether a name is private to its object.

    >>> is_private("_plan"), is_private("__len__"), is_private("_replace")
    (True, False, False)
    """
    return name.startswith("_") and not name.startswith("__") and name not in DOCUMENTED
