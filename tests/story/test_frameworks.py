"""The adapter of JAX, and the examples of JAX and Lightning: long, because they bring 400 MB along.

JAX runs in processes of its own: once imported, it objects to every later fork.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.synth import Scenes, write

pytestmark = pytest.mark.long
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eighty small images in four classes."""
    folder = tmp_path_factory.mktemp("synth") / "photos"
    write(folder, images=80, scenes=Scenes(width=96, height=80, classes=4))
    return folder


def run(program: str, photos: Path, cache: Path) -> str:
    """What a program prints last, on two devices that are both the processor."""
    environment = {
        **os.environ,
        "XDG_CACHE_HOME": str(cache),
        "JAX_PLATFORMS": "cpu",
        "XLA_FLAGS": "--xla_force_host_platform_device_count=2",
    }
    command = [sys.executable, "-c", program, str(photos)]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1]


def test_jax_loop(photos: Path, tmp_path: Path) -> None:
    program = "import json, sys; from examples.jax_loop import main; print(json.dumps(main(sys.argv[1])))"
    losses = json.loads(run(program, photos, tmp_path))

    assert len(losses) == 20
    assert losses[-1] < 0.9 * losses[0]


def test_lightning_loop(photos: Path, tmp_path: Path) -> None:
    program = "import sys; from examples.lightning_loop import main; print(main(sys.argv[1]))"

    assert run(program, photos, tmp_path) == "6"


SAME_BATCHES = """
import sys, jax, numpy as np, penstock
from penstock.jax import Loader
from penstock.transforms import RandomResizedCrop

options = dict(batch_size=7, seed=3, transform=[RandomResizedCrop(16)])
second = jax.devices()[1]
with penstock.Loader(sys.argv[1], **options) as host, Loader(sys.argv[1], device=second, **options) as loader:
    assert (loader.rank, loader.world_size) == (jax.process_index(), jax.process_count()) == (0, 1)
    for _ in range(2):
        for batch, other in zip(loader, host, strict=True):
            assert isinstance(batch["image"], jax.Array) and batch["image"].devices() == {second}
            assert isinstance(batch["id"], np.ndarray)
            for name in other:
                np.testing.assert_array_equal(np.asarray(batch[name]), other[name])
print("same")
"""


def test_arrays_of_jax_hold_what_those_of_numpy_hold(photos: Path, tmp_path: Path) -> None:
    assert run(SAME_BATCHES, photos, tmp_path) == "same"


RESUMED = """
import sys, numpy as np
from penstock.jax import Loader
from penstock.transforms import Resize

options = dict(batch_size=8, seed=3, transform=[Resize((8, 8))], as_tuple=("image", "id"))
with Loader(sys.argv[1], **options) as loader:
    straight = [ids.tolist() for _, ids in loader]
with Loader(sys.argv[1], **options) as loader:
    batches = iter(loader)
    head = [next(batches)[1].tolist() for _ in range(3)]
    state = loader.state_dict()
with Loader(sys.argv[1], **options) as loader:
    loader.load_state_dict(state)
    tail = [ids.tolist() for _, ids in loader]
assert head + tail == straight and len(straight) == 10
print("resumed")
"""


def test_a_batch_that_was_only_copied_ahead_comes_again_after_a_resume(photos: Path, tmp_path: Path) -> None:
    assert run(RESUMED, photos, tmp_path) == "resumed"


SHARDED = """
import sys, jax, numpy as np
from penstock.jax import Loader
from penstock.transforms import Resize

mesh = jax.sharding.Mesh(np.array(jax.devices()), ("batch",))
sharding = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("batch"))
with Loader(sys.argv[1], batch_size=8, transform=[Resize((8, 8))], device=sharding, drop_last=True) as loader:
    for batch in loader:
        shards = batch["image"].addressable_shards
        assert [shard.data.shape for shard in shards] == [(4, 8, 8, 3)] * 2
        assert batch["label"].sharding == sharding
print("sharded")
"""


def test_a_sharding_spreads_a_batch_over_devices(photos: Path, tmp_path: Path) -> None:
    assert run(SHARDED, photos, tmp_path) == "sharded"
