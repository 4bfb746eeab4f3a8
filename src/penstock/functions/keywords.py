"""Calls of albumentations: arrays by keyword, boxes in the format that its Compose declares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from penstock.errors import ArgumentError
from penstock.functions.forms import Array, Value

BOX_FORMATS = ("pascal_voc", "albumentations", "coco", "yolo")
PARAMETERS = {
    "boxes": ("bboxes", "bbox_params=A.BboxParams(format='pascal_voc')"),
    "points": ("keypoints", "keypoint_params=A.KeypointParams(format='xy')"),
}


def check_keywords(function: Any, roles: Mapping[str, str]) -> None:  # noqa: ANN401  # of albumentations
    """Refuse a transform of albumentations that would leave boxes or points behind."""
    for role, (keyword, parameters) in PARAMETERS.items():
        names = [name for name, found in roles.items() if found == role]
        if names and keyword not in getattr(function, "processors", {}):
            raise ArgumentError(
                f"{type(function).__name__} has no parameters for {names[0]!r}, which would stay behind",
                where="transform",
                fix=f'write A.Compose([…], {parameters}), or load without it: fields=("image", …)',
                code=100,
            )
        if len(names) > 1:
            raise ArgumentError(
                f"albumentations takes one column of {role}, and {' and '.join(names)} are delivered",
                where="transform",
                fix="choose one of them with `fields`",
                code=100,
            )
    if "keypoints" in getattr(function, "processors", {}) and _of(roles, "points"):
        found = function.processors["keypoints"].params.format
        if found != "xy":
            raise ArgumentError(
                f"keypoints come as 'xy', not {found!r}",
                where="transform",
                fix="use KeypointParams(format='xy')",
                code=100,
            )


def call_with_keywords(
    function: Any,  # noqa: ANN401  # of albumentations
    image: Array,
    others: Mapping[str, Array],
    roles: Mapping[str, str],
) -> tuple[Value, dict[str, Value]]:
    """Call a transform, and return the image and the other fields of its result."""
    keywords: dict[str, Any] = {"image": image}
    found = dict(others)
    masks = _of(roles, "mask")
    pictures = _of(roles, "image")
    if len(masks) == 1:
        keywords["mask"] = others[masks[0]]
    elif masks:
        keywords["masks"] = [others[name] for name in masks]
    if pictures:
        raise ArgumentError(
            f"albumentations gets one image, and {pictures[0]!r} is another",
            where="transform",
            fix="load without it, or use torchvision's v2",
            code=100,
        )
    movers = [
        mover for mover in (_Boxes.of(function, others, roles, image), _Points.of(function, others, roles)) if mover
    ]
    for mover in movers:
        keywords |= mover.keywords()
    result = function(**keywords)
    if len(masks) == 1:
        found[masks[0]] = result["mask"]
    elif masks:
        found |= dict(zip(masks, result["masks"], strict=True))
    for mover in movers:
        found |= mover.found(result)
    return result["image"], found


def _of(roles: Mapping[str, str], role: str) -> list[str]:
    return [name for name, found in roles.items() if found == role]


class _Rows:
    """Boxes or points with their row numbers, so that removed ones are known."""

    keyword = ""

    def __init__(self, name: str, rows: Array, others: Mapping[str, Array], labels: Sequence[str]) -> None:
        self.name, self.rows = name, rows
        self.labels = {label: np.asarray(others[label]) for label in labels if label in others}
        self.valid = np.flatnonzero(self.is_valid())

    def is_valid(self) -> Any:  # noqa: ANN401  # an array of flags
        return np.isfinite(self.rows).all(axis=1)

    def packed(self) -> Array:
        return self.rows

    def unpacked(self, rows: Array, size: tuple[int, int]) -> Array:
        return rows

    def gone(self) -> Array:
        """Return the value that replaces removed rows if their positions must be kept."""
        raise NotImplementedError

    def keywords(self) -> dict[str, Any]:
        rows = self.packed()[self.valid]
        if self.labels:
            return {self.keyword: rows, **{label: list(values[self.valid]) for label, values in self.labels.items()}}
        return {self.keyword: np.concatenate([rows, self.valid[:, None].astype(rows.dtype)], axis=1)}

    def found(self, result: Mapping[str, Any]) -> dict[str, Value]:
        image = np.asarray(result["image"])
        shape = image.shape if isinstance(result["image"], np.ndarray) or image.ndim == 2 else image.shape[-2:]
        rows = np.asarray(result[self.keyword], np.float32)
        width = self.rows.shape[1]
        rows = rows.reshape(-1, rows.shape[-1] if rows.size else width + (0 if self.labels else 1))
        moved = self.unpacked(rows[:, :width], (int(shape[0]), int(shape[1])))
        if self.labels:
            labels = {name: np.asarray(result[name], values.dtype) for name, values in self.labels.items()}
            return {self.name: moved, **labels}
        kept = self.gone()
        kept[np.rint(rows[:, width]).astype(np.int64)] = moved
        return {self.name: kept}


class _Boxes(_Rows):
    """Boxes as left, top, right, bottom in pixels. Without label fields, a removed box stays with zero area."""

    keyword = "bboxes"

    def __init__(
        self, name: str, rows: Array, others: Mapping[str, Array], labels: Sequence[str], form: str, image: Array
    ) -> None:
        self.form, self.size = form, (int(image.shape[0]), int(image.shape[1]))
        super().__init__(name, rows, others, labels)

    @classmethod
    def of(
        cls,
        function: Any,  # noqa: ANN401
        others: Mapping[str, Array],
        roles: Mapping[str, str],
        image: Array,
    ) -> _Boxes | None:
        names = _of(roles, "boxes")
        if not names:
            return None
        params = function.processors["bboxes"].params
        rows = np.asarray(others[names[0]], np.float32).reshape(-1, 4)
        return cls(
            names[0],
            rows,
            others,
            params.label_fields or (),
            str(getattr(params.format, "value", params.format)),
            image,
        )

    def is_valid(self) -> Any:  # noqa: ANN401
        return (self.rows[:, 2] > self.rows[:, 0]) & (self.rows[:, 3] > self.rows[:, 1])

    def packed(self) -> Array:
        height, width = self.size
        scale = np.array([width, height, width, height], np.float32)
        boxes = self.rows / scale if self.form in ("albumentations", "yolo") else self.rows.copy()
        if self.form in ("coco", "yolo"):
            boxes[:, 2:] -= boxes[:, :2]
        if self.form == "yolo":
            boxes[:, :2] += boxes[:, 2:] / 2
        return boxes

    def unpacked(self, rows: Array, size: tuple[int, int]) -> Array:
        boxes = rows.copy()
        if self.form == "yolo":
            boxes[:, :2] -= boxes[:, 2:] / 2
        if self.form in ("coco", "yolo"):
            boxes[:, 2:] += boxes[:, :2]
        height, width = size
        scale = np.array([width, height, width, height], np.float32)
        return boxes * scale if self.form in ("albumentations", "yolo") else boxes

    def gone(self) -> Array:
        return np.zeros_like(self.rows)


class _Points(_Rows):
    """Points as x, y in pixels. Without label fields, a point that is no longer visible becomes NaN."""

    keyword = "keypoints"

    @classmethod
    def of(cls, function: Any, others: Mapping[str, Array], roles: Mapping[str, str]) -> _Points | None:  # noqa: ANN401
        names = _of(roles, "points")
        if not names:
            return None
        params = function.processors["keypoints"].params
        return cls(names[0], np.asarray(others[names[0]], np.float32).reshape(-1, 2), others, params.label_fields or ())

    def gone(self) -> Array:
        return np.full_like(self.rows, np.nan)
