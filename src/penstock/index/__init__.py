"""The samples of a folder, an archive, a manifest or a dataset as columns: the one read model of the package."""

from penstock.index.fields import Field, Role
from penstock.index.file_names import FileNames
from penstock.index.image_columns import ABSENT, ASK, WHOLE, ImageColumns, Segments, StoredColumns
from penstock.index.listed_index import ListedIndex
from penstock.index.listing import Listing
from penstock.index.sample_index import SampleIndex
from penstock.index.selection import Ids, Subset

__all__ = [
    "ABSENT",
    "ASK",
    "WHOLE",
    "Field",
    "FileNames",
    "Ids",
    "ImageColumns",
    "ListedIndex",
    "Listing",
    "Role",
    "SampleIndex",
    "Segments",
    "StoredColumns",
    "Subset",
]
