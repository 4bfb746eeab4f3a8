"""Makes a fresh machine ready: system libraries, a virtual environment, pinned packages, the extension.

python3 -m scripts.setup [--venv DIR] GROUP…

A GROUP is a file of requirements/, `package` for Penstock itself, `arm64` for a compiler and an emulator of ARM, or
`browser` for Chromium, in which reports are looked at. `vision` goes into a folder of its own inside the environment,
without what its packages ask for: torchvision's wheel is made for CUDA, and who imports it by chance would fail.

Needs Python alone. A step whose inputs have not changed since it last succeeded is skipped silently: its stamp in the
environment holds a hash of them. Called by the Makefile.
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from scripts.system import SetupError, apt_commands, missing_packages

ROOT = Path(__file__).resolve().parent.parent
REQUIREMENTS = ROOT / "requirements"
LOCK = ROOT / "build" / "setup.lock"
APART = ("vision",)
"""Groups that are not on the path of the environment, except for tests that add them."""
NATIVE_INPUTS = ("pyproject.toml", "CMakeLists.txt", "native/**/*", "requirements/build.txt", "requirements/pins.txt")


def main(arguments: list[str]) -> int:
    """Run the steps that the groups need; 1 if one failed."""
    parser = argparse.ArgumentParser(description="Make this machine ready to build, test or lint Penstock.")
    parser.add_argument("--venv", type=Path, default=ROOT / ".venv")
    files = sorted(file.stem for file in REQUIREMENTS.glob("*.txt"))
    parser.add_argument("groups", nargs="+", choices=["arm64", "browser", "package", *files])
    options = parser.parse_args(arguments)
    venv = Environment(options.venv.resolve())
    try:
        _check_python()
        LOCK.parent.mkdir(exist_ok=True)
        with LOCK.open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            _install_system_packages(options.groups)
            for step in steps(venv, options.groups):
                step.run_if_needed(venv)
    except SetupError as error:
        print(f"setup: {error}", file=sys.stderr)
        return 1
    return 0


@dataclass(frozen=True)
class Environment:
    """A virtual environment and what set-up keeps in it."""

    folder: Path

    @property
    def python(self) -> Path:
        """Interpreter of the environment."""
        return self.folder / "bin" / "python"

    @property
    def stamps(self) -> Path:
        """A file per step that succeeded, holding the hash of the step's inputs."""
        return self.folder / ".stamps"

    @property
    def log(self) -> Path:
        """Log of the commands of the last step."""
        return self.folder / "setup.log"

    def pip_install(self, *arguments: str) -> None:
        """Run pip install here."""
        self.run([str(self.python), "-m", "pip", "install", "--disable-pip-version-check", *arguments])

    def run(self, command: list[str]) -> None:
        """Run a command, its output in the log; SetupError with the log's end if it fails."""
        with self.log.open("a") as log:
            code = subprocess.run(command, cwd=ROOT, stdout=log, stderr=subprocess.STDOUT).returncode
        if code != 0:
            tail = "\n".join(self.log.read_text(errors="replace").splitlines()[-40:])
            raise SetupError(f"`{' '.join(command)}` failed:\n{tail}\n  where: {self.log}")


@dataclass(frozen=True)
class Step:
    """Something done once for every state of its inputs."""

    name: str
    what: str
    key: str
    run: Callable[[], None]

    def run_if_needed(self, venv: Environment) -> None:
        """Run unless the stamp says that it succeeded with the same inputs."""
        stamp = venv.stamps / self.name
        if stamp.is_file() and stamp.read_text() == self.key:
            return
        print(f"setup: {self.what} … ", end="", flush=True)
        began = time.monotonic()
        venv.log.unlink(missing_ok=True)
        try:
            self.run()
        except SetupError:
            print("failed", flush=True)
            raise
        print(f"{time.monotonic() - began:.0f} s", flush=True)
        venv.stamps.mkdir(exist_ok=True)
        stamp.write_text(self.key)


def steps(venv: Environment, groups: list[str]) -> Iterable[Step]:
    """Yield the steps that the groups need, in order: torch first and alone, the package last."""
    yield Step("venv", f"virtual environment {venv.folder.name}", sys.version, lambda: _make_venv(venv))
    wanted = set(groups)
    if "package" in wanted:
        wanted |= {"build", "runtime"}
    for group in sorted(wanted - {"arm64", "browser", "package"}, key=lambda group: (group != "torch", group)):
        yield _requirements_step(venv, group)
    if "package" in wanted:
        yield Step("package", "penstock, compiled", _package_key(), lambda: _install_package(venv))


def _requirements_step(venv: Environment, group: str) -> Step:
    file = REQUIREMENTS / f"{group}.txt"
    key = _hash([file, REQUIREMENTS / "pins.txt"])
    where = ("--no-deps", "--upgrade", "--target", str(venv.folder / group)) if group in APART else ()
    return Step(group, f"packages of requirements/{group}.txt", key, lambda: venv.pip_install(*where, "-r", str(file)))


def _make_venv(venv: Environment) -> None:
    is_venv = (venv.folder / "pyvenv.cfg").is_file()
    if venv.folder.is_dir() and any(venv.folder.iterdir()) and not is_venv:
        raise SetupError(f"{venv.folder} is not a virtual environment\n  fix:   make VENV=some/other/folder …")
    clear = ["--clear"] if is_venv and _version_of(venv.python) != sys.version else []
    made = subprocess.run([sys.executable, "-m", "venv", *clear, str(venv.folder)], capture_output=True, text=True)
    if made.returncode != 0:
        raise SetupError(f"no virtual environment could be made:\n{made.stdout}{made.stderr}")


def _version_of(python: Path) -> str:
    try:
        return subprocess.check_output([str(python), "-c", "import sys; print(sys.version)"], text=True).strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def _install_package(venv: Environment) -> None:
    # In place, so that Python files need no second install; the build folder stays, so that a rebuild is incremental.
    venv.pip_install("--no-build-isolation", "--no-deps", "-e", str(ROOT))
    venv.run([str(venv.python), "-c", "import penstock"])


def _package_key() -> str:
    native = sorted(path for pattern in NATIVE_INPUTS for path in ROOT.glob(pattern) if path.is_file())
    modules = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "src").rglob("*.py"))
    return _hash(native, also="\n".join(modules))


def _hash(files: list[Path], also: str = "") -> str:
    digest = hashlib.sha256(also.encode())
    for file in files:
        content = file.read_bytes()
        digest.update(f"{file.relative_to(ROOT)} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()


def _check_python() -> None:
    if sys.version_info < (3, 10):  # noqa: UP036  # the one file that an older Python gets to run
        found = f"{sys.version_info.major}.{sys.version_info.minor}"
        raise SetupError(f"Python 3.10 or newer is needed, this is {found}\n  fix:   make PYTHON=python3.11 …")


def _install_system_packages(groups: list[str]) -> None:
    packages = missing_packages(groups)
    if not packages:
        return
    commands = apt_commands(packages)
    print(f"setup: system packages {' '.join(packages)} … ", end="", flush=True)
    for command in commands:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if done.returncode == 0 and not missing_packages(groups):
            print("done", flush=True)
            return
    raise SetupError(f"apt could not install {' '.join(packages)}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
