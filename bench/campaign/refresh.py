"""A profile brought up to date: what images cost is measured again, directly before a run that is predicted.

A shared host's speed moves by a tenth and more within minutes. A profile that is older than its run says what the
machine was. So the profile's own images go through the loader's pipeline again, for some seconds, and the new costs
take the place of the old; everything else stays. This happens before the run, and is kept in the log.
"""

from __future__ import annotations

import os
from dataclasses import asdict, replace

import numpy as np

from bench.campaign.data import Data
from bench.campaign.log import Log
from penstock.profile import FormatCosts, Measurement, Profile
from penstock.profile.measure import ProfileOptions, choose_rows
from penstock.profile.pipeline import measure_pipeline
from penstock.records import Dataset
from penstock.sources import index_of, open_source
from penstock.storage import read_range
from penstock.transforms import split
from penstock.transforms.named import named


class Refresher:
    """Measures the images of a profile again, as often as asked. Holds them in memory: the profile kept all of them."""

    def __init__(self, data: Data) -> None:
        self._data = data
        self._stored: dict[str, list[bytes]] = {}

    def profile(self, log: Log, key: str) -> Profile:
        """Return the current profile; what the log has under `key` is not measured again."""
        known = log.get(f"{key}/refreshed")
        if known is None:
            chain = split(named(self._data.corpus.transform))
            cores = self._data.profile().cores
            seconds = ProfileOptions().repeat_seconds
            found = measure_pipeline(self._images(), chain, cores, self._data.folder, seconds=seconds)
            assert found.busy_cores is not None
            known = {
                "formats": {name: asdict(figure) for name, figure in found.formats.items()},
                "busy_cores": asdict(found.busy_cores),
            }
            log.put(f"{key}/refreshed", known)
        return _refreshed(
            self._data.profile(),
            {name: Measurement(**figure) for name, figure in known["formats"].items()},
            Measurement(**known["busy_cores"]),
        )

    def _images(self) -> dict[str, list[bytes]]:
        """Return the stored images that the profile ran through the pipeline."""
        if not self._stored:
            index = index_of(open_source(self._data.images))
            rows = choose_rows(index, ProfileOptions().sample)[: len(self._data.profile().images)]
            keys = [str(index.column("key")[int(row)]) for row in rows]
            self._stored = {format: _read(Dataset(path), keys) for format, path in self._data.builds.items()}
        return self._stored


def _read(dataset: Dataset, keys: list[str]) -> list[bytes]:
    """Return the records of some samples."""
    ids = {str(key): number for number, key in enumerate(dataset.columns["key"].to_pylist())}
    found, shards = dataset.locations(), dataset.shard_paths()
    wanted = np.array([ids[key] for key in keys])
    return [
        read_range(os.fspath(shards[found.file[number]]), int(found.offset[number]), int(found.length[number]))
        for number in wanted
    ]


def _refreshed(profile: Profile, pipeline: dict[str, Measurement], busy_cores: Measurement) -> Profile:
    formats = {name: _scaled(costs, pipeline[name]) for name, costs in profile.formats.items()}
    return replace(profile, formats=formats, busy_cores=busy_cores)


def _scaled(costs: FormatCosts, now: Measurement) -> FormatCosts:
    assert costs.pipeline is not None
    return replace(costs, decode_seconds=costs.decode_seconds * now.median / costs.pipeline.median, pipeline=now)
