"""Folders of small images, and a codec that a third party wrote in Python."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import penstock
from penstock.codecs import DecodeOptions, Format, ImageInfo, Promise, table
from penstock.codecs.parameters import Parameter
from penstock.errors import CodecError
from penstock.testing.codec import sample_image
from penstock.types import Buffer, Pixels


@dataclass(frozen=True)
class PythonCodec:
    """Small grey images as plain bytes; `lie` gives other pixels back than it promises."""

    name: str = "plain"
    lie: bool = False
    extensions: tuple[str, ...] = (".plain",)
    can_encode: bool = True

    @property
    def parameters(self) -> Mapping[str, Parameter]:
        return {}

    def promise(self, format: Format) -> Promise:
        return Promise.EXACT

    def sniff(self, data: Buffer) -> bool:
        return bytes(memoryview(data)[:5]) == b"PLAIN"

    def inspect(self, data: Buffer, *, max_pixels: int = 2**28) -> ImageInfo:
        height, width = bytes(data)[5:7]
        return ImageInfo(self.name, width, height, 1, 8, "uint8", True, "grey")

    def decode(self, data: Buffer, options: DecodeOptions, *, out: Pixels | None = None) -> Pixels:
        return np.frombuffer(data, np.uint8, offset=7).reshape(self.inspect(data).shape) + np.uint8(self.lie)

    def encode(self, pixels: Pixels, format: Format) -> bytes:
        if pixels.ndim != 2 or pixels.dtype != np.uint8:
            raise CodecError("plain holds only 8-bit grey", where="pixels", fix="convert them", code=350)
        return b"PLAIN" + bytes(pixels.shape) + pixels.tobytes()


PLAIN = PythonCodec()


@pytest.fixture
def python_codec(monkeypatch: pytest.MonkeyPatch) -> PythonCodec:
    """An installed plug-in."""
    monkeypatch.setattr(table, "plug_ins", lambda: (PLAIN,))
    return PLAIN


@pytest.fixture
def lying_codec(monkeypatch: pytest.MonkeyPatch) -> PythonCodec:
    """An installed plug-in that breaks its promise."""
    codec = PythonCodec(lie=True)
    monkeypatch.setattr(table, "plug_ins", lambda: (codec,))
    return codec


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two colour images and a grey one in subfolders, a text file, and a damaged image."""
    root = tmp_path / "images"
    (root / "b").mkdir(parents=True)
    (root / "b" / "2.jpg").write_bytes(penstock.encode(sample_image(40, 50, 3, "uint8", 1), "jpeg"))
    (root / "b" / "1.raw").write_bytes(penstock.encode(sample_image(30, 20, 3, "uint8", 2), "raw"))
    (root / "a.raw").write_bytes(penstock.encode(sample_image(33, 44, 1, "uint8", 3), "raw"))
    (root / "labels.txt").write_text("not an image")
    (root / "z.raw").write_bytes((root / "a.raw").read_bytes()[:100])
    return root
