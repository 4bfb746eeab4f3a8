"""Loaders of others get the samples that ours gets, whatever part of the data a recipe asks for."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from penstock.build import build
from penstock.lab.jobs.contract import LeftOut
from penstock.lab.loaders import LoaderSpec, open_loader
from penstock.lab.loaders.ours import HELD_OUT, OurLoader
from penstock.lab.loaders.rival_loader import beton_of, labelled_files
from penstock.load import Loader
from penstock.load.batch_sink import EncodedSink
from penstock.records.dataset import open_dataset
from penstock.synth import Scenes, write

SCENES = Scenes(width=40, height=32, classes=3)


@pytest.fixture(scope="module")
def flat(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Classes without splits."""
    folder = tmp_path_factory.mktemp("flat")
    write(folder, images=30, scenes=SCENES)
    return folder


def spec_of(folder: Path, path: Path | None = None, **changed: object) -> LoaderSpec:
    spec = LoaderSpec(str(path or folder), str(folder), batch_size=7, threads=1, seed=0, size=24, crop="stretch")
    return replace(spec, **changed)  # type: ignore[arg-type]  # by name


def counted(name: str, spec: LoaderSpec) -> Counter[tuple[int, bytes]]:
    """Labels and batches' images, brought so low that the resizers of two libraries agree."""
    loader = open_loader(name, spec)
    found: Counter[tuple[int, bytes]] = Counter()
    for images, labels, _ in loader.epoch():
        pixels = np.asarray(images, np.float64).mean(axis=(2, 3)).round(-1).astype(np.uint8)
        found.update((int(label), pixel.tobytes()) for pixel, label in zip(pixels, np.asarray(labels), strict=True))
    loader.close()
    return found


@pytest.mark.parametrize("part", ["train", ""])
@pytest.mark.parametrize("share", [1.0, 0.5])
def test_torch_loads_what_we_load(flat: Path, tmp_path: Path, part: str, share: float) -> None:
    build(flat, tmp_path / "source.pen", mix="png=1", durable=False)
    ours = counted("penstock", spec_of(flat, tmp_path / "source.pen", part=part, share=share))
    theirs = counted("torch", spec_of(flat, tmp_path / "source.pen", part=part, share=share))
    assert Counter(label for label, _ in ours.elements()) == Counter(label for label, _ in theirs.elements())
    assert (ours & theirs).total() >= 0.8 * ours.total()  # a mean at the edge of its step may fall to either side


@pytest.mark.parametrize("is_built", [True, False])
def test_without_splits_the_rivals_hold_out_what_we_hold_out(flat: Path, tmp_path: Path, is_built: bool) -> None:
    path = tmp_path / "source.pen" if is_built else flat
    if is_built:
        build(flat, path, mix="png=1", durable=False)

    train = labelled_files(spec_of(flat, path, part="train"))
    held_out = labelled_files(spec_of(flat, path, part="val"))

    assert len(held_out) == 30 // HELD_OUT
    assert sorted(train + held_out) == sorted(labelled_files(spec_of(flat, path)))
    assert {Path(file).parent.name for file, label in train if label == 1} == {"class001"}


def test_splits_of_the_data_are_kept(tmp_path: Path) -> None:
    write(tmp_path / "train", images=9, scenes=SCENES)
    write(tmp_path / "val", images=6, scenes=replace(SCENES, seed=1))
    for part, count in (("train", 9), ("val", 6), ("", 15)):
        assert len(labelled_files(spec_of(tmp_path, part=part))) == count


def test_masks_are_no_images_of_a_rival(tmp_path: Path) -> None:
    write(tmp_path / "data", images=6, scenes=Scenes(width=40, height=32, classes=1), masks=True)
    build(tmp_path / "data", tmp_path / "source.pen", mix="png=1", durable=False)
    assert len(labelled_files(spec_of(tmp_path / "data", tmp_path / "source.pen"))) == 6


def test_data_that_is_not_files_leaves_a_rival_out(flat: Path, tmp_path: Path) -> None:
    build(flat, tmp_path / "source.pen", mix="png=1", durable=False)
    with pytest.raises(LeftOut, match="reads image files"):
        labelled_files(spec_of(tmp_path, tmp_path / "source.pen"))


def test_the_file_for_ffcv_is_another_for_another_part(flat: Path) -> None:
    specs = [spec_of(flat), spec_of(flat, part="train"), spec_of(flat, part="train", share=0.5)]
    assert len({beton_of(spec) for spec in specs}) == 3


@pytest.mark.parametrize("format", ["png", "jpeg", "webp:lossless", "weir:fast", "l3", "raw"])
def test_reading_alone_decodes_nothing(flat: Path, tmp_path: Path, format: str) -> None:
    build(flat, tmp_path / "one.pen", mix=f"{format}=1", durable=False)
    dataset = open_dataset(tmp_path / "one.pen")
    with Loader(tmp_path / "one.pen", batch_size=7, sink=EncodedSink()) as loader:
        for batch in loader:
            for sample, image in zip(batch["id"], batch["image"], strict=True):
                assert np.asarray(image).tobytes() == dataset.read(int(sample))


@pytest.mark.parametrize(("format", "pattern"), [("png", "random"), ("pjpeg", "runs")])
def test_data_is_read_as_it_records(flat: Path, tmp_path: Path, format: str, pattern: str) -> None:
    build(flat, tmp_path / "one.pen", mix=f"{format}=1", durable=False)
    loader = OurLoader(spec_of(flat, tmp_path / "one.pen"))
    assert loader.loader.stats()["reading"] == {"pattern": pattern, "from": "given"}
    loader.close()
