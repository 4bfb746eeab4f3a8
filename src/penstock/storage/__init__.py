"""Names to bytes and back: the only Python that opens data files."""

from penstock.storage.local import make_folders, read_file, write_file

__all__ = ["make_folders", "read_file", "write_file"]
