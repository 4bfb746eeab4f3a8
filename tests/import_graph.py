"""What imports what: the modules of src/penstock and their import statements, those inside functions included."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src"
PACKAGE = "penstock"


@cache
def modules() -> dict[str, Path]:
    """Dotted names and files; `penstock` itself is its `__init__.py`."""
    return {_name_of(path): path for path in sorted((SOURCE / PACKAGE).rglob("*.py"))}


@cache
def syntax(module: str) -> ast.Module:
    """The parsed file of a module."""
    return ast.parse(modules()[module].read_text(encoding="utf-8"))


def imports_of(module: str) -> set[str]:
    """Dotted names that a module imports; of `from a import b`, `a.b` if that is a module and `a` otherwise."""
    known = {*modules(), f"{PACKAGE}._native"}
    found: set[str] = set()
    for node in ast.walk(syntax(module)):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = _base_of(module, node)
            names = {f"{base}.{alias.name}" for alias in node.names}
            found.update(name if name in known else base for name in names)
    return found


def inner_graph() -> dict[str, set[str]]:
    """For every module, those of this package that it imports."""
    return {module: imports_of(module) & set(modules()) - {module} for module in modules()}


def find_circle(graph: Mapping[str, set[str]]) -> list[str]:
    """A path that comes back to where it began, or nothing.

    >>> find_circle({"a": {"b"}, "b": {"c"}, "c": {"b"}})
    ['b', 'c', 'b']
    >>> find_circle({"a": {"b", "c"}, "b": {"c"}, "c": set()})
    []
    """
    done: set[str] = set()

    def walk(node: str, path: list[str]) -> list[str]:
        if node in path:
            return [*path[path.index(node) :], node]
        if node in done:
            return []
        for following in sorted(graph.get(node, ())):
            if circle := walk(following, [*path, node]):
                return circle
        done.add(node)
        return []

    return next((circle for node in graph if (circle := walk(node, []))), [])


def calls_in(module: str) -> Iterator[str]:
    """Names of what a module calls, as written: `print`, `path.open`."""
    for node in ast.walk(syntax(module)):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func)


def _name_of(path: Path) -> str:
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _base_of(module: str, node: ast.ImportFrom) -> str:
    if node.level == 0:
        return node.module or ""
    is_package = modules()[module].name == "__init__.py"
    parts = module.split(".")[: None if is_package and node.level == 1 else (1 if is_package else 0) - node.level]
    return ".".join([*parts, node.module] if node.module else parts)
