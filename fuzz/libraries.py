"""Build libc++, libjpeg-turbo, libwebp, libdeflate and xxHash with MemorySanitizer, from the distribution's sources.

MemorySanitizer needs every byte to be written by code that it has instrumented: with the system's own libraries each
decode would look like a use of uninitialised memory. The sources are those of the packages that are installed here,
fetched by apt into the build folder; nothing is kept in the repository.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from scripts.system import CLANG_SUFFIXES, LIBRARIES, install_command

FLAGS = "-O1 -g1 -fno-omit-frame-pointer -fPIC -fsanitize=memory -fsanitize=fuzzer-no-link"
LEAST_CLANG = 16
"""The first whose libc++ has the algorithms of C++20 that native/ uses."""
TRIED_CLANG = 19
LIBCXX_PARTS = ("cmake", "libcxx", "libcxxabi", "llvm/cmake", "llvm/utils/llvm-lit", "runtimes")
"""Folders of LLVM's sources that a libc++ is built from."""
SHALLOW = ("--wildcards", "--no-wildcards-match-slash")
"""Arguments of tar: a name with a star stands for one folder, not for any number of them."""
APT_LISTS = Path("/etc/apt")
PKG_CONFIG = """\
Name: {name}
Description: instrumented
Version: {version}
Cflags: -I{prefix}/include
Libs: {libs}
"""


class LibraryError(Exception):
    """Reason why the instrumented libraries are not available, and what to do about it."""


def build_libraries(folder: Path) -> Path:
    """Fetch and compile the libraries unless that is done; the prefix that they are installed under."""
    prefix = folder / "memory"
    done = folder / "memory.done"
    versions = source_versions()
    key = repr((versions, FLAGS, LIBCXX_PARTS))
    if done.is_file() and done.read_text() == key:
        return prefix
    if shutil.which("dpkg-source") is None:
        raise LibraryError("dpkg-source is missing\n  fix:   sudo apt-get install -y dpkg-dev")
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "sources").mkdir(parents=True)
    fetch_sources(versions, folder)
    _libcxx(folder / "sources", prefix)
    for name, build in (("libjpeg-turbo", _jpeg), ("libwebp", _webp), ("libdeflate", _deflate), ("xxhash", _xxhash)):
        (source,) = [path for path in (folder / "sources").glob(f"{name}-*") if path.is_dir()]
        build(source, prefix, versions[name])
    done.write_text(key)
    return prefix


def source_versions() -> dict[str, str]:
    """Name and version of the source packages of the libraries, and of the compiler, that are installed."""
    found = {}
    for package in (*LIBRARIES.values(), f"clang-{clang_version(memory_suffix())}"):
        told = subprocess.run(
            ["dpkg-query", "-W", "-f", "${source:Package} ${source:Version}", package], capture_output=True, text=True
        )
        if told.returncode != 0:
            raise LibraryError(f"package {package} is not installed\n  fix:   sudo apt-get install -y {package}")
        name, version = told.stdout.split()
        found[name] = version
    return found


def memory_suffix() -> str:
    """Return the ending of the name of the newest clang. One compiler must build everything that is instrumented."""
    for suffix in sorted(CLANG_SUFFIXES, key=lambda suffix: -(clang_version(suffix) or 0)):
        if (clang_version(suffix) or 0) >= LEAST_CLANG:
            return suffix
    packages = [f"clang-{TRIED_CLANG}", f"libclang-rt-{TRIED_CLANG}-dev"]
    raise LibraryError(
        f"MemorySanitizer needs clang {LEAST_CLANG} or newer\n  fix:   {install_command(packages)}",
    )


@cache
def clang_version(suffix: str) -> int | None:
    """Return the main version of the clang with this suffix; None without such a clang."""
    command = shutil.which(f"clang++{suffix}")
    if command is None:
        return None
    return int(
        subprocess.run([command, "-dumpversion"], capture_output=True, text=True, check=True).stdout.split(".")[0]
    )


def fetch_sources(versions: dict[str, str], folder: Path) -> None:
    """Let apt fetch and unpack source packages; the machine's own lists stay as they are.

    The entries of the machine's sources are taken for source packages in a list of this folder.
    """
    lists = folder / "apt"
    for part in ("parts", "lists/partial", "cache/archives/partial"):
        (lists / part).mkdir(parents=True)
    for file in [APT_LISTS / "sources.list", *sorted((APT_LISTS / "sources.list.d").glob("*"))]:
        if file.is_file() and file.suffix in (".list", ".sources"):
            (lists / "parts" / file.name).write_text(as_source_entries(file.read_text()))
    options = [
        *("-o", "Dir::Etc::sourcelist=/dev/null", "-o", f"Dir::Etc::sourceparts={lists / 'parts'}"),
        *("-o", f"Dir::State::lists={lists / 'lists'}", "-o", f"Dir::Cache={lists / 'cache'}"),
        *("-o", "APT::Sandbox::User=", "-o", "Debug::NoLocking=1"),
    ]
    _run(["apt-get", "-q", *options, "update"], folder)
    compiler = [name for name in versions if name.startswith("llvm-toolchain")]
    wanted = [f"{name}={version}" for name, version in versions.items() if name not in compiler]
    _run(["apt-get", "-q", *options, "source", *wanted], folder / "sources")
    for name in compiler:  # of 160 MB, few folders are wanted
        command = ["apt-get", "-q", *options, "source", "--download-only", f"{name}={versions[name]}"]
        _run(command, folder / "sources")


def as_source_entries(text: str) -> str:
    """Convert apt's list of binary packages to source packages.

    >>> as_source_entries("Types: deb\\nSuites: stable\\n")
    'Types: deb-src\\nSuites: stable\\n'
    >>> as_source_entries("deb [signed-by=/k] place stable main\\n")
    'deb-src [signed-by=/k] place stable main\\n'
    """
    text = re.sub(r"(?m)^Types:.*$", "Types: deb-src", text)
    return re.sub(r"(?m)^deb\s", "deb-src ", text)


def _libcxx(sources: Path, prefix: Path) -> None:
    """Build LLVM's C++ library and its run-time support, as static libraries."""
    (archive,) = sources.glob("llvm-toolchain-*.orig.tar.*")
    tree = sources / "llvm"
    tree.mkdir()
    names = [f"*/{part}" for part in LIBCXX_PARTS]
    excluded = [f"--exclude=*/{name}/*" for name in ("test", "docs", "benchmarks")]
    _run(["tar", "-xf", str(archive), "--strip-components=1", *excluded, *SHALLOW, *names], tree)
    _cmake(
        tree / "runtimes",
        prefix,
        *("-DLLVM_ENABLE_RUNTIMES=libcxx;libcxxabi", "-DLIBCXX_CXX_ABI=libcxxabi", "-DLLVM_INCLUDE_TESTS=OFF"),
        *(f"-D{name}_ENABLE_SHARED=OFF" for name in ("LIBCXX", "LIBCXXABI")),
        *(f"-D{name}_INCLUDE_TESTS=OFF" for name in ("LIBCXX", "LIBCXXABI")),
        *(f"-DLIBCXX_INCLUDE_{name}=OFF" for name in ("BENCHMARKS", "DOCS")),
        *("-DLIBCXX_INSTALL_MODULES=OFF", "-DLIBCXXABI_USE_LLVM_UNWINDER=OFF"),
        flags=FLAGS.replace(" -fsanitize=fuzzer-no-link", ""),  # it is no code to explore
    )


def _jpeg(source: Path, prefix: Path, version: str) -> None:
    # Without its assembler code, whose writes nobody sees.
    _cmake(source, prefix, "-DWITH_SIMD=0", "-DENABLE_SHARED=0", "-DWITH_TURBOJPEG=0", "-DWITH_JAVA=0")


def _webp(source: Path, prefix: Path, version: str) -> None:
    # Its own build has no way to leave out SSE2 on x86-64; an empty configuration leaves it out.
    (source / "src" / "webp" / "config.h").write_text("")
    files = [file for part in ("dec", "demux", "dsp", "enc", "utils") for file in source.glob(f"src/{part}/*.c")]
    files += source.glob("sharpyuv/*.c")
    headers = [source / "src" / "webp" / name for name in ("decode.h", "demux.h", "encode.h", "mux_types.h", "types.h")]
    _compile(files, prefix, "webp", headers, [f"-I{source}", "-DHAVE_CONFIG_H"], include="webp")
    _describe(prefix, "libwebp", version, "webp")


def _deflate(source: Path, prefix: Path, version: str) -> None:
    files = [*source.glob("lib/*.c"), *source.glob("lib/*/*.c")]
    _compile(files, prefix, "deflate", [source / "libdeflate.h"], [f"-I{source}"])
    _describe(prefix, "libdeflate", version, "deflate")


def _xxhash(source: Path, prefix: Path, version: str) -> None:
    headers = [source / "xxhash.h", source / "xxh3.h"]
    _compile([source / "xxhash.c"], prefix, "xxhash", headers, [f"-I{source}"])
    _describe(prefix, "libxxhash", version, "xxhash")


def _cmake(source: Path, prefix: Path, *options: str, flags: str = FLAGS) -> None:
    suffix = memory_suffix()
    build = source / "build-memory"
    configure = [
        *(
            "cmake",
            "-S",
            str(source),
            "-B",
            str(build),
            "-DCMAKE_BUILD_TYPE=None",
            "-DCMAKE_POSITION_INDEPENDENT_CODE=ON",
        ),
        *(f"-DCMAKE_C_COMPILER=clang{suffix}", f"-DCMAKE_CXX_COMPILER=clang++{suffix}"),
        *(f"-DCMAKE_C_FLAGS={flags}", f"-DCMAKE_CXX_FLAGS={flags}"),
        *(
            f"-DCMAKE_INSTALL_PREFIX={prefix}",
            f"-DCMAKE_INSTALL_LIBDIR={prefix}/lib",
            "-DCMAKE_POLICY_VERSION_MINIMUM=3.5",
            *options,
        ),
    ]
    for command in (configure, ["cmake", "--build", str(build), "--parallel", "2"], ["cmake", "--install", str(build)]):
        _run(command, source)


def _compile(
    files: Sequence[Path], prefix: Path, name: str, headers: Sequence[Path], options: Sequence[str], include: str = ""
) -> None:
    """Compile C files to a static library."""
    (prefix / "lib" / "pkgconfig").mkdir(parents=True, exist_ok=True)
    (prefix / "include" / include).mkdir(parents=True, exist_ok=True)
    objects = prefix / "objects" / name
    objects.mkdir(parents=True)
    for number, file in enumerate(sorted(files)):  # numbered: two folders may hold a file of one name
        out = str(objects / f"{number}.o")
        _run([f"clang{memory_suffix()}", *FLAGS.split(), *options, "-c", str(file), "-o", out], objects)
    _run(["ar", "rcs", str(prefix / "lib" / f"lib{name}.a"), *sorted(map(str, objects.glob("*.o")))], prefix)
    for header in headers:
        shutil.copy(header, prefix / "include" / include)


def _describe(prefix: Path, module: str, version: str, library: str) -> None:
    """Write a pkg-config file."""
    libs = f"-L{prefix}/lib -l{library} -lm"
    plain = re.sub(r"^\d+:|-.*$", "", version)
    text = PKG_CONFIG.format(prefix=prefix, name=module, version=plain, libs=libs)
    (prefix / "lib" / "pkgconfig" / f"{module}.pc").write_text(text)


def _run(command: Sequence[str], folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=os.environ)
    if done.returncode != 0:
        raise LibraryError(f"`{' '.join(command)}` failed:\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
