"""Image codecs behind one contract. The content of a file decides its codec, never its name."""

from penstock.codecs.api import decode, decode_counted, encode, inspect
from penstock.codecs.contract import Codec, DecodeOptions, ImageInfo, Promise
from penstock.codecs.convert import Conversion, convert
from penstock.codecs.format import Format
from penstock.codecs.formats import parse_format, parse_formats, parse_mix
from penstock.codecs.table import codec_for, find, find_by_extension, names
from penstock.codecs.transcode import transcode

__all__ = [
    "Codec",
    "Conversion",
    "DecodeOptions",
    "Format",
    "ImageInfo",
    "Promise",
    "codec_for",
    "convert",
    "decode",
    "decode_counted",
    "encode",
    "find",
    "find_by_extension",
    "inspect",
    "names",
    "parse_format",
    "parse_formats",
    "parse_mix",
    "transcode",
]
