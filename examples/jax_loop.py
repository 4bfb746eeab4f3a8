"""A training loop in JAX: the copy of the next batch runs beside the step. Needs `pip install 'penstock[jax]'`.

python -m examples.jax_loop FOLDER|DATASET
"""

from __future__ import annotations

import sys

import jax
import jax.numpy as jnp

from penstock.jax import Loader
from penstock.transforms import RandomHorizontalFlip, RandomResizedCrop

SIZE = 32
Weights = tuple[jax.Array, jax.Array]


def loss_of(weights: Weights, images: jax.Array, labels: jax.Array) -> jax.Array:
    """Cross entropy of a linear classifier; pixels become floats on the device, so that bytes are sent."""
    slopes, bias = weights
    pixels = images.reshape(len(images), -1).astype(jnp.float32) / 255
    scores = jax.nn.log_softmax(pixels @ slopes + bias)
    return -jnp.take_along_axis(scores, labels[:, None], axis=1).mean()


@jax.jit
def step(weights: Weights, images: jax.Array, labels: jax.Array) -> tuple[Weights, jax.Array]:
    """Take one step of gradient descent, and return the loss before it."""
    loss, slopes = jax.value_and_grad(loss_of)(weights, images, labels)
    return jax.tree.map(lambda weight, slope: weight - 0.01 * slope, weights, slopes), loss


def main(path: str, num_epochs: int = 4) -> list[float]:
    """Train; gives the losses. `drop_last` keeps one shape, so that `step` is compiled once."""
    losses: list[float] = []
    chain = [RandomResizedCrop(SIZE, scale=(0.5, 1.0)), RandomHorizontalFlip()]
    with Loader(path, batch_size=16, transform=chain, drop_last=True, as_tuple=("image", "label")) as loader:
        num_classes = 1000
        weights = jnp.zeros((SIZE * SIZE * 3, num_classes)), jnp.zeros(num_classes)
        for _ in range(num_epochs):
            for images, labels in loader:
                weights, loss = step(weights, images, labels)
                losses.append(float(loss))
    print(f"{len(losses)} steps, loss {losses[0]:.2f} to {losses[-1]:.2f} on {jax.devices()[0]}")
    return losses


if __name__ == "__main__":
    main(sys.argv[1])
