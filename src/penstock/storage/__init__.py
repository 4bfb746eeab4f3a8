"""Names to bytes and back: the only Python that opens data files."""

from penstock.storage.folders import make_real_folder, remove_file, remove_tree, sync_file, sync_folder, sync_names
from penstock.storage.local import (
    AppendFile,
    append_line,
    disk_limit,
    disk_of,
    drop_cached,
    file_checksum,
    file_size,
    make_folders,
    probe_reads,
    read_file,
    read_input,
    read_range,
    time_opens,
    write_file,
)
from penstock.storage.lock import locked
from penstock.storage.ranges import InputFile
from penstock.storage.tree import FolderVisits, Tree, list_tree

__all__ = [
    "AppendFile",
    "FolderVisits",
    "InputFile",
    "Tree",
    "append_line",
    "disk_limit",
    "disk_of",
    "drop_cached",
    "file_checksum",
    "file_size",
    "list_tree",
    "locked",
    "make_folders",
    "make_real_folder",
    "probe_reads",
    "read_file",
    "read_input",
    "read_range",
    "remove_file",
    "remove_tree",
    "sync_file",
    "sync_folder",
    "sync_names",
    "time_opens",
    "write_file",
]
