"""`penstock codec`: converts single images from any format to any other."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.group import add_command, new_group
from penstock.cli.output import JsonOption, MaxPixelsOption, Output
from penstock.codecs import Conversion, DecodeOptions, Format, convert, find, find_by_extension, parse_format
from penstock.errors import ArgumentError, CodecError, PenstockError, StorageError
from penstock.storage import exists, is_file, is_folder, is_taken, read_input, write_file
from penstock.types import Region

PIPE = "-"
TOO_LARGE = 340

Input = Annotated[str, typer.Argument(metavar="IN", help="Image of any codec; - for stdin.")]
Target = Annotated[str, typer.Argument(metavar="OUT", help="File to write; - for stdout.")]
FormatOption = Annotated[
    str | None,
    typer.Option(
        "--format", "-f", metavar="FORMAT", help="Format such as png or jpeg:q=85. Default: by the ending of OUT."
    ),
]
ForceOption = Annotated[bool, typer.Option("--force", help="Overwrite OUT if it exists.")]
OrientOption = Annotated[bool, typer.Option("--orient", help="Rotate the pixels by the EXIF orientation.")]
RegionOption = Annotated[
    str | None, typer.Option("--region", metavar="Y,X,H,W", help="Region to decode, in pixels at --scale.")
]
ScaleOption = Annotated[int, typer.Option("--scale", metavar="N", help="Decode at 1/N of each side: 1, 2, 4 or 8.")]

DEFAULTS = DecodeOptions()


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    group = new_group("codec", "Encode and decode single images, any format to any.")
    add_command(
        group,
        "encode",
        encode,
        examples=(
            "penstock codec encode photo.png photo.jpg --format jpeg:q=85",
            "penstock codec encode photo.jpg photo.webp --format webp:lossless",
            "penstock codec encode photo.jpg smaller.jpg --format jpeg:progressive   (exact: a transcode)",
            "penstock codec encode photo.jpg photo.sluice   (exact, and back: the same bytes)",
            "cat photo.png | penstock codec encode - - --format raw > photo.raw",
        ),
    )
    add_command(
        group,
        "decode",
        decode,
        examples=(
            "penstock codec decode photo.jpg photo.png",
            "penstock codec decode photo.jpg thumbnail.png --scale 8 --orient",
            "penstock codec decode photo.jpg crop.raw --region 0,0,224,224",
        ),
    )
    app.add_typer(group)


def encode(
    source: Input,
    target: Target,
    format: FormatOption = None,
    force: ForceOption = False,
    orient: OrientOption = False,
    max_pixels: MaxPixelsOption = DEFAULTS.max_pixels,
    json: JsonOption = False,
) -> None:
    """Write an image in another format.

    The content of IN decides its codec, not its name. A JPEG becomes a JPEG without loss unless q or subsampling is
    given.
    """
    _convert(
        Output(json=json), source, target, format, DecodeOptions(orient=orient, max_pixels=max_pixels), force=force
    )


def decode(
    source: Input,
    target: Target,
    format: FormatOption = None,
    region: RegionOption = None,
    scale: ScaleOption = 1,
    orient: OrientOption = False,
    force: ForceOption = False,
    json: JsonOption = False,
) -> None:
    """Decode an image, whole or in part, and write its pixels.

    If the codec supports it, only the part that the region needs is decoded, and reduced scales are decoded directly.
    """
    wishes = DecodeOptions(region=_region_of(region), scale=scale, orient=orient)
    _convert(Output(json=json), source, target, format, wishes, force=force)


def _convert(out: Output, source: str, target: str, format: str | None, wishes: DecodeOptions, *, force: bool) -> None:
    chosen = _format_of(target, format)
    _check_target(out, target, force=force)
    data = sys.stdin.buffer.read() if source == PIPE else read_input(source)
    try:
        done = convert(data, chosen, wishes)
    except PenstockError as error:
        raise _told(error, _shown(source, "stdin")) from error
    _warn(out, target, done, wishes)
    if target == PIPE:
        sys.stdout.buffer.write(done.data)
    else:
        write_file(target, done.data)
    _tell(out, source, target, len(data), done)


def _told(error: PenstockError, source: str) -> PenstockError:
    """Return the error with the file it happened in, and with a fix that can be typed."""
    if error.code == TOO_LARGE:
        fix = "if you trust the file, `penstock codec encode` takes a larger --max-pixels"
        return CodecError(error.what, where=f"{source}: {error.where}", fix=fix, code=error.code)
    return error.within(source)


def _format_of(target: str, text: str | None) -> Format:
    if text is not None:
        return parse_format(text)
    if target == PIPE:
        raise ArgumentError("stdout has no ending that names a format", where="OUT", fix="add --format", code=130)
    return parse_format(find_by_extension(target).name)


def _region_of(text: str | None) -> Region | None:
    if text is None:
        return None
    sides = text.split(",")
    if len(sides) != 4 or not all(side.strip().isdecimal() for side in sides):
        raise ArgumentError(
            f"'{text}' is not a region", where="--region", fix="give Y,X,H,W in pixels, as 0,0,224,224", code=110
        )
    y, x, height, width = map(int, sides)
    return y, x, height, width


def _check_target(out: Output, target: str, *, force: bool) -> None:
    """Refuse an invalid target before the work instead of after it."""
    if target != PIPE:
        if is_taken(target) and not force and not _is_device(target):
            raise StorageError(f"'{target}' exists", where=target, fix="add --force to overwrite it", code=430)
        return
    if out.json:
        raise ArgumentError("--json and the image both want stdout", where="OUT", fix="write OUT to a file", code=100)
    if sys.stdout.isatty() and not force:
        raise ArgumentError(
            "the image would be written to the terminal",
            where="OUT",
            fix="redirect stdout, or add --force",
            code=100,
        )


def _is_device(target: str) -> bool:
    path = Path(target)
    return exists(path) and not is_file(path) and not is_folder(path)


def _warn(out: Output, target: str, done: Conversion, wishes: DecodeOptions) -> None:
    if target != PIPE:
        ending = Path(target).suffix.lower()
        if ending and ending not in find(done.format.codec).extensions:
            out.warn(f"{target} will hold {done.format.codec}, which its ending does not say")
    if done.source.orientation != 1 and not wishes.orient and not done.transcoded:
        out.warn(
            f"the image is stored turned (EXIF orientation {done.source.orientation}) and {done.format.codec} does not "
            "keep that: add --orient to turn the pixels"
        )


def _tell(out: Output, source: str, target: str, source_bytes: int, done: Conversion) -> None:
    header = done.source
    how = ", transcoded without loss" if done.transcoded else ""
    line = (
        f"{_shown(source, 'stdin')} ({header.codec}, {header.width}×{header.height}×{header.channels}) → "
        f"{_shown(target, 'stdout')} ({done.format}{how}), {source_bytes:,} → {len(done.data):,} bytes"
    )
    if target == PIPE:
        out.message(line)
    else:
        out.show(line)
    out.result(
        {
            "input": source,
            "output": target,
            "source": asdict(header),
            "format": str(done.format),
            "transcoded": done.transcoded,
            "input_bytes": source_bytes,
            "output_bytes": len(done.data),
        }
    )


def _shown(path: str, pipe: str) -> str:
    return pipe if path == PIPE else path
