"""Builds the package for 64-bit ARM on another machine, and runs Python with it under emulation.

python -m scripts.arm64 [PYTHON ARGUMENT…]     as in: python -m scripts.arm64 -m penstock info

A folder in build/ gets Debian's Python and libraries for arm64 (unpacked, never installed), the pinned Python packages
for that machine, and the extension, cross-compiled. Needs Debian, g++-aarch64-linux-gnu and qemu-user.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from scripts.system import LIBRARIES, SetupError

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "build" / "arm64"
SYSTEM = FOLDER / "system"
SITE = FOLDER / "site"
NATIVE = FOLDER / "native"
VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"

PLATFORMS = ("manylinux_2_28_aarch64", "manylinux_2_27_aarch64", "manylinux_2_17_aarch64", "manylinux2014_aarch64")
PACKAGES = ("numpy", "pillow", "rich", "typer", "hypothesis", "pytest", "pytest-timeout")


def main(arguments: list[str]) -> int:
    """Build what is missing, then run Python for ARM with the arguments."""
    try:
        build()
    except SetupError as error:
        print(f"arm64: {error}", file=sys.stderr)
        return 1
    return subprocess.run(python_command(*arguments), env=environment()).returncode


def build() -> None:
    """Build everything that `python_command` needs; existing parts are kept."""
    unpack_system()
    install_site()
    compile_extension()


def python_command(*arguments: str) -> list[str]:
    """Return a command line of Python for ARM."""
    return ["qemu-aarch64", str(SYSTEM / "usr" / "bin" / f"python{VERSION}"), *arguments]


def environment() -> dict[str, str]:
    """Return the environment in which the emulator finds libraries, and Python its packages."""
    return {**os.environ, "QEMU_LD_PREFIX": str(SYSTEM), "PYTHONPATH": str(SITE), "PYTHONDONTWRITEBYTECODE": "1"}


def unpack_system() -> None:
    """Unpack Debian's Python, its headers and our libraries for arm64, with their dependencies."""
    if (SYSTEM / "usr" / "bin" / f"python{VERSION}").exists():
        return
    state, cache = FOLDER / "apt" / "state", FOLDER / "apt" / "cache"
    for folder in (state / "lists" / "partial", cache / "archives" / "partial"):
        folder.mkdir(parents=True, exist_ok=True)
    (state / "status").touch()  # as if nothing were installed: every dependency is fetched
    apt = ["apt-get", "-q", "-y", "-o", "APT::Architecture=arm64", "-o", "APT::Architectures::=arm64"]
    apt += ["-o", f"Dir::State={state}", "-o", f"Dir::State::status={state / 'status'}", "-o", f"Dir::Cache={cache}"]
    apt += ["-o", "APT::Sandbox::User=root", "-o", f"Debug::NoLocking={os.geteuid() != 0}"]
    _run([*apt, "update"])
    wanted = [f"python{VERSION}-minimal", f"libpython{VERSION}-dev", "libstdc++6", *LIBRARIES.values()]
    _run([*apt, "install", "--download-only", "--no-install-recommends", *wanted])
    for package in sorted((cache / "archives").glob("*.deb")):
        _run(["dpkg-deb", "-x", str(package), str(SYSTEM)])


def install_site() -> None:
    """Install the pinned packages of the tests, as wheels for ARM."""
    if (SITE / "numpy").is_dir():
        return
    target = ["--target", str(SITE), "--only-binary=:all:", "--python-version", VERSION, "--implementation", "cp"]
    tags = [f"--platform={platform}" for platform in PLATFORMS]
    tags += [f"--abi={abi}" for abi in (f"cp{VERSION.replace('.', '')}", "abi3", "none")]
    constraints = ["-c", str(ROOT / "requirements" / "pins.txt")]
    _run([sys.executable, "-m", "pip", "install", *target, *tags, *constraints, *PACKAGES])


def compile_extension() -> None:
    """Compile the extension for ARM, next to a link to the package's Python files."""
    libraries = SYSTEM / "usr" / "lib" / "aarch64-linux-gnu"
    headers = SYSTEM / "usr" / "include"
    tools = str(Path(sys.executable).parent)
    finding = {
        "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}",
        "PKG_CONFIG_LIBDIR": str(libraries / "pkgconfig"),
        "PKG_CONFIG_SYSROOT_DIR": str(SYSTEM),
    }
    nanobind = _run([sys.executable, "-m", "nanobind", "--cmake_dir"]).strip()
    settings = {
        "CMAKE_SYSTEM_NAME": "Linux",
        "CMAKE_SYSTEM_PROCESSOR": "aarch64",
        "CMAKE_FIND_ROOT_PATH": str(SYSTEM),
        "CMAKE_FIND_ROOT_PATH_MODE_PROGRAM": "NEVER",
        "CMAKE_C_COMPILER": "aarch64-linux-gnu-gcc",
        "CMAKE_CXX_COMPILER": "aarch64-linux-gnu-g++",
        "CMAKE_CXX_FLAGS": f"-isystem {headers / 'aarch64-linux-gnu'} -idirafter {headers} -Wno-psabi",
        "CMAKE_MODULE_LINKER_FLAGS": f"-Wl,-rpath-link,{libraries}",
        "CMAKE_BUILD_TYPE": "Release",
        "Python_EXECUTABLE": sys.executable,
        "Python_INCLUDE_DIR": str(headers / f"python{VERSION}"),
        "nanobind_DIR": nanobind,
    }
    options = [f"-D{name}={value}" for name, value in settings.items()]
    _run(["cmake", "-G", "Ninja", "-S", str(ROOT), "-B", str(NATIVE), *options], finding)
    _run(["cmake", "--build", str(NATIVE)], finding)
    # CMake asked this machine's Python for the ending; ARM's looks for its own.
    (built,) = (NATIVE / "native").glob("_native*.so")
    package = SITE / "penstock"
    shutil.rmtree(package, ignore_errors=True)
    shutil.copytree(ROOT / "src" / "penstock", package, ignore=shutil.ignore_patterns("__pycache__", "*.so"))
    shutil.copy(built, package / f"_native.cpython-{VERSION.replace('.', '')}-aarch64-linux-gnu.so")


def _run(command: list[str], extra: dict[str, str] | None = None) -> str:
    done = subprocess.run(command, env={**os.environ, **(extra or {})}, capture_output=True, text=True)
    if done.returncode != 0:
        raise SetupError(f"`{' '.join(command)}` failed:\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    return done.stdout


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
