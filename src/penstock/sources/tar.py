"""Members of a tar and the places of their bytes. Nothing is ever extracted.

Python's `tarfile` also has offsets, but takes a damaged header in the middle for the end of the archive, so that all
later samples would be lost silently. This reader supports ustar, GNU long names and PAX headers. It refuses everything
else with its byte offset.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from penstock.errors import SourceError
from penstock.storage import ObjectReader

BLOCK = 512
MAX_NAME_BYTES = 1 << 20  # a long name or a PAX header; Linux stops at 4 KiB
MAX_DIGITS = 19  # of a size: what 63 bits hold
REGULAR, FOLDER, LABEL = b"0\0007", b"5", b"V"
GNU_NAME, GNU_LINK, PAX, PAX_GLOBAL = b"L", b"K", b"x", b"g"
REFUSED = {
    b"1": "a hard link",
    b"2": "a symbolic link",
    b"3": "a device",
    b"4": "a device",
    b"6": "a pipe",
    b"S": "a sparse file",
    b"M": "a part of a file that began on another volume",
}


@dataclass(frozen=True, slots=True)
class Member:
    """Regular file inside a tar: `length` bytes from byte `offset` of the tar."""

    name: str
    offset: int
    length: int


def read_members(file: ObjectReader) -> Iterator[Member]:
    """Yield the regular files of a tar, in their order; folders are skipped."""
    return _Reader(file).members()


class _Reader:
    """Pass over the headers of a tar: reads 512 bytes per member and skips the data."""

    def __init__(self, file: ObjectReader) -> None:
        self._file = file
        self._offset = 0  # of the header that is read next
        self._global: dict[str, bytes] = {}
        self._next: dict[str, bytes] = {}  # what extension headers say of the member that follows

    def members(self) -> Iterator[Member]:
        while (header := self._read_header()) is not None:
            begin = self._offset
            kind = header[156:157]
            length = self._length_of(header)
            data = begin + BLOCK
            if data + length > self._file.size:
                raise self._broken(
                    f"the tar is cut off: a member of {length} bytes begins at byte {data}, "
                    f"but the file has {self._file.size} bytes"
                )
            self._offset = data + -(-length // BLOCK) * BLOCK
            if kind in (GNU_NAME, GNU_LINK, PAX, PAX_GLOBAL):
                self._read_extension(kind, begin, data, length)
                continue
            member = self._member(header, kind, begin, data, length)
            self._next = {}
            if member is not None:
                yield member

    def _read_header(self) -> bytes | None:
        """Read the next header and verify its checksum; None at the end mark."""
        header = self._file.read_at(self._offset, BLOCK)
        if len(header) < BLOCK:
            raise self._broken(f"the tar is cut off: it ends at byte {self._file.size} without an end mark")
        if header.count(0) == BLOCK:
            self._check_end()
            return None
        stored = self._number(header[148:156], "checksum")
        if stored != sum(header) - sum(header[148:156]) + 8 * ord(" "):
            raise self._broken("a header does not match its checksum")
        return header

    def _check_end(self) -> None:
        """Check that only zeros follow the end mark; another tar there (`cat a.tar b.tar`) would be lost silently."""
        if self._next:
            raise self._broken("a long name stands before the end mark, without its member")
        position = self._offset
        while part := self._file.read_at(position, 1 << 20):
            if part.count(0) != len(part):
                raise self._broken(
                    "something stands behind the end mark of the tar",
                    fix="two tars may have been joined by `cat`: keep them as two files",
                )
            position += len(part)

    def _length_of(self, header: bytes) -> int:
        told = self._next.get("size") or self._global.get("size")
        if told is None or header[156:157] in (GNU_NAME, GNU_LINK, PAX, PAX_GLOBAL):
            return self._number(header[124:136], "size")
        if not told.isdigit() or len(told) > MAX_DIGITS:
            shown = told if len(told) <= MAX_DIGITS else told[:MAX_DIGITS] + b"..."
            raise self._broken(f"a PAX header gives the size {shown!r}")
        return int(told)

    def _read_extension(self, kind: bytes, begin: int, data: int, length: int) -> None:
        if length > MAX_NAME_BYTES:
            raise self._broken(f"a name or PAX header of {length} bytes", at=begin)
        content = self._file.read_at(data, length)
        if kind == GNU_NAME:
            self._next["path"] = content.rstrip(b"\0")
        elif kind in (PAX, PAX_GLOBAL):
            records = self._pax_records(content, data)
            (self._global if kind == PAX_GLOBAL else self._next).update(records)

    def _pax_records(self, content: bytes, offset: int) -> dict[str, bytes]:
        """Parse records LENGTH KEY=VALUE, each ended by a newline; LENGTH counts the whole record."""
        records: dict[str, bytes] = {}
        position = 0
        while position < len(content) and content[position] != 0:
            digits, space, _ = content[position : position + 20].partition(b" ")
            end = position + int(digits) if space and digits.isdigit() else -1
            key, equals, value = content[position + len(digits) + 1 : max(end - 1, 0)].partition(b"=")
            if end <= position or end > len(content) or content[end - 1] != ord("\n") or not equals:
                raise self._broken("a PAX header has a record that cannot be read", at=offset + position)
            records[key.decode("utf-8", "replace")] = value
            position = end
        return records

    def _member(self, header: bytes, kind: bytes, begin: int, data: int, length: int) -> Member | None:
        if kind in (FOLDER, LABEL):
            return None
        told = {**self._global, **self._next} if self._global or self._next else {}
        name = self._name_of(header, told, begin)
        what = "a sparse file" if any(key.startswith("GNU.sparse.") for key in told) else REFUSED.get(kind)
        if what is None and kind not in (b"0", b"\0", b"7"):
            what = f"a member of type {kind!r}"
        if what is not None:
            raise self._broken(
                f"member '{name}' is {what}",
                at=begin,
                fix="write the tar anew with whole files in it: `tar --hard-dereference -chf`",
            )
        if name.endswith("/"):
            return None  # how tars of before 1988 say that it is a folder
        return Member(name, data, length)

    def _name_of(self, header: bytes, told: dict[str, bytes], begin: int) -> str:
        raw = told.get("path")
        if raw is None:
            raw = header[:100].partition(b"\0")[0]
            prefix = header[345:500].partition(b"\0")[0]
            if header[257:263] == b"ustar\0" and prefix:
                raw = prefix + b"/" + raw
        try:
            name = raw.decode("utf-8")
        except UnicodeDecodeError:
            raise self._broken(f"the name of a member is not UTF-8: {raw!r}", at=begin) from None
        while name.startswith("./"):
            name = name[2:].lstrip("/")
        if not name or name.startswith("/") or "\0" in name or ".." in name.split("/"):
            raise self._broken(
                f"member '{name}' has a name that leads out of the tar",
                at=begin,
                fix="do not trust this file; names must be relative and without '..'",
            )
        return name

    def _number(self, field: bytes, what: str) -> int:
        """Parse octal digits or, with the highest bit set, a big-endian number."""
        if field[0] == 0x80:
            return int.from_bytes(field[1:], "big")
        text = field.strip(b" \0")
        try:
            value = int(text, 8) if text else 0
        except ValueError:
            value = -1
        if value < 0:
            raise self._broken(f"a header has the {what} {field!r}")
        return value

    def _broken(self, what: str, *, at: int | None = None, fix: str = "") -> SourceError:
        return SourceError(
            what,
            where=f"{self._file.path}: byte {self._offset if at is None else at}",
            fix=fix or "restore the file from where it came: it is damaged or no tar",
            code=610,
        )
