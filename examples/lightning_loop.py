"""Lightning: the loader goes where a DataLoader would. Needs `pip install pytorch-lightning`.

python -m examples.lightning_loop FOLDER|DATASET
"""

from __future__ import annotations

import sys

import pytorch_lightning as lightning
import torch

from examples.torch_loop import new_loader, new_network


class Classifier(lightning.LightningModule):
    """A network, its loss and its optimizer."""

    def __init__(self) -> None:
        super().__init__()
        self.network = new_network(num_classes=1000)

    def training_step(self, batch: tuple[torch.Tensor, torch.Tensor], index: int) -> torch.Tensor:
        """Return the loss of a batch."""
        images, labels = batch
        return torch.nn.functional.cross_entropy(self.network(images), labels)

    def configure_optimizers(self) -> torch.optim.Optimizer:
        """Return the optimizer: plain gradient descent."""
        return torch.optim.SGD(self.parameters(), lr=0.01)


def main(path: str, num_epochs: int = 2) -> int:
    """Train; gives the number of steps. Lightning calls `loader.sampler.set_epoch` and saves `state_dict` by itself."""
    trainer = lightning.Trainer(
        max_epochs=num_epochs, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False
    )
    with new_loader(path) as loader:
        trainer.fit(Classifier(), loader)
    return int(trainer.global_step)


if __name__ == "__main__":
    main(sys.argv[1])
