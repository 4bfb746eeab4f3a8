"""The wheel works on a machine that has none of our libraries: its own are inside, and every format decodes."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import penstock
from penstock.codecs import find, names
from penstock.testing.codec import capabilities_of, sample_image
from tests.import_graph import ROOT

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("wheel")]  # one process builds, once

# What every Linux of the wheel's tag has, by the manylinux rules; the rest must come with the wheel.
OF_THE_SYSTEM = {"ld-linux-x86-64", "libc", "libdl", "libgcc_s", "libm", "libpthread", "librt", "libstdc++", "libz"}
OF_THE_SYSTEM |= {"linux-vdso"}  # no file: the kernel maps it

PILLOW_FORMATS = {"bmp": "BMP", "pnm": "PPM", "tiff": "TIFF"}

DECODE = """
import hashlib, json, pathlib, sys, penstock
pixels = {}
for path in sorted(pathlib.Path(sys.argv[1]).iterdir()):
    decoded = penstock.decode(path.read_bytes())
    pixels[path.name] = [list(decoded.shape), hashlib.sha256(decoded.tobytes()).hexdigest()]
print(json.dumps({"from": penstock.__file__, "pixels": pixels}))
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel as `make wheel` makes it."""
    out = tmp_path_factory.mktemp("wheel")
    run([sys.executable, "-m", "scripts.wheel", "--out", str(out)], cwd=ROOT)
    (wheel,) = out.glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment that holds the wheel and what it depends on."""
    folder = tmp_path_factory.mktemp("environment")
    base = Path(sys.base_prefix, "bin", f"python{sys.version_info.major}.{sys.version_info.minor}")
    run([str(base), "-m", "venv", str(folder)])
    python = folder / "bin" / "python"
    constraints = str(ROOT / "requirements" / "pins.txt")
    run([str(python), "-m", "pip", "install", "-c", constraints, f"penstock[tiff] @ {wheel.as_uri()}"])
    return python


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small image of every codec."""
    folder = tmp_path_factory.mktemp("images")
    for name in names():
        codec = find(name)
        can = capabilities_of(codec)
        pixels = sample_image(70, 90, 3 if 3 in can.channels else can.channels[-1], "uint8")
        path = folder / f"image{codec.extensions[0]}"
        if codec.can_encode:
            path.write_bytes(penstock.encode(pixels, name))
        else:
            Image.fromarray(pixels).save(path, PILLOW_FORMATS[name])
    return folder


def run(command: list[str], cwd: Path | None = None) -> str:
    # Nothing of this environment's search path may help the other one.
    outside = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "LD_", "VIRTUAL_ENV"))}
    done = subprocess.run(command, cwd=cwd, env=outside, capture_output=True, text=True)
    assert done.returncode == 0, f"{command}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done.stdout


def extension_of(python: Path) -> Path:
    code = "import penstock._native; print(penstock._native.__file__)"
    return Path(run([str(python), "-c", code], cwd=python.parent).strip())


def libraries_of(binary: Path) -> dict[str, str]:
    """Libraries that the loader finds for a binary, all levels: name and path."""
    found = re.findall(r"^\s*(\S+?)(?: => (\S+))? \(0x", run(["ldd", str(binary)]), flags=re.MULTILINE)
    return {Path(name).name: path for name, path in found}


def decode_all(command: list[str], images: Path) -> dict[str, list[object]]:
    answer = json.loads(run([*command, "-c", DECODE, str(images)], cwd=images))
    assert "site-packages" in answer["from"], "the wheel was tested, not this checkout"
    pixels: dict[str, list[object]] = answer["pixels"]
    return pixels


def expected_pixels(images: Path) -> dict[str, list[object]]:
    decoded = {path.name: np.ascontiguousarray(penstock.decode(path.read_bytes())) for path in images.iterdir()}
    return {
        name: [list(pixels.shape), hashlib.sha256(pixels.tobytes()).hexdigest()] for name, pixels in decoded.items()
    }


def test_wheel_is_tagged_for_the_linuxes_it_runs_on(wheel: Path) -> None:
    assert re.search(r"-manylinux_2_\d+_\w+\.whl$", wheel.name)


def test_wheel_holds_package_stub_and_licence_and_nothing_of_tests(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        held = archive.namelist()

    assert {"penstock/py.typed", "penstock/_native.pyi"} <= set(held)
    assert any(name.endswith("licenses/LICENSE") for name in held)
    assert {name.split("/")[0].split("-")[0] for name in held} == {"penstock", "penstock.libs"}


def test_every_library_beyond_glibc_is_inside(python: Path) -> None:
    libraries = libraries_of(extension_of(python))
    foreign = {name: path for name, path in libraries.items() if name.split(".so")[0] not in OF_THE_SYSTEM}

    assert {"libjpeg", "libwebp"} <= {name.split("-")[0] for name in foreign}
    assert {name: path for name, path in foreign.items() if "penstock.libs" not in path} == {}


def test_installed_wheel_decodes_every_format(python: Path, images: Path) -> None:
    assert decode_all([str(python)], images) == expected_pixels(images)


def test_installed_wheel_decodes_with_the_systems_libraries_gone(python: Path, images: Path) -> None:
    here = libraries_of(Path(penstock._native.__file__))
    system = sorted({path for name, path in here.items() if path and name.split(".so")[0] not in OF_THE_SYSTEM})
    if subprocess.run(["unshare", "--mount", "true"], capture_output=True).returncode != 0:
        pytest.skip("hiding the system's libraries needs a mount namespace, which only root may make")
    # An empty file in place of a library: whoever still looks for it there fails to load.
    hide = 'until [ "$1" = -- ]; do mount --bind /dev/null "$1" || exit 9; shift; done; shift; exec "$@"'
    command = ["unshare", "--mount", "sh", "-c", hide, "hide", *system, "--"]

    assert system
    hidden = subprocess.run([*command, sys.executable, "-c", "import penstock"], capture_output=True, text=True)
    assert hidden.returncode != 0, "the checkout's own extension should miss what was hidden"
    assert decode_all([*command, str(python)], images) == expected_pixels(images)
