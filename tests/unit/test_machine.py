"""Memory limits as kernels of both cgroup versions tell them, and what is made of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.machine import cpu_model, memory, this_machine

GIB = 1 << 30
MEMINFO = f"MemTotal: {16 * GIB // 1024} kB\nMemFree: 1 kB\nMemAvailable: {12 * GIB // 1024} kB\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write(tmp_path / "proc/meminfo", MEMINFO)
    return tmp_path


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_without_cgroups_all_memory_counts(root: Path) -> None:
    found = memory(root)

    assert (found.total_bytes, found.limit_bytes, found.available_bytes) == (16 * GIB, None, 12 * GIB)


def test_version_2_limits_the_process(root: Path) -> None:
    group = root / "sys/fs/cgroup/job"
    write(root / "proc/self/cgroup", "0::/job\n")
    write(group / "memory.max", f"{4 * GIB}\n")
    write(group / "memory.current", f"{3 * GIB}\n")
    write(group / "memory.stat", f"anon 1\ninactive_file {GIB}\n")

    found = memory(root)

    assert (found.limit_bytes, found.available_bytes) == (4 * GIB, 2 * GIB)


def test_version_1_limits_the_process(root: Path) -> None:
    group = root / "sys/fs/cgroup/memory/job"
    write(root / "proc/self/cgroup", "5:cpu,cpuacct:/elsewhere\n4:memory:/job\n")
    write(group / "memory.limit_in_bytes", f"{2 * GIB}\n")
    write(group / "memory.usage_in_bytes", f"{2 * GIB}\n")
    write(group / "memory.stat", f"inactive_file 5\ntotal_inactive_file {GIB}\n")

    found = memory(root)

    assert (found.limit_bytes, found.available_bytes) == (2 * GIB, GIB)


def test_a_parents_limit_counts(root: Path) -> None:
    write(root / "proc/self/cgroup", "0::/slice/job\n")
    write(root / "sys/fs/cgroup/slice/job/memory.max", "max\n")
    write(root / "sys/fs/cgroup/slice/memory.max", f"{GIB}\n")

    assert memory(root).limit_bytes == GIB


def test_a_containers_limit_is_found_though_its_path_is_the_hosts(root: Path) -> None:
    write(root / "proc/self/cgroup", "0::/docker/0123\n")
    write(root / "sys/fs/cgroup/memory.max", f"{GIB}\n")

    assert memory(root).limit_bytes == GIB


def test_a_limit_above_the_machines_memory_is_none(root: Path) -> None:
    write(root / "proc/self/cgroup", "4:memory:/\n")
    write(root / "sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n")

    assert memory(root).limit_bytes is None


def test_the_processor_is_named_as_the_kernel_does(root: Path) -> None:
    write(root / "proc/cpuinfo", "processor : 0\nmodel name\t: Some  CPU @ 2 GHz\n")

    assert cpu_model(root) == "Some CPU @ 2 GHz"


def test_this_machine_has_cores_and_memory() -> None:
    machine = this_machine()

    assert machine.cores >= 1
    assert 0 < machine.memory.available_bytes <= machine.memory.total_bytes
    assert machine.simd
    assert machine.cpu
