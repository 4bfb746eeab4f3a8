"""Export of a dataset to files."""

from penstock.export.exporting import Exported, ExportOptions, export

__all__ = ["ExportOptions", "Exported", "export"]
