"""Runs the kernels on files, on the CPU."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from unittest import mock

import numpy as np
import torch

import penstock
from penstock.kernels import table
from penstock.kernels.batch_output import Canvas, Output
from penstock.kernels.decode import decode_into
from penstock.kernels.launch import Damage
from penstock.kernels.table import Upload
from penstock.types import Buffer, Pixels

CPU = torch.device("cpu")


def run(records: Sequence[Buffer], output: Output, *, verify: bool = False) -> tuple[list[torch.Tensor], list[Damage]]:
    """The images of the records, and what is damaged."""
    infos = [penstock.inspect(record) for record in records]
    canvas = Canvas.allocate(infos, output, CPU)
    return canvas.images, decode_into(canvas.images, records, infos, output, verify=verify)


def check_exact(images: Sequence[Pixels], format_text: str, *, verify: bool = False) -> None:
    """The kernels give back what was encoded."""
    records = [penstock.encode(pixels, format_text) for pixels in images]
    decoded, damages = run(records, Output("NHWC"), verify=verify)
    assert damages == []
    for image, pixels in zip(decoded, images, strict=True):
        np.testing.assert_array_equal(image.numpy().reshape(pixels.shape), pixels)


def run_beside(record: Buffer, filler: int) -> tuple[list[int], list[str]]:
    """What a record becomes where nothing but bytes of `filler` surround it: its pixels, and its damages."""

    def surrounded(*args: object) -> Upload:
        batch = table.upload(*args)  # type: ignore[arg-type]  # handed on
        around = torch.full((4096,), filler, dtype=torch.uint8)
        rows = batch.rows.clone()
        rows[:, 0] += len(around)
        data = torch.cat([around, batch.data[: len(record)], around])
        return dataclasses.replace(batch, data=data, rows=rows)

    with mock.patch("penstock.kernels.launch.upload", surrounded):
        images, damages = run([record], Output("NHWC"))
    return images[0].flatten().tolist(), [str(error) for _, error in damages]
