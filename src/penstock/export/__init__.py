"""Export of a dataset to files."""

from penstock.export.run import Exported, ExportOptions, export

__all__ = ["ExportOptions", "Exported", "export"]
