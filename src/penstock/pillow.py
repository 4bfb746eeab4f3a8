"""Weir and Sluice plug-ins for Pillow. After `import penstock.pillow`, Pillow opens and saves both.

Pillow does not discover plug-ins in other packages, so the import is necessary. Needs `penstock[pillow]`.
"""

from __future__ import annotations

import io
import os
from typing import IO

import numpy as np
from PIL import Image, ImageFile, UnidentifiedImageError

from penstock.codecs.api import decode, encode
from penstock.codecs.contract import DecodeOptions, ImageInfo
from penstock.codecs.sluice import SLUICE, from_jpeg
from penstock.codecs.weir import WEIR
from penstock.codecs.weir_metadata import HEADER_BYTES, Entry, read_metadata, tables_end, write_metadata
from penstock.errors import CodecError
from penstock.types import Buffer, Pixels

FORMAT = "WEIR"
SLUICE_HEADER_BYTES = 48
MODES = {(1, 8): "L", (2, 8): "LA", (3, 8): "RGB", (4, 8): "RGBA", (1, 16): "I;16"}
EXIF_PREFIX = b"Exif\0\0"
# Pillow's own limit decides: it warns or refuses when the header has been read.
UNLIMITED = DecodeOptions(max_pixels=2**63 - 1)


class WeirImageFile(ImageFile.ImageFile):
    """Weir file opened by Pillow. Opening reads header and metadata; loading reads the tiles.

    `info` has "icc_profile", "exif" and every text by its key; `text` has only the texts.
    """

    format = FORMAT
    format_description = "Weir, lossless in tiles"

    def _open(self) -> None:
        try:
            info, entries = _read_front(self.fp)
        except CodecError as error:
            raise UnidentifiedImageError(str(error)) from error
        self._mode = _mode_of(info)
        self._size = (info.width, info.height)
        self.text = dict(_text_of(entry) for entry in entries if entry.tag == "TEXT")
        self.info.update(self.text)
        for entry in entries:
            if entry.tag == "ICCP":
                self.info["icc_profile"] = entry.content
            elif entry.tag == "EXIF":
                self.info["exif"] = EXIF_PREFIX + entry.content
        self.tile = [ImageFile._Tile("weir", (0, 0, *self._size), 0, "")]

    def load_seek(self, pos: int) -> None:
        """Seek in the file. This method makes Pillow's parser wait for the whole file."""
        assert self.fp is not None, "Pillow has opened the file"
        self.fp.seek(pos)

    def verify(self) -> None:
        """Raise OSError if any part of the file is damaged."""
        assert self.fp is not None, "verify comes right after open"
        self.fp.seek(0)
        _decoded(self.fp.read())
        super().verify()


class SluiceImageFile(ImageFile.ImageFile):
    """A Sluice file as Pillow sees it: its pixels. Restore the JPEG with `penstock.transcode` to get its metadata."""

    format = "SLUICE"
    format_description = "Sluice, the coefficients of a JPEG"

    def _open(self) -> None:
        assert self.fp is not None, "Pillow has opened the file"
        try:
            info = SLUICE.inspect(self.fp.read(SLUICE_HEADER_BYTES), max_pixels=UNLIMITED.max_pixels)
        except CodecError as error:
            raise UnidentifiedImageError(str(error)) from error
        self._mode = _mode_of(info)
        self._size = (info.width, info.height)
        self.tile = [ImageFile._Tile("sluice", (0, 0, *self._size), 0, "")]

    def load_seek(self, pos: int) -> None:
        """Seek in the file. This method makes Pillow's parser wait for the whole file."""
        assert self.fp is not None, "Pillow has opened the file"
        self.fp.seek(pos)


class WeirDecoder(ImageFile.PyDecoder):
    """Decoder that reads the whole file at once."""

    _pulls_fd = True

    def decode(self, buffer: object) -> tuple[int, int]:
        """Decode the file into the image; Pillow has rewound the file."""
        assert self.fd is not None, "Pillow hands over the file"
        pixels = _decoded(self.fd.read())
        self.set_as_raw(pixels.tobytes(), self.mode)
        return -1, 0


def _read_front(file: IO[bytes] | None) -> tuple[ImageInfo, list[Entry]]:
    """Read header and metadata, but no tile."""
    assert file is not None, "Pillow has opened the file"
    header = file.read(HEADER_BYTES)
    info = WEIR.inspect(header, max_pixels=UNLIMITED.max_pixels)
    # A header may claim any size, so read no more than the file has.
    rest = min(tables_end(header), file.seek(0, os.SEEK_END)) - HEADER_BYTES
    file.seek(HEADER_BYTES)
    return info, read_metadata(header + file.read(rest))


def _mode_of(info: ImageInfo) -> str:
    mode = MODES.get((info.channels, info.depth))
    if mode is None:
        raise UnidentifiedImageError(
            f"Pillow has no mode for {info.channels} channels of {info.depth} bits\n"
            "  fix:   penstock.decode gives them as a NumPy array"
        )
    return mode


def _text_of(entry: Entry) -> tuple[str, str]:
    key, _, value = entry.content.partition(b"\0")
    return key.decode("utf-8", "replace"), value.decode("utf-8", "replace")


def _decoded(data: Buffer) -> Pixels:
    try:
        return decode(data, options=UNLIMITED)
    except CodecError as error:
        raise OSError(str(error)) from error


def _save(image: Image.Image, file: IO[bytes], filename: str | bytes) -> None:
    """Save an image: `image.save(name, variant="fast", effort=1, icc_profile=…, exif=…, text={…})`.

    All keywords are optional. As with PNG, Pillow keeps the ICC profile of the image, but writes EXIF and texts only if
    they are given.
    """
    if image.mode not in MODES.values():
        raise OSError(f"cannot write mode {image.mode} as {FORMAT}\n  fix:   convert it to one of {[*MODES.values()]}")
    options = image.encoderinfo
    words = [f"{key}={options[key]}" for key in WEIR.parameters if key in options]
    data = encode(np.asarray(image), ":".join(["weir", *words]))
    entries = _entries_of(image)
    file.write(write_metadata(data, entries) if entries else data)


def _save_sluice(image: Image.Image, file: IO[bytes], filename: str | bytes) -> None:
    """Save an image as a JPEG in Sluice, with the keywords of Pillow's JPEG: `image.save(name, quality=90, exif=…)`."""
    jpeg = io.BytesIO()
    image.save(jpeg, "JPEG", **image.encoderinfo)
    try:
        file.write(from_jpeg(jpeg.getvalue()))
    except CodecError as error:
        raise OSError(f"cannot write mode {image.mode} as SLUICE: {error}") from error


def _entries_of(image: Image.Image) -> list[Entry]:
    options = image.encoderinfo
    profile = options.get("icc_profile", image.info.get("icc_profile"))
    exif = options.get("exif")
    if isinstance(exif, Image.Exif):
        exif = exif.tobytes()
    entries = [Entry("ICCP", profile)] if profile else []
    if exif:
        entries.append(Entry("EXIF", exif.removeprefix(EXIF_PREFIX)))
    return entries + [Entry.text(key, value) for key, value in options.get("text", {}).items()]


def _accepts(prefix: bytes) -> bool:
    return prefix.startswith(b"WEIR")


Image.register_open("SLUICE", SluiceImageFile, lambda prefix: prefix.startswith(b"SLUI"))
Image.register_decoder("sluice", WeirDecoder)
Image.register_save("SLUICE", _save_sluice)
Image.register_extension("SLUICE", ".sluice")
Image.register_open(FORMAT, WeirImageFile, _accepts)
Image.register_decoder("weir", WeirDecoder)
Image.register_save(FORMAT, _save)
Image.register_extension(FORMAT, ".weir")
