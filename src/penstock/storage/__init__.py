"""Names to bytes and back: the only Python that opens data files."""

from penstock.storage.folders import find_files
from penstock.storage.local import make_folders, read_file, write_file

__all__ = ["find_files", "make_folders", "read_file", "write_file"]
