"""Procedural datasets, rendered and encoded on native threads."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from penstock import _native
from penstock.codecs import Format, find, parse_format
from penstock.codecs.contract import Capabilities
from penstock.errors import ArgumentError
from penstock.synth.scene_folder import new_folders
from penstock.synth.scenes import Scenes
from penstock.types import OnProgress, no_progress

POLL_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Written:
    """Result of writing a dataset."""

    folder: Path
    num_images: int
    num_classes: int
    num_bytes: int
    """Bytes of all files, including masks."""
    format: Format


def write(
    folder: str | os.PathLike[str],
    *,
    images: int,
    scenes: Scenes | None = None,
    format: str | Format = "png",
    masks: bool = False,
    threads: int = 0,
    force: bool = False,
    on_progress: OnProgress = no_progress,
) -> Written:
    """Write a folder of procedural images: FOLDER/class003/000013.png and so on.

    The bytes of a file depend only on the scenes, its number and the format. An error or an interrupt removes all files
    that were written.

    Args:
        folder: Folder to write to. It must be empty, unless `force` is set.
        images: Number of images; they are numbered from 0.
        scenes: Size, classes and seed of the images.
        format: Format of the images, such as "png" or "jpeg:q=90".
        masks: Also write masks, to FOLDER/masks; the images then go to FOLDER/images.
        threads: Number of threads; 0 means all usable cores.
        force: Replace an earlier dataset of this function, and nothing else.
        on_progress: Function that is called with the progress.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     done = write(folder, images=4, scenes=Scenes(width=32, height=32, classes=2))
    ...     sorted(str(path.relative_to(folder)) for path in Path(folder).rglob("*.png"))
    ['class000/000000.png', 'class000/000002.png', 'class001/000001.png', 'class001/000003.png']
    """
    scenes = scenes or Scenes()
    chosen = parse_format(format) if isinstance(format, str) else format
    _check(images, scenes, chosen)
    num_classes = min(scenes.classes, images)
    pool = _native.ThreadPool(threads)
    with new_folders(Path(folder), classes=num_classes, masks=masks, force=force) as (images_folder, masks_folder):
        writing = _native.synth_write(
            pool,
            scenes.native(),
            images,
            (os.fsencode(images_folder), os.fsencode(masks_folder) if masks_folder else b""),
            find(chosen.codec).extensions[0],
            chosen.codec,
            list(chosen.parameters),
        )
        _wait(writing.job, on_progress)
    return Written(Path(folder), images, num_classes, writing.num_bytes, chosen)


def _wait(job: _native.Job, on_progress: OnProgress) -> None:
    try:
        while not job.wait(POLL_SECONDS):
            on_progress("writing", job.num_done, job.num_tasks)
    except BaseException:
        job.cancel()
        while not job.wait(POLL_SECONDS):  # images in flight are still published; the folder is emptied after them
            pass
        raise
    job.finish()


def _check(images: int, scenes: Scenes, format: Format) -> None:
    if images < 1:
        raise ArgumentError(f"there is nothing to write: images is {images}", where="images", fix="ask for 1 or more")
    codec = find(format.codec)
    if format.codec not in _native.codec_names() or not codec.can_encode:
        raise ArgumentError(
            f"synth cannot write '{format.codec}'",
            where="format",
            fix="choose a codec of Penstock's own that writes, such as png, jpeg or raw",
            code=130,
        )
    holds = getattr(codec, "capabilities", Capabilities())
    dtype = f"uint{scenes.bits}"
    if dtype not in holds.dtypes or scenes.channels not in holds.channels:
        what = "16-bit grey" if scenes.bits == 16 else "8-bit RGB"
        raise ArgumentError(f"{format} cannot hold {what}", where="format", fix="choose png or raw", code=130)
