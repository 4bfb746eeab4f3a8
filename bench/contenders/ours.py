"""Penstock itself: a folder or a dataset. Variants: exact, approximate."""

from __future__ import annotations

import time
from collections.abc import Iterable

from bench.contenders.serving import arguments, serve
from penstock import Loader
from penstock.transforms import RandomHorizontalFlip, RandomResizedCrop


def main() -> None:
    """Serve epochs to the benchmark."""
    wishes = arguments()
    began = time.perf_counter()
    loader = Loader(
        wishes.source,
        batch_size=wishes.batch_size,
        threads=wishes.threads,
        transform=[RandomResizedCrop(224), RandomHorizontalFlip()] if wishes.job == "train224" else None,
        decode=wishes.variant or "exact",
        overlap_epochs=False,  # contenders take turns: none works in the time of another
    )

    def epoch() -> Iterable[tuple[int, float]]:
        for index, batch in enumerate(loader):
            yield len(batch["id"]), float(batch["image"].mean()) if index == 0 else 0.0

    serve(epoch, began=began, antialias=True)


if __name__ == "__main__":
    main()
