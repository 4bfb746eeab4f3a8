"""How fast do JPEGs decode, whole and by region, next to the fastest decoders that Python has?"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import cv2
import imagecodecs
import numpy as np
import simplejpeg  # type: ignore[import-untyped]  # it ships no types

import penstock
from bench.corpus import files_of
from bench.timing import Contender, Session, arguments
from penstock import _native
from penstock.codecs.transcode import transcode
from penstock.types import Pixels, Region

RIVALS = ("simplejpeg", "opencv", "imagecodecs")
MIN_OF_FASTEST = {"avx512": 1.55, "avx2": 1.5}
"""Our speed over the fastest rival's, by SIMD path; other paths have libjpeg-turbo make the pixels."""
MIN_OF_FASTEST_ELSEWHERE = 0.95
MIN_OF_CROPS = 1.5
"""Our speed over libjpeg-turbo's for the regions that RandomResizedCrop draws."""
MIN_OF_CROPS_WITH_OFFSETS = 1.8
"""The same from files that keep the offsets of their rows."""
MAX_REGION_SHARE = 0.8
"""Time of the regions that RandomResizedCrop draws over the time of whole decodes."""

CV_FLAGS = cv2.IMREAD_COLOR | cv2.IMREAD_IGNORE_ORIENTATION

Decode = Callable[[bytes], object]


def main() -> None:
    """Compare whole decodes with rivals, regions with libjpeg-turbo's and with whole decodes; exit 1 below a goal."""
    parser = arguments(__doc__ or "")
    parser.add_argument("--corpus", default="imagenet", choices=["imagenet", "photos"], help="Corpus of images.")
    parser.add_argument(
        "--path", default=_native.best_simd_path(), choices=_native.simd_paths(), help="SIMD path to force."
    )
    options = parser.parse_args()
    _native.force_simd_path(options.path)
    run = Run(options.corpus, sequential_files(options.corpus, options.limit), options.rounds, options.record)
    goal = MIN_OF_FASTEST.get(options.path, MIN_OF_FASTEST_ELSEWHERE)
    missed = []
    if (found := whole(run)) < goal:
        missed.append(f"whole decodes at {found:.2f} of the fastest rival < {goal}")
    plain, with_offsets = crops(run)
    if options.path in MIN_OF_FASTEST and plain < MIN_OF_CROPS:
        missed.append(f"regions at {plain:.2f} of libjpeg-turbo's < {MIN_OF_CROPS}")
    if options.path in MIN_OF_FASTEST and with_offsets < MIN_OF_CROPS_WITH_OFFSETS:
        missed.append(f"regions with offsets at {with_offsets:.2f} of libjpeg-turbo's < {MIN_OF_CROPS_WITH_OFFSETS}")
    if (found := regions(run)) > MAX_REGION_SHARE:
        missed.append(f"regions take {found:.2f} of whole decodes > {MAX_REGION_SHARE}")
    if missed:
        sys.exit("below the goal: " + ", ".join(missed))


@dataclass(frozen=True, slots=True)
class Run:
    """The images of a comparison and how it is repeated."""

    corpus: str
    files: Sequence[bytes]
    rounds: int
    record: bool

    def session(self, question: str, packages: Sequence[str] = ()) -> Session:
        """Open a session of this benchmark."""
        return Session(
            "jpeg",
            question,
            self.corpus,
            len(self.files),
            rounds=self.rounds,
            record=self.record,
            packages=packages,
        )


def sequential_files(corpus: str, limit: int) -> list[bytes]:
    """Select baseline colour JPEGs, the kind in most datasets."""
    found = []
    for path in files_of(corpus, limit):
        data = path.read_bytes()
        info = penstock.inspect(data)
        if info.codec == "jpeg" and info.variant == "baseline" and info.channels == 3 and info.color == "rgb":
            found.append(data)
    return found


def decoders() -> dict[str, Decode]:
    """Return the decoders: bytes to a new RGB array (OpenCV: BGR), accurate IDCT, smooth chroma."""
    return {
        "penstock": penstock.decode,
        "simplejpeg": simplejpeg.decode_jpeg,
        "opencv": lambda data: cv2.imdecode(
            np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR | cv2.IMREAD_IGNORE_ORIENTATION
        ),
        "imagecodecs": imagecodecs.jpeg8_decode,
    }


def whole(run: Run) -> float:
    """Return our speed relative to the fastest rival's."""
    packages = ("simplejpeg", "opencv-python-headless", "imagecodecs")
    with run.session("How fast do whole JPEGs decode?", packages) as session:
        contenders = {name: over(run.files, decode) for name, decode in decoders().items()}
        timings = session.compare(contenders, verify=lambda: verify(run.files))
        fastest = min(RIVALS, key=lambda name: timings[name].best)
        ratios = session.report(timings, baseline=fastest, amount_bytes=sum(size_of(data) for data in run.files))
        return ratios["penstock"].of_best


def crops(run: Run) -> tuple[float, float]:
    """Return our speed relative to libjpeg-turbo's crop and skip, for the files and for `jpeg:restart` copies."""
    boxes = random_crops(run.files)
    copies = [transcode(data, "jpeg:restart") for data in run.files]

    def libjpeg() -> None:
        for data, box in zip(run.files, boxes, strict=True):
            _native.decode_counted(data, box, plain=True)

    def check() -> None:
        verify_regions(run.files, boxes)
        verify_regions(copies, boxes)
        for data, box in zip(run.files, boxes, strict=True):
            expected = _native.decode_counted(data, box, plain=True)[0]
            np.testing.assert_array_equal(penstock.decode(data, region=box), expected)

    with run.session("How fast do regions of JPEGs decode next to libjpeg-turbo's crop and skip?") as session:
        contenders: dict[str, Contender] = {
            "penstock": over_regions(run.files, boxes),
            "penstock, jpeg:restart": over_regions(copies, boxes),
            "libjpeg-turbo": libjpeg,
        }
        ratios = session.report(session.compare(contenders, verify=check), baseline="libjpeg-turbo")
        return ratios["penstock"].of_best, ratios["penstock, jpeg:restart"].of_best


def regions(run: Run) -> float:
    """Time of random crops over the time of whole decodes."""
    boxes = random_crops(run.files)
    with run.session("What do the regions of RandomResizedCrop cost?") as session:
        contenders: dict[str, Contender] = {
            "regions": over_regions(run.files, boxes),
            "whole": over(run.files, penstock.decode),
        }
        timings = session.compare(contenders, verify=lambda: verify_regions(run.files, boxes))
        session.report(timings, baseline="whole")
        return timings["regions"].best / timings["whole"].best


def random_crops(files: Sequence[bytes]) -> list[Region]:
    """Draw a crop for each file, the same in every run."""
    rng = np.random.default_rng(0)
    return [random_resized_crop(rng, data) for data in files]


def over_regions(files: Sequence[bytes], boxes: Sequence[Region]) -> Contender:
    """Make a contender that decodes a region of every file once."""

    def run() -> None:
        for data, box in zip(files, boxes, strict=True):
            penstock.decode(data, region=box)

    return run


def random_resized_crop(rng: np.random.Generator, data: bytes) -> Region:
    """Draw the rectangle of torchvision's RandomResizedCrop with its defaults."""
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
    """Make a contender that decodes all files once."""

    def run() -> None:
        for data in files:
            decode(data)

    return run


def size_of(data: bytes) -> int:
    """Return the bytes of the decoded image."""
    info = penstock.inspect(data)
    return info.width * info.height * info.channels


def verify(files: Sequence[bytes]) -> None:
    """Check that all contenders give the same pixels."""
    for data in files[:20]:
        expected = penstock.decode(data)
        for name, decode in decoders().items():
            found: Pixels = np.asarray(decode(data))
            np.testing.assert_array_equal(found[:, :, ::-1] if name == "opencv" else found, expected, err_msg=name)


def verify_regions(files: Sequence[bytes], crops: Sequence[Region]) -> None:
    """Check that regions equal crops of whole decodes."""
    for data, (y, x, h, w) in zip(files, crops, strict=True):
        found = penstock.decode(data, region=(y, x, h, w))
        np.testing.assert_array_equal(found, penstock.decode(data)[y : y + h, x : x + w])


if __name__ == "__main__":
    main()
