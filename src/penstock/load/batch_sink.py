"""`BatchSink`: turn decoded batches into what a framework wants, and run ahead of the consumer.

A loader hands every batch to its sink: `decoded` first, then functions in Python run, then `finish`; `ahead` sees the
finished batches before the consumer does. Transforms of whole batches (MixUp, CutMix) belong into `finish`, which gets
the seed and epoch that their random numbers should depend on.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from penstock import _native
from penstock.functions.forms import Forms
from penstock.functions.sample import Drawing
from penstock.load.delivery import BatchDict
from penstock.load.loader_options import LoaderOptions
from penstock.load.plan_values import PlanValues
from penstock.load.python_part import forms_of
from penstock.load.python_stage import PythonStage
from penstock.transforms import Chain

Delivered = tuple[BatchDict, int]
"""A batch, and how many samples of the epoch are out once it is."""


class BatchSink:
    """Give batches of NumPy arrays. Adapters override what their framework needs; every method has a default."""

    undecoded = _native.Undecoded.NONE
    """Images that batches hold as they are stored: none, those that the sink decodes, or all."""

    def options(self, options: LoaderOptions) -> LoaderOptions:
        """Return the options of the loader as this sink needs them; refuse those that it cannot serve."""
        return replace(options, output=replace(options.output, undecoded=self.undecoded))

    def forms(self, chain: Chain) -> Forms:
        """Return the types that functions in Python get: arrays, and tensors for those of torchvision."""
        return forms_of(chain.python_transforms)

    def prepare(self, plan: PlanValues, stage: PythonStage | None) -> None:
        """Prepare for a plan, before any thread starts; refuse what this sink cannot do."""

    def decoded(self, batch: BatchDict, drawing: Drawing) -> BatchDict:
        """Decode images that the native part passed through undecoded. Functions in Python run after this."""
        return batch

    def finish(self, batch: BatchDict, drawing: Drawing) -> BatchDict:
        """Do the last step of a batch, on the consumer's thread."""
        return batch

    def ahead(self, batches: Iterator[Delivered]) -> Iterator[Delivered]:
        """Take batches before their turn, for example to start a copy; hand them on in order."""
        return batches


class EncodedSink(BatchSink):
    """Give images as stored: batches are read and verified, but not decoded."""

    undecoded = _native.Undecoded.ALL
