"""System packages that a build needs: finds what is missing and installs it with apt, or says the one line to run."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Collection
from pathlib import Path

# pkg-config modules that CMakeLists.txt asks for, and the package that has each (the same on Debian and Ubuntu).
LIBRARIES = {
    "libdeflate": "libdeflate-dev",
    "libjpeg": "libjpeg-dev",
    "libwebp": "libwebp-dev",
    "libxxhash": "libxxhash-dev",
}

FUZZ_PACKAGES = ["clang", "libclang-rt-dev"]
BROWSERS = ("chromium", "chromium-headless-shell", "chromium-browser", "google-chrome")
ARM64_COMMANDS = {"aarch64-linux-gnu-g++": "g++-aarch64-linux-gnu", "qemu-aarch64": "qemu-user"}
CLANG_SUFFIXES = ("", *(f"-{version}" for version in range(22, 13, -1)))


class SetupError(Exception):
    """Error that stops the set-up, as one message for the person at the terminal."""


def missing_packages(groups: Collection[str] = ()) -> list[str]:
    """List the packages that the extension and a virtual environment need.

    The groups `fuzz`, `arm64` and `browser` want more: clang that can fuzz, a compiler and emulator for ARM, Chromium.
    """
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    packages = []
    if shutil.which("c++") is None:
        packages.append("g++")
    if not Path(sysconfig.get_path("include"), "Python.h").is_file():
        packages.append(f"{version}-dev")
    if "fuzz" in groups and not clang_can_fuzz():
        packages += FUZZ_PACKAGES
    if "arm64" in groups:
        packages += [package for command, package in ARM64_COMMANDS.items() if shutil.which(command) is None]
    if "browser" in groups and not any(shutil.which(name) for name in BROWSERS):
        packages.append("chromium")
    if not _has_module("ensurepip"):
        packages.append(f"{version}-venv")
    if shutil.which("pkg-config") is None:
        return [*packages, "pkg-config", *LIBRARIES.values()]
    return packages + [package for module, package in LIBRARIES.items() if not _has_library(module)]


def install_command(packages: list[str]) -> str:
    """Return the command line that a person would type.

    >>> install_command(["libwebp-dev", "pkg-config"])
    'sudo apt-get install -y libwebp-dev pkg-config'
    """
    return f"sudo apt-get install -y {' '.join(packages)}"


def apt_prefix(packages: list[str]) -> list[str]:
    """Return how to call apt: as root, or through sudo without a password; otherwise raise SetupError."""
    if shutil.which("apt-get") is None:
        raise SetupError(
            "system libraries are missing and this is neither Debian nor Ubuntu\n"
            f"  fix:   install what provides these pkg-config modules: {', '.join(LIBRARIES)}"
        )
    if os.geteuid() == 0:
        return []
    if shutil.which("sudo") and subprocess.run(["sudo", "-n", "true"], capture_output=True).returncode == 0:
        return ["sudo", "-n"]
    raise SetupError(f"system packages are missing, and this is not root\n  fix:   {install_command(packages)}")


def apt_commands(packages: list[str]) -> list[list[str]]:
    """Return the commands that install the packages; the first is enough if apt's lists are current."""
    prefix = [*apt_prefix(packages), "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-q"]
    install = [*prefix, "install", "-y", "--no-install-recommends", *packages]
    return [install, [*prefix, "update"], install]


def clang_suffix() -> str | None:
    """Return the suffix of `clang` and `clang++` for the compiler to use: "" or "-14"; None without clang."""
    return next((suffix for suffix in CLANG_SUFFIXES if shutil.which(f"clang++{suffix}")), None)


def clang_can_fuzz() -> bool:
    """Return whether clang is installed with libFuzzer and the sanitizers."""
    suffix = clang_suffix()
    if suffix is None:
        return False
    command = [f"clang++{suffix}", "-fsanitize=fuzzer,address,undefined", "-x", "c++", "-", "-o", os.devnull]
    program = 'extern "C" int LLVMFuzzerTestOneInput(const unsigned char*, unsigned long) { return 0; }'
    return subprocess.run(command, input=program, text=True, capture_output=True).returncode == 0


def _has_library(module: str) -> bool:
    return subprocess.run(["pkg-config", "--exists", module], capture_output=True).returncode == 0


def _has_module(name: str) -> bool:
    return subprocess.run([sys.executable, "-c", f"import {name}"], capture_output=True).returncode == 0
