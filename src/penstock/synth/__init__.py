"""Procedural labelled images with the statistics of photographs, for demos and tests."""

from penstock.synth.scene_images import KINDS, label_of, render, render_mask
from penstock.synth.scenes import VARIANTS, Scenes
from penstock.synth.write import Written, write

__all__ = ["KINDS", "VARIANTS", "Scenes", "Written", "label_of", "render", "render_mask", "write"]
