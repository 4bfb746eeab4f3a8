"""`doctor` finds a known sleep in the loader of a program that does not know of it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from penstock.doctor import diagnose_run, watch_command
from penstock.errors import ArgumentError

pytest.importorskip("torch", reason="the watched programs use torch's DataLoader")

PROGRAM = """
import time
from torch.utils.data import DataLoader, Dataset

class Slow(Dataset):
    root = "photos"
    def __len__(self):
        return 24
    def __getitem__(self, index):
        time.sleep({load})
        return index

if __name__ == "__main__":
    for epoch in range(2):
        for batch in DataLoader(Slow(), batch_size=4, num_workers={workers}):
            time.sleep({step})
    print("trained")
"""


def program(folder: Path, *, load: float, step: float, workers: int = 0) -> list[str]:
    path = folder / "train.py"
    path.write_text(PROGRAM.format(load=load, step=step, workers=workers))
    return [sys.executable, str(path)]


@pytest.mark.parametrize("workers", [0, pytest.param(1, marks=pytest.mark.long)])
def test_a_sleep_in_the_loader_is_found(tmp_path: Path, workers: int) -> None:
    exit_code, observed = watch_command(program(tmp_path, load=0.02, step=0.001, workers=workers))
    found = diagnose_run(observed)
    assert (exit_code, observed.num_batches, observed.num_workers) == (0, 12, workers)
    assert observed.roots == ("photos",)
    assert found.stall_share > 0.5
    assert found.bottleneck in ("latency", "decode")  # decode only if others keep every core busy


def test_a_sleep_in_the_step_is_not_blamed_on_the_loader(tmp_path: Path) -> None:
    _, observed = watch_command(program(tmp_path, load=0.0, step=0.05))
    assert diagnose_run(observed).stall_share < 0.3
    assert observed.step_seconds > 0.9 * 10 * 0.05


def test_the_command_s_own_start_up_file_still_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sitecustomize.py").write_text("import builtins; builtins.was_here = True\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    exit_code, _ = watch_command([sys.executable, "-c", "import builtins; raise SystemExit(0 if was_here else 1)"])
    assert exit_code == 0


def test_exit_codes_come_back_and_bad_commands_are_refused() -> None:
    assert watch_command([sys.executable, "-c", "raise SystemExit(5)"])[0] == 5
    with pytest.raises(ArgumentError, match="could not start"):
        watch_command(["no-such-command-here"])
    with pytest.raises(ArgumentError, match="no command"):
        watch_command([])


def test_cpu_time_of_children_is_counted() -> None:
    spin = "import time; end = time.process_time() + 0.5\nwhile time.process_time() < end: pass\ntime.sleep(0.5)"
    child = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {spin!r}])"
    _, observed = watch_command([sys.executable, "-c", child])
    assert observed.cpu_seconds > 0.4


@pytest.mark.long
def test_a_dataset_that_raises_when_it_is_looked_at_trains_on(tmp_path: Path) -> None:
    text = PROGRAM.format(load=0, step=0, workers=0).replace(
        '    root = "photos"\n',
        "    @property\n    def root(self):\n        raise RuntimeError('only known on the cluster')\n"
        "    @property\n    def dataset(self):\n        raise KeyError\n",
    )
    (tmp_path / "train.py").write_text(text)

    exit_code, observed = watch_command([sys.executable, str(tmp_path / "train.py")])

    assert (exit_code, observed.num_batches, observed.roots) == (0, 12, ())


@pytest.mark.long
def test_a_loader_is_looked_at_once_a_pass(tmp_path: Path) -> None:
    text = PROGRAM.format(load=0, step=0, workers=0).replace(
        '    root = "photos"\n',
        "    asked = 0\n    @property\n    def root(self):\n        Slow.asked += 1\n        return 'photos'\n",
    )
    (tmp_path / "train.py").write_text(f"{text}    raise SystemExit(Slow.asked)\n")

    exit_code, observed = watch_command([sys.executable, str(tmp_path / "train.py")])

    assert observed.num_batches == 12
    assert 1 <= exit_code <= 2
