"""What several tests of the lab need."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from penstock.limits import Limits
from penstock.limits import run as run_limited


@pytest.fixture(scope="session")
def needs_groups(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Limits need control groups; a container without them cannot measure those cells."""
    done = run_limited(["true"], Limits(disk_bytes_per_second=1e8, memory_bytes=2**30), on=tmp_path_factory.mktemp("x"))
    if not all(held.startswith("cgroup") for held in done.enforced_by.as_dict().values()):
        pytest.skip(f"no control groups here: {done.enforced_by}")


@pytest.fixture
def few_threads() -> Iterator[None]:
    """torch counts cores by itself and would fight the other tests for them."""
    torch = pytest.importorskip("torch")
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
