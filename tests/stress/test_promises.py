"""What order and resume promise, on real runs: every sample once, the same pixels whoever loads, the rest to the bit.

Minutes, in the long tier.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock
from penstock import Loader
from penstock.build import build
from penstock.transforms import RandomHorizontalFlip, RandomResizedCrop

COUNT = 331
SEED = 11
CHAIN = [RandomResizedCrop(24), RandomHorizontalFlip()]
MIXES = {"one": "weir:fast=1", "two": "weir:fast=0.6,raw=0.4", "three": "png=0.4,weir:dense=0.3,raw=0.3"}
KINDS = ("folder", *MIXES)

RESUMER = """
import json, sys
from tests.stress.test_promises import digests
from penstock import Loader
from penstock.transforms import RandomHorizontalFlip, RandomResizedCrop

for line in sys.stdin:
    wish = json.loads(line)
    chain = [RandomResizedCrop(24), RandomHorizontalFlip()]
    with Loader(wish["path"], transform=chain, seed=999, **wish["options"]) as loader:
        loader.load_state_dict(wish["state"])
        print(json.dumps([found for batch in loader for found in digests(batch)]), flush=True)
"""


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Listings are kept where no other test sees them."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture(scope="session")
def sets(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The same samples as a folder and as datasets of one, two and three lossless formats."""
    root = tmp_path_factory.mktemp("promises")
    found = {"folder": root / "images"}
    for number in range(COUNT):
        place = found["folder"] / f"class{number % 5}"
        place.mkdir(parents=True, exist_ok=True)
        pixels = np.random.default_rng(number).integers(0, 256, (30 + number % 9, 40, 3), np.uint8)
        (place / f"{number:03d}.png").write_bytes(penstock.encode(pixels, "png"))
    for name, mix in MIXES.items():
        found[name] = root / f"{name}.pen"
        build(found["folder"], found[name], mix=mix)
    return found


@pytest.fixture(scope="session")
def resumer() -> Iterator[subprocess.Popen[str]]:
    """Another process, which loads the rest of an epoch for every state that it is sent."""
    command = [sys.executable, "-c", RESUMER]
    root = Path(__file__).parents[2]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=root) as process:
        yield process
        assert process.stdin is not None
        process.stdin.close()


def digests(batch: dict[str, Any]) -> list[tuple[int, str]]:
    """Id and pixels of every sample of a batch."""
    return [
        (int(sample), blake2b(np.ascontiguousarray(image).tobytes(), digest_size=8).hexdigest())
        for sample, image in zip(batch["id"], batch["image"], strict=True)
    ]


def rest_of(resumer: subprocess.Popen[str], path: Path, state: object, **options: object) -> list[tuple[int, str]]:
    assert resumer.stdin is not None
    assert resumer.stdout is not None
    resumer.stdin.write(json.dumps({"path": str(path), "state": state, "options": options}) + "\n")
    resumer.stdin.flush()
    return [(sample, digest) for sample, digest in json.loads(resumer.stdout.readline())]


@pytest.mark.long
@pytest.mark.parametrize("world_size", [1, 2, 3, 8])
@pytest.mark.parametrize("kind", KINDS)
def test_pixels_are_the_same_whoever_loads_them(sets: dict[str, Path], kind: str, world_size: int) -> None:
    with Loader(sets["folder"], seed=SEED, transform=CHAIN, threads=1) as loader:
        expected = [dict(found for batch in loader for found in digests(batch)) for _ in range(2)]
    assert expected[0] != expected[1]

    for threads in (1, 2):
        for batch_size in (1, 7, 64):
            epochs: list[list[tuple[int, str]]] = [[], []]
            lengths = set()
            for rank in range(world_size):
                with Loader(
                    sets[kind],
                    batch_size=batch_size,
                    seed=SEED,
                    threads=threads,
                    rank=rank,
                    world_size=world_size,
                    transform=CHAIN,
                ) as loader:
                    lengths.add(len(loader))
                    for epoch in epochs:
                        epoch += [found for batch in loader for found in digests(batch)]
            assert len(lengths) == 1
            for found, wanted in zip(epochs, expected, strict=True):
                assert sorted(found) == sorted(wanted.items()), (threads, batch_size)


@pytest.mark.long
@pytest.mark.parametrize("window", [None, 8])
@pytest.mark.parametrize("cache", ["system", "rolling"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_seventh_stop_resumes_to_the_bit_in_another_process(
    sets: dict[str, Path], resumer: subprocess.Popen[str], kind: str, cache: str, window: int | None
) -> None:
    straight: list[tuple[int, str]] = []
    stops: list[tuple[int, dict[str, object]]] = []
    with Loader(
        sets[kind], batch_size=3, seed=SEED, threads=2, cache=cache, window=window, memory="700MiB", transform=CHAIN
    ) as loader:
        list(loader)
        for number, batch in enumerate(loader):
            straight += digests(batch)
            if number % 7 == 0:
                stops.append((len(straight), json.loads(json.dumps(loader.state_dict()))))

    assert len(stops) == 16
    for delivered, state in stops:
        found = rest_of(resumer, sets[kind], state, batch_size=3, threads=1, memory="600MiB", cache="none")
        assert found == straight[delivered:]
    delivered, state = stops[5]
    assert rest_of(resumer, sets[kind], state, batch_size=50, threads=3, cache="rolling") == straight[delivered:]


@pytest.mark.long
@pytest.mark.parametrize("stop", [1, 4, 9])
@pytest.mark.parametrize("kind", KINDS)
def test_eight_ranks_stop_and_six_deliver_the_rest_once(sets: dict[str, Path], kind: str, stop: int) -> None:
    seen: list[int] = []
    states = []
    for rank in range(8):
        with Loader(sets[kind], batch_size=4, seed=SEED, rank=rank, world_size=8, transform=CHAIN) as loader:
            batches = iter(loader)
            for _ in range(stop):
                seen += next(batches)["id"].tolist()
            states.append(loader.state_dict())
    assert all(state == states[0] for state in states)
    for rank in range(6):
        with Loader(sets[kind], batch_size=7, rank=rank, world_size=6, transform=CHAIN) as loader:
            loader.load_state_dict(states[0])
            seen += [sample for batch in loader for sample in batch["id"].tolist()]

    assert sorted(seen) == list(range(COUNT))
