"""Access to stored bytes by name; the only Python code that opens data files."""

from penstock.storage.folders import make_real_folder, remove_file, remove_tree, sync_file, sync_folder, sync_names
from penstock.storage.local import (
    AppendFile,
    append_line,
    disk_limit,
    drop_cached,
    file_checksum,
    make_folders,
    probe_reads,
    read_file,
    read_input,
    read_range,
    time_opens,
    write_file,
)
from penstock.storage.local_store import LocalStore, LockedStore
from penstock.storage.lock import locked
from penstock.storage.memory import MemoryStore
from penstock.storage.object_tree import Entry, ObjectFolder, Tree, status_in
from penstock.storage.paths import (
    changed_at,
    check_exists,
    disk_of,
    entries_of,
    exists,
    file_size,
    first_names,
    is_file,
    is_folder,
    is_link,
    is_special,
    is_taken,
    mode_of,
    status_of,
)
from penstock.storage.ranges import InputFile, ObjectReader
from penstock.storage.store import ByteRange, Store, StoredObject
from penstock.storage.store_path import AnyPlace, StorePath
from penstock.storage.throttled import ThrottledStore
from penstock.storage.tree import list_tree, walk_tree

__all__ = [
    "AnyPlace",
    "AppendFile",
    "ByteRange",
    "Entry",
    "InputFile",
    "LocalStore",
    "LockedStore",
    "MemoryStore",
    "ObjectFolder",
    "ObjectReader",
    "Store",
    "StorePath",
    "StoredObject",
    "ThrottledStore",
    "Tree",
    "append_line",
    "changed_at",
    "check_exists",
    "disk_limit",
    "disk_of",
    "drop_cached",
    "entries_of",
    "exists",
    "file_checksum",
    "file_size",
    "first_names",
    "is_file",
    "is_folder",
    "is_link",
    "is_special",
    "is_taken",
    "list_tree",
    "locked",
    "make_folders",
    "make_real_folder",
    "mode_of",
    "probe_reads",
    "read_file",
    "read_input",
    "read_range",
    "remove_file",
    "remove_tree",
    "status_in",
    "status_of",
    "sync_file",
    "sync_folder",
    "sync_names",
    "time_opens",
    "walk_tree",
    "write_file",
]
