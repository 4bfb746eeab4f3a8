"""Checks the language of docstrings, comments of headers, help texts, error messages and pages.

Docstrings stand alone in a tooltip, sentences have at most forty words, and the terms of README and guide are plain
words or in docs/glossary.md. CONTRIBUTING.md explains the rules.

python -m scripts.language [PATH …]
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from scripts.language_rules import help_problems, prose_problems, summary_problems, unknown_terms

ROOT = Path(__file__).resolve().parent.parent
GLOSSARY = ROOT / "docs" / "glossary.md"
PYTHON = ("src/penstock", "scripts", "bench", "fuzz", "examples", "spec/reference")
HEADERS = ("native",)
PAGES = (
    "*.md",
    "docs/*.md",
    "docs/guide/*.md",
    "docs/extending/*.md",
    "docs/decisions/*.md",
    "docs/results/*.md",
    "bench/*.md",
    "fuzz/*.md",
    "spec/*.md",
)
TERM_PAGES = ("README.md", "docs/*.md", "docs/guide/*.md", "docs/extending/*.md")
# Records of the past, which are not rewritten.
HISTORY = frozenset({"CHANGELOG.md"})
# Files and folders that are not clean yet. The list may only shrink: a test fails when a path in it is clean.
UNFINISHED: tuple[str, ...] = ("native/codecs",)

# Stands for a value that is filled into a text.
FILLED_IN = "X"
PROPERTIES = frozenset({"property", "cached_property", "setter"})
ERRORS = re.compile(r"(?:Error|Warning|Failure|refuse\w*|warn)$")


@dataclass(frozen=True, order=True)
class Problem:
    """One complaint about the text at a line of a file."""

    file: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.text}"


def main(arguments: list[str]) -> int:
    """Print every problem outside the unfinished paths, and return 1 if there is one."""
    found = [problem for problem in problems() if not is_unfinished(problem.file)]
    if arguments:
        found = [problem for problem in problems() if problem.file.startswith(tuple(arguments))]
    for problem in found:
        print(problem)
    return 1 if found else 0


def problems() -> list[Problem]:
    """Check every file and return the complaints, sorted by file and line."""
    found: list[Problem] = []
    for folder in PYTHON:
        for path in sorted((ROOT / folder).rglob("*.py")):
            found += python_problems(_name(path), path.read_text(encoding="utf-8"))
    for folder in HEADERS:
        for path in sorted((ROOT / folder).rglob("*.h")):
            found += header_problems(_name(path), path.read_text(encoding="utf-8"))
    for path in _matching(PAGES):
        found += page_problems(_name(path), path.read_text(encoding="utf-8"))
    terms = glossary_terms()
    for path in _matching(TERM_PAGES):
        found += term_problems(_name(path), path.read_text(encoding="utf-8"), terms)
    return sorted(set(found))


def is_unfinished(file: str) -> bool:
    """Tell whether a file is on the list of those that are not clean yet."""
    return any(file == path or file.startswith(f"{path}/") for path in UNFINISHED)


def python_problems(file: str, source: str) -> Iterator[Problem]:
    """Check the docstrings, help texts and error messages of a Python file."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            yield from _docstring_problems(file, node)
            yield from _attribute_problems(file, node)
        elif isinstance(node, ast.Call):
            yield from _call_problems(file, node)


def header_problems(file: str, source: str) -> Iterator[Problem]:
    """Check the `///` comments of a C++ header: each begins with a sentence that stands alone."""
    for line, block in _comment_blocks(source):
        summary = re.split(r"(?<=[.])\s", block, maxsplit=1)[0]
        for text in (*summary_problems(summary, is_function=False), *prose_problems(_without_code(block))):
            yield Problem(file, line, f"comment {text}")


def page_problems(file: str, source: str) -> Iterator[Problem]:
    """Check the prose of a Markdown page: long sentences and dialect, outside code."""
    if file in HISTORY:
        return
    for line, paragraph in paragraphs(source):
        for text in prose_problems(paragraph):
            yield Problem(file, line, text)


def term_problems(file: str, source: str, glossary: frozenset[str]) -> Iterator[Problem]:
    """Check that the words of a page are plain, or explained in the glossary."""
    for line, paragraph in paragraphs(source):
        for word in sorted(unknown_terms(paragraph, glossary)):
            yield Problem(file, line, f"'{word}' is neither a plain word (scripts/words) nor in docs/glossary.md")
        for term in re.findall(r"(?<![\w*])\*([A-Za-z][\w -]*)\*(?![\w*])", paragraph):
            if not {term.lower(), term.lower().removesuffix("s")} & glossary and not term[0].isupper():
                yield Problem(file, line, f"'{term}' is set as a term, but docs/glossary.md does not explain it")


def paragraphs(source: str) -> Iterator[tuple[int, str]]:
    """Yield the line and the prose of each paragraph, list item and table cell, without code and links.

    >>> list(paragraphs("# Title\\n\\nOne `x` line.\\n\\n| a | b |\\n"))
    [(1, 'Title'), (3, 'One CODE line.'), (5, 'a'), (5, 'b')]
    """
    text = re.sub(r"^ *(```|~~~).*?^ *\1 *$", _blank, source, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"<!-- made from code.*?<!-- end -->", _blank, text, flags=re.DOTALL)
    text = re.sub(r"<[^<>]*>", _blank, text)
    line = 1
    for block in re.split(r"(\n(?=\s*\n|\s*(?:[-*]|\d+\.) |\||#)|(?<=\|)\n)", text):
        stripped = block.strip()
        start = line + block[: len(block) - len(block.lstrip())].count("\n")
        line += block.count("\n")
        if stripped.startswith("|"):
            cells = stripped.strip("|").split("|")
            yield from ((start, _without_code(cell.strip())) for cell in cells if re.search(r"\w", cell))
        elif stripped:
            yield start, _without_code(re.sub(r"^(?:#+|[-*]|\d+\.|>) ", "", stripped))


def glossary_terms() -> frozenset[str]:
    """Return the words that docs/glossary.md explains, in lower case."""
    if not GLOSSARY.exists():
        return frozenset()
    named = re.findall(r"^- \*\*(.+?)\*\*", GLOSSARY.read_text(encoding="utf-8"), flags=re.MULTILINE)
    whole = {term.strip().strip("`").lower() for names in named for term in names.split(",")}
    return frozenset(whole | {word for term in whole for word in term.split()})


def _docstring_problems(
    file: str, node: ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
) -> Iterator[Problem]:
    text = ast.get_docstring(node)
    if text is None:
        return
    line = node.body[0].lineno
    is_function = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and not _is_property(node)
    for complaint in summary_problems(text.splitlines()[0], is_function=is_function):
        yield Problem(file, line, f"docstring {complaint}")
    prose = re.sub(r"^ *>>>.*?(?=\n\s*\n|\Z)", "", text, flags=re.DOTALL | re.MULTILINE)
    prose = re.sub(r"^.*\S {3,}\S.*$", "", prose, flags=re.MULTILINE)  # tables and drawings
    for paragraph in re.split(r"\n\s*\n|\n(?=\s*(?:[-*|] |[├└│]))", prose):
        for complaint in prose_problems(_without_code(paragraph)):
            yield Problem(file, line, f"docstring {complaint}")


def _attribute_problems(file: str, node: ast.AST) -> Iterator[Problem]:
    """Check the strings that document the assignment above them."""
    body = getattr(node, "body", [])
    for before, after in pairwise(body):
        if isinstance(before, (ast.Assign, ast.AnnAssign)) and isinstance(after, ast.Expr):
            for text in filter(None, [_text_of(after.value)]):
                for complaint in (*summary_problems(text.splitlines()[0], is_function=False), *prose_problems(text)):
                    yield Problem(file, after.lineno, f"attribute {complaint}")


def _is_property(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any(_last_name(decorator) in PROPERTIES for decorator in function.decorator_list)


def _call_problems(file: str, call: ast.Call) -> Iterator[Problem]:
    for keyword in call.keywords:
        if keyword.arg == "help" and (text := _text_of(keyword.value)) and not text.startswith(FILLED_IN):
            for complaint in (*help_problems(text), *prose_problems(text)):
                yield Problem(file, keyword.value.lineno, f"help text {complaint}")
    if ERRORS.search(_last_name(call)):
        for argument in (*call.args, *(keyword.value for keyword in call.keywords)):
            for complaint in prose_problems(_without_code(_text_of(argument))):
                yield Problem(file, argument.lineno, f"message {complaint}")


def _text_of(node: ast.expr) -> str:
    """Return the text of a string; values that are filled in become `FILLED_IN`."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(str(value.value) if isinstance(value, ast.Constant) else FILLED_IN for value in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _text_of(node.left) + _text_of(node.right)
    return ""


def _last_name(node: ast.expr) -> str:
    """Return the last part of a dotted name, of a call the name that is called."""
    if isinstance(node, ast.Call):
        return _last_name(node.func)
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def _comment_blocks(source: str) -> Iterator[tuple[int, str]]:
    """Yield the line and the joined text of each run of `///` lines."""
    block: list[str] = []
    for number, text in enumerate([*source.splitlines(), ""], start=1):
        match = re.match(r"\s*///(?!<) ?(.*)", text)
        if match:
            block.append(match[1])
        elif block:
            yield number - len(block), "\n".join(block)
            block = []


def _without_code(text: str) -> str:
    """Replace code by one word, and links by their text."""
    text = re.sub(r"`[^`]*`", "CODE", text)
    return re.sub(r"!?\[([^\]]*)\](?:\([^)]*\))?", r"\1", text)


def _blank(match: re.Match[str]) -> str:
    return "\n" * match[0].count("\n")


def _matching(patterns: Iterable[str]) -> list[Path]:
    return sorted({path for pattern in patterns for path in ROOT.glob(pattern)})


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
