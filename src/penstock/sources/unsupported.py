"""Annotation layouts that are recognised, but not supported yet: COCO, Pascal VOC and YOLO.

As plain folders of images they would silently give wrong classes, so they are refused with an alternative.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from penstock.errors import SourceError
from penstock.sources.names import ending_of, image_endings
from penstock.sources.probe import Probe
from penstock.storage import StorePath

COCO_FILE = re.compile(
    r"(instances|person_keypoints|captions|panoptic|stuff|image_info)_.*\.json|_annotations\.coco\.json"
)
VOC_FOLDER = re.compile(r"VOC(devkit|20\d\d)")
VOC_BESIDE = ("Annotations", "ImageSets", "SegmentationClass")
YAML = (".yaml", ".yml")


@dataclass(frozen=True, slots=True)
class Unsupported:
    """Layout that is recognised and refused."""

    name: str
    looked_for: str
    """Files by which it was recognised."""
    images: str
    """Folder of its images, for users who want them without annotations."""
    detects: Callable[[Probe], bool]


def refuse_unsupported(probe: Probe) -> None:
    """Raise an error if a path has one of the layouts, and say how to use its images and annotations."""
    for layout in UNSUPPORTED:
        if layout.detects(probe):
            raise SourceError(
                f"this is a {layout.name} dataset ({layout.looked_for}), which cannot be read yet",
                where=str(probe.path),
                fix="write a manifest, a line per image, such as "
                '{"path": "…/1.jpg", "boxes": [[left, top, right, bottom]], "classes": [3]}, and '
                "`penstock build manifest.jsonl OUT.pen --format jpeg`; "
                f"or name {layout.images} for the images without their annotations",
                code=605,
            )


def _is_coco(probe: Probe) -> bool:
    """Return whether a root has `annotations/instances_*.json`, only JSON there, or a file named by Roboflow."""
    if any(COCO_FILE.fullmatch(name) for name in (*probe.top, *probe.below)):
        return True
    names = probe.files_in("annotations") if probe.named("annotations") else ()
    endings = {ending_of(name) for name in names}
    return ".json" in endings and not endings & image_endings()


def _is_voc(probe: Probe) -> bool:
    """Return whether `JPEGImages` is next to annotations: here, in a folder VOC2012, or in VOCdevkit above it."""
    if probe.named("JPEGImages") and any(probe.named(name) for name in VOC_BESIDE):
        return True
    places = [probe.path / name for name in probe.top if VOC_FOLDER.fullmatch(name)]
    places += [place / inner for place in places for inner in _folders(place) if VOC_FOLDER.fullmatch(inner)]
    return any((place / "JPEGImages").is_folder() for place in places)


def _is_yolo(probe: Probe) -> bool:
    """Return whether `images` is next to `labels` with one .txt per image: here, or in the folder of each split."""
    if not probe.is_folder:
        return False
    splits = [name for name in probe.top if probe.holds(f"{name}/images", f"{name}/labels")]
    label_folders = [*(["labels"] if probe.holds("images", "labels") else []), *(f"{name}/labels" for name in splits)]
    if any(ending_of(name) == ".txt" for folder in label_folders for name in probe.files_in(folder)):
        return True
    return bool(label_folders) and any(name.lower().endswith(YAML) for name in probe.top)


def _folders(place: StorePath) -> list[str]:
    return [name for name, is_folder in place.names().items() if is_folder] if place.is_folder() else []


UNSUPPORTED = (
    Unsupported("COCO", "JSON files in 'annotations'", "the folder of images, such as train2017", _is_coco),
    Unsupported("Pascal VOC", "'JPEGImages' beside 'Annotations'", "the folder 'JPEGImages'", _is_voc),
    Unsupported("YOLO", "'images' beside 'labels' with .txt files", "the folder 'images'", _is_yolo),
)
