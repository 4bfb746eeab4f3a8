"""Small models that train on a few cores in minutes, and the training loop of the lab. Needs torch."""

from penstock.lab.training.models import MODELS, make_model
from penstock.lab.training.trainer import Precision, Trainer, TrainingOptions, precision_of

__all__ = ["MODELS", "Precision", "Trainer", "TrainingOptions", "make_model", "precision_of"]
