"""Codec of the C++ core. The other files of this folder declare its name, parameters and promise."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from penstock import _native
from penstock.codecs.contract import (
    DEFAULT_MAX_PIXELS,
    Capabilities,
    DecodeOptions,
    ImageInfo,
    Promise,
)
from penstock.codecs.format import Format
from penstock.codecs.parameters import Parameter
from penstock.errors import CodecError
from penstock.types import Buffer, Pixels


def _always_exact(_: Format) -> Promise:
    return Promise.EXACT


@dataclass(frozen=True)
class NativeCodec:
    """Declaration of a native codec for Python."""

    name: str
    extensions: tuple[str, ...]
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    capabilities: Capabilities = field(default_factory=Capabilities)
    can_encode: bool = True
    promise_of: Callable[[Format], Promise] = _always_exact

    def promise(self, format: Format) -> Promise:
        """Return whether pixels encoded in this format decode exactly."""
        return self.promise_of(format)

    def sniff(self, data: Buffer) -> bool:
        """Return whether the content belongs to this codec."""
        return bool(_native.sniff(data) == self.name)

    def inspect(self, data: Buffer, *, max_pixels: int = DEFAULT_MAX_PIXELS) -> ImageInfo:
        """Read the header of an image without decoding it."""
        fields = _native.inspect(data, self.name, max_pixels)
        assert fields is not None, "a codec asked for by name always answers"
        return info_from_native(fields)

    def decode(self, data: Buffer, options: DecodeOptions, *, out: Pixels | None = None) -> Pixels:
        """Decode an image, into `out` if it is given."""
        pixels = decode_natively(data, self.name, options, out)
        assert pixels is not None, "a codec asked for by name always answers"
        return pixels

    def encode(self, pixels: Pixels, format: Format) -> bytes:
        """Encode pixels. Raise CodecError if the format cannot hold them."""
        if not self.can_encode:
            raise CodecError(f"codec '{self.name}' is read-only", where="encode", fix="choose png or weir", code=350)
        encoded: bytes = _native.encode(pixels, self.name, list(format.parameters))
        return encoded


def decode_natively(data: Buffer, name: str, options: DecodeOptions, out: Pixels | None) -> Pixels | None:
    """Decode with the native codec of this name; "" detects it, and returns None if no native codec matches."""
    pixels: Pixels | None = _native.decode(
        data,
        name,
        options.region,
        options.scale,
        out,
        options.palette == "indices",
        options.orient,
        options.fast,
        options.verify,
        options.max_pixels,
    )
    return pixels


def info_from_native(fields: dict[str, object]) -> ImageInfo:
    """Convert the native header fields to an `ImageInfo`."""
    values = dict(fields)
    values["dtype"] = "uint16" if values.pop("sample_bytes") == 2 else "uint8"
    values.pop("palette")
    return ImageInfo(**values)  # type: ignore[arg-type]  # the native side builds exactly these keys
