"""Reports for people: text, charts and tables in one file that needs no network."""

from penstock.report.page import Attachment, Figure, Page, Section, Table, render

__all__ = ["Attachment", "Figure", "Page", "Section", "Table", "render"]
