"""Import the packages that only some commands need: scipy, jinja2, typer and rich.

`pip install penstock` installs them, but `import penstock` and the loader run without them. So an environment for
training alone can do with NumPy and pyarrow.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from penstock.errors import PenstockError

TOOLS = {
    "jinja2": "write reports",
    "rich": "print tables and progress bars",
    "scipy": "choose formats and judge results",
    "typer": "run the command line",
}
"""Name of a package, and what it is needed to do."""


def import_tool(module: str) -> ModuleType:
    """Import a module of one of the tools.

    Raises PenstockError with the command that installs it, if it is missing.

    >>> import_tool("scipy.stats").__name__
    'scipy.stats'
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as missing:
        error = missing_tool(missing)
        if error is None:
            raise
        raise error from missing


def missing_tool(missing: ModuleNotFoundError) -> PenstockError | None:
    """Return the error for a missing tool; None if it is another module that is missing."""
    package = (missing.name or "").partition(".")[0]
    if package not in TOOLS:
        return None
    return PenstockError(
        f"{package} is not installed; Penstock needs it to {TOOLS[package]}",
        where="this Python environment",
        fix=f"pip install {package}",
        code=100,
    )
