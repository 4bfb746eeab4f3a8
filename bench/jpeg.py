"""How fast do JPEGs decode, whole and by region, next to the fastest decoders that Python has?"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence

import cv2
import imagecodecs
import numpy as np
import simplejpeg  # type: ignore[import-untyped]  # it ships no types

import penstock
from bench.corpus import files_of
from bench.timing import Contender, Session, arguments
from penstock.types import Pixels, Region

RIVALS = ("simplejpeg", "opencv", "imagecodecs")
MIN_OF_FASTEST = 0.95
"""Our speed over the fastest rival's."""
MAX_REGION_SHARE = 0.75
"""Time of the regions that RandomResizedCrop draws over the time of whole decodes."""

CV_FLAGS = cv2.IMREAD_COLOR | cv2.IMREAD_IGNORE_ORIENTATION

Decode = Callable[[bytes], object]


def main() -> None:
    """Compare whole decodes with the rivals, then regions with whole decodes; exit 1 if a goal is missed."""
    parser = arguments(__doc__ or "")
    options = parser.parse_args()
    files = [path.read_bytes() for path in files_of("imagenet", options.limit)]
    files = [data for data in files if penstock.inspect(data).channels == 3]
    missed = []
    if (found := whole(files, rounds=options.rounds, record=options.record)) < MIN_OF_FASTEST:
        missed.append(f"whole decodes at {found:.2f} of the fastest rival < {MIN_OF_FASTEST}")
    if (found := regions(files, rounds=options.rounds, record=options.record)) > MAX_REGION_SHARE:
        missed.append(f"regions take {found:.2f} of whole decodes > {MAX_REGION_SHARE}")
    if missed:
        sys.exit("below the goal: " + ", ".join(missed))


def decoders() -> dict[str, Decode]:
    """Everybody gets bytes in memory and gives a new RGB array (OpenCV: BGR), accurate IDCT, smooth chroma."""
    return {
        "penstock": penstock.decode,
        "simplejpeg": simplejpeg.decode_jpeg,
        "opencv": lambda data: cv2.imdecode(
            np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR | cv2.IMREAD_IGNORE_ORIENTATION
        ),
        "imagecodecs": imagecodecs.jpeg8_decode,
    }


def whole(files: Sequence[bytes], *, rounds: int, record: bool) -> float:
    """Our speed over the fastest rival's."""
    packages = ("simplejpeg", "opencv-python-headless", "imagecodecs")
    question = "How fast do whole JPEGs decode?"
    with Session("jpeg", question, "imagenet", len(files), rounds=rounds, record=record, packages=packages) as session:
        contenders = {name: over(files, decode) for name, decode in decoders().items()}
        timings = session.compare(contenders, verify=lambda: verify(files))
        fastest = min(RIVALS, key=lambda name: timings[name].best)
        ratios = session.report(timings, baseline=fastest, amount_bytes=sum(size_of(data) for data in files))
        return ratios["penstock"].of_best


def regions(files: Sequence[bytes], *, rounds: int, record: bool) -> float:
    """Time of random crops over the time of whole decodes."""
    rng = np.random.default_rng(0)
    crops = [random_resized_crop(rng, data) for data in files]

    def run() -> None:
        for data, crop in zip(files, crops, strict=True):
            penstock.decode(data, region=crop)

    question = "What do the regions of RandomResizedCrop cost?"
    with Session("jpeg", question, "imagenet", len(files), rounds=rounds, record=record) as session:
        contenders: dict[str, Contender] = {"regions": run, "whole": over(files, penstock.decode)}
        timings = session.compare(contenders, verify=lambda: verify_regions(files, crops))
        session.report(timings, baseline="whole")
        return timings["regions"].best / timings["whole"].best


def random_resized_crop(rng: np.random.Generator, data: bytes) -> Region:
    """The rectangle that torchvision's RandomResizedCrop draws with its defaults."""
    info = penstock.inspect(data)
    for _ in range(10):
        area = info.width * info.height * rng.uniform(0.08, 1)
        aspect = math.exp(rng.uniform(math.log(3 / 4), math.log(4 / 3)))
        width, height = round(math.sqrt(area * aspect)), round(math.sqrt(area / aspect))
        if 0 < width <= info.width and 0 < height <= info.height:
            y, x = rng.integers(info.height - height + 1), rng.integers(info.width - width + 1)
            return int(y), int(x), height, width
    return 0, 0, info.height, info.width


def over(files: Sequence[bytes], decode: Decode) -> Contender:
    """Decodes all files once."""

    def run() -> None:
        for data in files:
            decode(data)

    return run


def size_of(data: bytes) -> int:
    """Bytes of the decoded image."""
    info = penstock.inspect(data)
    return info.width * info.height * info.channels


def verify(files: Sequence[bytes]) -> None:
    """All contenders give the same pixels."""
    for data in files[:20]:
        expected = penstock.decode(data)
        for name, decode in decoders().items():
            found: Pixels = np.asarray(decode(data))
            np.testing.assert_array_equal(found[:, :, ::-1] if name == "opencv" else found, expected, err_msg=name)


def verify_regions(files: Sequence[bytes], crops: Sequence[Region]) -> None:
    """Regions are the crops of whole decodes."""
    for data, (y, x, h, w) in zip(files, crops, strict=True):
        found = penstock.decode(data, region=(y, x, h, w))
        np.testing.assert_array_equal(found, penstock.decode(data)[y : y + h, x : x + w])


if __name__ == "__main__":
    main()
