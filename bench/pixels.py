"""How fast do colours of a 224x224 sample change, next to Pillow, torchvision (tensors), OpenCV and albumentations?"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
import torch
from PIL import Image, ImageEnhance, ImageFilter, ImageOps

import penstock
from bench.corpus import files_of
from bench.timing import Contender, Session, arguments
from penstock.transforms import (
    ColorJitter,
    PillowGaussianBlur,
    RandomAdjustSharpness,
    RandomApply,
    RandomAutocontrast,
    RandomEqualize,
    RandomGrayscale,
    RandomPosterize,
    RandomResizedCrop,
    RandomSolarize,
    Transform,
    apply,
    split,
)
from penstock.types import Pixels
from tests.real_vision import Prepared

SIDE = 224
DINO: tuple[Transform, ...] = (
    RandomApply([ColorJitter(0.4, 0.4, 0.2, 0.1)], p=0.8),
    RandomGrayscale(0.2),
    RandomApply([PillowGaussianBlur()], p=0.5),
    RandomSolarize(128, 0.2),
)


@dataclass(frozen=True)
class Sample:
    """One crop as an array, as Pillow's image and as a tensor."""

    pixels: Pixels
    image: Image.Image
    tensor: torch.Tensor


Work = Callable[[Sample], object]


def main() -> None:
    """Compare one operation after the other."""
    parser = arguments(__doc__ or "")
    parser.set_defaults(limit=40)
    options = parser.parse_args()
    torch.set_num_threads(1)
    cv2.setNumThreads(1)
    samples = load(options.limit)
    for name, (ours, rivals) in operations().items():
        compare(name, samples, ours, rivals, rounds=options.rounds, record=options.record)


def load(limit: int) -> list[Sample]:
    """Crop every colour image as in training."""
    samples = []
    for index, path in enumerate(files_of("imagenet", limit)):
        whole = penstock.decode(path.read_bytes())
        if whole.ndim != 3:
            continue
        pixels = apply(whole, RandomResizedCrop(SIDE), id=index)
        tensor = torch.from_numpy(pixels).permute(2, 0, 1).contiguous()
        samples.append(Sample(pixels, Image.fromarray(pixels), tensor))
    return samples


def operations() -> Mapping[str, tuple[Sequence[Transform], Mapping[str, Work]]]:
    """Return our transforms and the rivals that have the same operation, by name."""
    Prepared()  # torchvision and albumentations can be imported from here on
    import albumentations
    from torchvision.transforms import v2

    def on_image(theirs: Callable[[Any], object]) -> Work:
        return lambda sample: theirs(sample.image)

    def on_tensor(theirs: Callable[[Any], object]) -> Work:
        return lambda sample: theirs(sample.tensor)

    def on_array(theirs: Callable[..., object]) -> Work:
        return lambda sample: theirs(image=sample.pixels)

    jitter = v2.ColorJitter(0.4, 0.4, 0.4, 0.1)
    blur = v2.GaussianBlur(9, 1.0)
    dino = v2.Compose(
        [
            v2.RandomApply([v2.ColorJitter(0.4, 0.4, 0.2, 0.1)], p=0.8),
            v2.RandomGrayscale(0.2),
            v2.RandomApply([v2.Lambda(pillow_blur)], p=0.5),
            v2.RandomSolarize(128, 0.2),
        ]
    )
    return {
        "ColorJitter(.4, .4, .4, .1)": (
            [ColorJitter(0.4, 0.4, 0.4, 0.1)],
            {
                "pillow": on_image(jitter),
                "torchvision": on_tensor(jitter),
                "albumentations": on_array(
                    albumentations.ColorJitter((0.6, 1.4), (0.6, 1.4), (0.6, 1.4), (-0.1, 0.1), p=1)
                ),
            },
        ),
        "blur, sigma 1": (
            [PillowGaussianBlur(1.0)],
            {
                "pillow": on_image(lambda image: image.filter(ImageFilter.GaussianBlur(1.0))),
                "torchvision, kernel 9": on_tensor(blur),
                "opencv, kernel 9": lambda sample: cv2.GaussianBlur(sample.pixels, (9, 9), 1.0),
            },
        ),
        "sharpness 1.5": (
            [RandomAdjustSharpness(1.5, 1)],
            {
                "pillow": on_image(lambda image: ImageEnhance.Sharpness(image).enhance(1.5)),
                "torchvision": on_tensor(v2.RandomAdjustSharpness(1.5, 1)),
            },
        ),
        "equalize": (
            [RandomEqualize(1)],
            {
                "pillow": on_image(ImageOps.equalize),
                "torchvision": on_tensor(v2.RandomEqualize(1)),
                "albumentations": on_array(albumentations.Equalize(p=1)),
            },
        ),
        "autocontrast": (
            [RandomAutocontrast(1)],
            {"pillow": on_image(ImageOps.autocontrast), "torchvision": on_tensor(v2.RandomAutocontrast(1))},
        ),
        "posterize, then solarize": (
            [RandomPosterize(4, 1), RandomSolarize(128, 1)],
            {
                "pillow": on_image(lambda image: ImageOps.solarize(ImageOps.posterize(image, 4), 128)),
                "torchvision": on_tensor(v2.Compose([v2.RandomPosterize(4, 1), v2.RandomSolarize(128, 1)])),
            },
        ),
        "grey": (
            [RandomGrayscale(1)],
            {"pillow": on_image(v2.RandomGrayscale(1)), "torchvision": on_tensor(v2.RandomGrayscale(1))},
        ),
        "a view of DINO: jitter, grey, blur, solarize": (DINO, {"pillow": on_image(dino)}),
    }


def pillow_blur(image: Image.Image) -> Image.Image:
    """Apply the filter of DINO."""
    return image.filter(ImageFilter.GaussianBlur(random.uniform(0.1, 2.0)))


def compare(
    name: str,
    samples: Sequence[Sample],
    transforms: Sequence[Transform],
    rivals: Mapping[str, Work],
    *,
    rounds: int,
    record: bool,
) -> None:
    """Time one operation; all contenders work on all samples."""
    program = split(transforms).program()
    out = np.empty((SIDE, SIDE, 3), np.uint8)
    draws = [program.draw((SIDE, SIDE), 0, 0, index) for index in range(len(samples))]

    def ours() -> None:
        for sample, draw in zip(samples, draws, strict=True):
            program.apply(sample.pixels, draw, out)

    def all_of(work: Work) -> Contender:
        def run() -> None:
            for sample in samples:
                work(sample)

        return run

    def verify() -> None:
        assert all(work(samples[0]) is not None for work in rivals.values())

    contenders = {"penstock": ours} | {rival: all_of(work) for rival, work in rivals.items()}
    question = f"What does {name} cost?"
    packages = ("pillow", "opencv-python-headless")
    with Session(
        "pixels", question, "imagenet", len(samples), rounds=rounds, record=record, packages=packages
    ) as session:
        timings = session.compare(contenders, verify=verify)
        print(
            "  us a sample: "
            + ", ".join(f"{key} {timing.best / len(samples) * 1e6:.0f}" for key, timing in timings.items())
        )
        session.report(timings, baseline="pillow", amount_bytes=sum(sample.pixels.nbytes for sample in samples))


if __name__ == "__main__":
    main()
