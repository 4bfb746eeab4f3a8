"""A dataset with a table set of its own is read today, and by the plain readers of the specification."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import penstock
from penstock.records import open_dataset, verify
from spec.reference import dataset as reference
from spec.reference import sluice as sluice_reference
from tests.golden.sluice_dataset import KEPT, NAME, NUM_IMAGES

FOLDER = Path(__file__).parent / NAME


def test_the_dataset_is_whole_and_restores_its_sources() -> None:
    found = verify(FOLDER)

    assert (found.problems, found.num_restored) == ((), NUM_IMAGES)
    assert [entry.key for entry in open_dataset(FOLDER).manifest.kept_as_jpeg] == [KEPT]


def test_the_plain_readers_decode_a_record_with_the_tables_of_the_manifest() -> None:
    manifest = reference.read_manifest((FOLDER / "manifest.json").read_bytes())
    tables = reference.read_table_sets(manifest)
    dataset = open_dataset(FOLDER)
    record = dataset.read(7)

    image = sluice_reference.decode(record, tables[int.from_bytes(record[24:32], "little")])

    assert (image.width, image.height) == (24, 18)
    restored = penstock.codecs.transcode(record, "jpeg")
    np.testing.assert_array_equal(dataset[7]["image"], penstock.decode(restored))
    reference.check_files(FOLDER)
