"""Kernels run in Triton's interpreter here: exact, on the CPU, and slow. Its two slowest habits are left out.

The interpreter checks every addition for overflow, and patches `triton.language` anew for each call of a helper
function. Without the first, and with the second done once for each launch, it is five times as fast. Tests that use
`whole_interpreter` run it as it is.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
import triton.runtime.interpreter as interpreter


@pytest.fixture(autouse=True)
def quick_interpreter(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if "whole_interpreter" not in request.fixturenames:
        make_quick(monkeypatch)


@pytest.fixture
def whole_interpreter() -> None:
    """Checks every addition for overflow, as the interpreter does by itself."""


def make_quick(monkeypatch: pytest.MonkeyPatch) -> None:
    builder = interpreter.interpreter_builder
    function = interpreter.InterpretedFunction
    run = function.run
    patched: set[str] = set()

    def run_kernel(self: Any, *args: object, **kwargs: object) -> object:  # noqa: ANN401  # Triton has no types
        patched.clear()
        return run(self, *args, **kwargs)

    def call_helper(self: Any, *args: object, **kwargs: object) -> object:  # noqa: ANN401
        if self.fn.__module__ not in patched:
            interpreter._patch_lang(self.fn)
            patched.add(self.fn.__module__)
        return self.rewrite()(*args, **kwargs)

    monkeypatch.setattr(builder, "options", dataclasses.replace(builder.options, sanitize_overflow=False))
    monkeypatch.setattr(function, "run", run_kernel)
    monkeypatch.setattr(function, "__call__", call_helper)
