"""Part of `penstock info` that shows a dataset."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict

from rich.table import Table

from penstock.cli.output import Output, new_table
from penstock.info import DatasetSummary
from penstock.units import bytes_text, count_text

MAX_CLASSES = 12
BAR = 40


def show_dataset(out: Output, found: DatasetSummary) -> None:
    """Print a dataset's summary."""
    manifest = found.manifest
    facts = Table.grid(padding=(0, 2, 0, 0))
    facts.add_row("dataset", found.path)
    facts.add_row("samples", f"{manifest.num_samples:,}, {count_text(len(manifest.shards), 'shard')}")
    facts.add_row("bytes", bytes_text(found.num_bytes))
    facts.add_row("source", str(manifest.source.get("kind", "")))
    if manifest.splits:
        facts.add_row("splits", ", ".join(f"{name} ({count:,})" for name, count in manifest.splits.items()))
    facts.add_row("sides", f"{_range(found.width)} × {_range(found.height)} px (smallest … median … largest)")
    facts.add_row("image", f"{' … '.join(bytes_text(value) for value in found.length)}")
    facts.add_row("lanes", f"{manifest.lanes}")
    if manifest.skipped:
        facts.add_row("left out", count_text(len(manifest.skipped), "sample"))
    if manifest.kept_as_jpeg:
        facts.add_row("kept as jpeg", f"{count_text(len(manifest.kept_as_jpeg), 'image')} that sluice cannot restore")
    for entry in manifest.tables:
        facts.add_row("tables", f"{entry.codec} {entry.id}, trained for this dataset, {bytes_text(len(entry.data))}")
    out.show(facts, "", _formats(found), "", _fields(found), "", _sizes(found))
    if found.labels:
        out.show("", _classes(found.labels))
    out.result(
        {
            "path": found.path,
            "fingerprint": found.fingerprint,
            "num_samples": manifest.num_samples,
            "num_bytes": found.num_bytes,
            "num_shards": len(manifest.shards),
            "lanes": manifest.lanes,
            "source": manifest.source,
            "recipe": manifest.recipe,
            "splits": manifest.splits,
            "formats": manifest.formats,
            "fields": [asdict(field) for field in found.fields],
            "metadata": manifest.metadata,
            "skipped": manifest.skipped,
            "kept_as_jpeg": manifest.kept_as_jpeg,
            "tables": [{"codec": entry.codec, "id": entry.id, "bytes": len(entry.data)} for entry in manifest.tables],
            "width": found.width,
            "height": found.height,
            "image_bytes": found.length,
            "sizes": found.sizes,
            "labels": found.labels,
        }
    )


def _range(values: tuple[int, int, int]) -> str:
    return " … ".join(f"{value:,}" for value in values)


def _formats(found: DatasetSummary) -> Table:
    table = new_table("format", "share", "samples", "bytes", "kept", "transcoded", "encoded", numbers=6)
    for name, count in found.manifest.formats.items():
        table.add_row(
            name,
            f"{100 * count.share:.1f} %",
            f"{count.samples:,}",
            bytes_text(count.bytes),
            f"{count.kept:,}",
            f"{count.transcoded:,}",
            f"{count.encoded:,}",
        )
    return table


def _fields(found: DatasetSummary) -> Table:
    table = new_table("field", "role", "holds")
    for field in found.fields:
        classes = f", {count_text(len(field.classes), 'class')}".replace("classs", "classes") if field.classes else ""
        table.add_row(field.name, field.role, ", ".join(field.formats) if field.is_image else field.type + classes)
    return table


def _sizes(found: DatasetSummary) -> Table:
    table = new_table("pixels", "images", "", numbers=0)
    most = max(entry.images for entry in found.sizes)
    for entry in found.sizes:
        bar = "█" * max(1, round(BAR * entry.images / most))
        table.add_row(f"{entry.from_pixels:,} to {entry.below_pixels - 1:,}", f"{entry.images:,}", bar)
    return table


def _classes(labels: Mapping[str, int]) -> Table:
    table = new_table("class", "samples", numbers=1)
    for name, count in list(labels.items())[:MAX_CLASSES]:
        table.add_row(name, f"{count:,}")
    if len(labels) > MAX_CLASSES:
        table.add_row(f"… and {len(labels) - MAX_CLASSES:,} more", f"{sum(list(labels.values())[MAX_CLASSES:]):,}")
    return table
