"""Learned codecs in an environment of their own: weights from a file, and what is said when they are not those."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from penstock.errors import ArgumentError
from penstock.lab.jobs import LeftOut
from penstock.lab.jobs.contract import Measures
from penstock.lab.learned import measure_learned, parse_learned

FORMAT = "compressai:bmshj2018-factorized:q=1"
IMAGES = [np.random.default_rng(seed).integers(0, 256, (40, 72, 3), np.uint8) for seed in (1, 2)]

# Gives back what it was sent, if its one weight is 2; deliberately nothing like CompressAI inside.
DOUBLE = """
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(1))

    def update(self):
        self.is_ready = True

    def compress(self, batch):
        assert self.is_ready
        sent = (batch[0].permute(1, 2, 0) * 255).round().byte().contiguous()
        return {"strings": [[sent.numpy().tobytes()]], "shape": sent.shape[:2]}

    def decompress(self, strings, shape):
        back = torch.frombuffer(bytearray(strings[0][0]), dtype=torch.uint8).view(*shape, 3).permute(2, 0, 1)
        return {"x_hat": back[None] / 255 * self.weight / 2}

def make(quality, metric, pretrained):
    if quality > 8:
        raise ValueError('Invalid quality "9", should be between (1, 8)')
    return Net()

models = {"bmshj2018-factorized": make}
"""


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Weights as people keep them, good and bad."""
    torch = pytest.importorskip("torch")
    folder = tmp_path_factory.mktemp("weights")
    good = {"weight": torch.full((1,), 2.0)}
    torch.save(good, folder / "plain.pth")
    torch.save({"epoch": 3, "state_dict": good}, folder / "checkpoint.pth.tar")
    torch.save({"other": torch.zeros(3)}, folder / "other.pth")
    (folder / "broken.pth").write_bytes(b"not a file of weights")
    return folder


@pytest.fixture
def double(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """An interpreter with a package that has what we call of CompressAI, and learns nothing."""
    zoo = tmp_path / "compressai" / "zoo"
    zoo.mkdir(parents=True)
    (tmp_path / "compressai" / "__init__.py").touch()
    (zoo / "__init__.py").write_text(DOUBLE)
    (zoo / "pretrained.py").write_text("def load_pretrained(held):\n    return dict(held)\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    return sys.executable


@pytest.mark.parametrize("name", ["plain.pth", pytest.param("checkpoint.pth.tar", marks=pytest.mark.long)])
def test_weights_come_from_a_file(name: str, double: str, files: Path) -> None:
    found = measure_learned(FORMAT, IMAGES, double, str(files / name))
    assert (found["num_images"], found["is_untrained"]) == (2, 0)
    assert found["psnr"] == 99.0  # which another weight does not give


@pytest.mark.parametrize(
    ("format", "weights", "said"),
    [
        (FORMAT, "other.pth", r"other\.pth has weights of another network \(1 of this one's are missing\)"),
        (FORMAT, "broken.pth", r"broken\.pth is not a file of weights"),
        (FORMAT, "missing.pth", r"its weights \(.*missing\.pth\) are not to be had: .*No such file"),
        ("compressai:nothing:q=1", "plain.pth", "CompressAI has no nothing; it has bmshj2018-factorized"),
        ("compressai:bmshj2018-factorized:q=9", "plain.pth", "Invalid quality"),
    ],
)
def test_what_cannot_be_measured_is_left_out_in_a_sentence(
    format: str, weights: str, said: str, double: str, files: Path
) -> None:
    with pytest.raises(LeftOut, match=said):
        measure_learned(format, IMAGES, double, str(files / weights))


def test_grey_images_alone_are_left_out(double: str) -> None:
    with pytest.raises(LeftOut, match="three channels"):
        measure_learned(FORMAT, [np.zeros((8, 8), np.uint8)], double, "untrained")


@pytest.mark.parametrize(
    "format", ["compressai:", "compressai:mbt2018", "compressai:mbt2018:q=x", "compressai:a:q=1:z"]
)
def test_what_names_no_network_is_refused(format: str) -> None:
    with pytest.raises(ArgumentError, match="this is not a learned codec"):
        parse_learned(format)


def test_an_interpreter_that_is_not_there_is_named() -> None:
    with pytest.raises(ArgumentError, match="does not start") as told:
        measure_learned(FORMAT, IMAGES, "nowhere/bin/python", "untrained")
    assert "--set python=nowhere/bin/python" in str(told.value)


SAVE = """
import sys, torch
from compressai.zoo import models
torch.manual_seed(0)
net = models["bmshj2018-factorized"](quality=1, pretrained=False)
torch.save(net.state_dict(), sys.argv[1] + "/fresh.pth")
net.update()
torch.save({"epoch": 1, "state_dict": net.state_dict()}, sys.argv[1] + "/checkpoint.pth.tar")
"""


@pytest.mark.long
class TestCompressai:
    """With CompressAI itself, in the environment whose interpreter PENSTOCK_COMPRESSAI names."""

    @pytest.fixture
    def python(self) -> str:
        found = os.environ.get("PENSTOCK_COMPRESSAI", "")
        if not found:
            pytest.skip("PENSTOCK_COMPRESSAI names no interpreter that has CompressAI (pip install compressai)")
        return found

    def test_takes_its_weights_from_a_file(self, python: str, tmp_path: Path) -> None:
        subprocess.run([python, "-c", SAVE, str(tmp_path)], check=True, capture_output=True)

        def measured(weights: str) -> Measures:
            found = measure_learned(FORMAT, IMAGES, python, weights)
            return {name: found[name] for name in ("encoded_bytes", "psnr", "ms_ssim")}

        fresh = measured(str(tmp_path / "fresh.pth"))
        assert fresh == measured(str(tmp_path / "checkpoint.pth.tar"))  # the same weights, kept in two ways
        assert fresh != measured("untrained")  # which are drawn anew
