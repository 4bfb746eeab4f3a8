"""Fixtures that several folders share."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from penstock import _native
from tests.parts import collect
from tests.simd import PATHS

# Decides, when a kernel is imported, that it runs on the CPU. What needs compiled kernels starts a process of its own.
os.environ["TRITON_INTERPRET"] = "1"

# No test passes or fails by a clock: hypothesis would, by the time that an example or its drawing takes.
settings.register_profile("penstock", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("penstock")

LONG_SECONDS = 1800
"""A hang of a long test becomes a traceback after this; the others have `timeout` of pyproject.toml."""

SHARED_DATA = Path(__file__).parents[2] / "shared" / "data"


def pytest_configure() -> None:
    """Let Ctrl-C work here and in the processes that tests start, even if a script runs the tests in the background.

    A shell without job control starts background commands with SIGINT ignored, and every child inherits that.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--parts`, which `make test-all` passes."""
    parser.addoption("--parts", action="store_true", help="print how long each part of the tests took")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print tests and seconds by part. Several processes run tests, so the sum is more than the time that passed."""
    if not config.getoption("--parts"):
        return
    reports = [report for found in terminalreporter.stats.values() for report in found if hasattr(report, "duration")]
    parts = collect((report.nodeid, report.duration) for report in reports)
    terminalreporter.section("parts")
    for name, part in parts.items():
        terminalreporter.write_line(f"{part.seconds:9.1f} s {len(part.tests):6,} tests  {name}")
    terminalreporter.write_line(f"{sum(part.seconds for part in parts.values()):9.1f} s in all, over all processes")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give long tests longer: on a busy machine their minutes become many."""
    for item in items:
        if item.get_closest_marker("long") is not None and item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(LONG_SECONDS))


@pytest.fixture(scope="session")
def unprivileged() -> Sequence[str]:
    """What a command is put behind so that permissions bind it, even if the tests run as root."""
    return () if os.geteuid() != 0 else ("setpriv", "--bounding-set=-dac_override,-dac_read_search")


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real images beside the checkout. Absent on a stranger's machine; in CI it must be there."""
    if not SHARED_DATA.is_dir():
        message = "the real images of ../shared/data are missing"
        if os.environ.get("CI") == "true":
            pytest.fail(message)
        pytest.skip(message)
    return SHARED_DATA


@pytest.fixture(params=PATHS)
def simd_path(request: pytest.FixtureRequest) -> Iterator[str]:
    """Runs the test once for each SIMD path of this processor, with that path forced."""
    _native.force_simd_path(request.param)
    yield request.param
    _native.force_simd_path(_native.best_simd_path())
