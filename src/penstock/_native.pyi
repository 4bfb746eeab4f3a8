from collections.abc import Callable, Sequence
import enum
from typing import Annotated, Any

import numpy
import numpy.typing
from numpy.typing import NDArray

import penstock.types


def simd_path() -> str: ...

def best_simd_path() -> str: ...

def simd_paths() -> list[str]: ...

def force_simd_path(name: str) -> None: ...

def crc32c(data: penstock.types.Buffer, previous: int = 0) -> int: ...

def random_block(seed: int, index: int, stream: int, number: int) -> list[int]: ...

def pool_idle_bytes() -> int: ...

def codec_names() -> list[str]: ...

def library_versions() -> list[tuple[str, str]]: ...

def webp_package() -> str: ...

def sniff(data: object) -> str | None: ...

def can_scale(codec: str, scale: int) -> bool: ...

def inspect(data: penstock.types.Buffer, codec: str = '', max_pixels: int = 268435456) -> dict[str, object] | None: ...

def decode(data: penstock.types.Buffer, codec: str = '', region: penstock.types.Region | None = None, scale: int = 1, out: penstock.types.Pixels | None = None, palette_indices: bool = False, orient: bool = False, fast: bool = False, verify: bool = True, max_pixels: int = 268435456) -> penstock.types.Pixels | None: ...

def decode_counted(data: penstock.types.Buffer, region: penstock.types.Region | None = None, scale: int = 1, plain: bool = False) -> tuple[penstock.types.Pixels, int, int]: ...

def encode(pixels: object, codec: str, parameters: Sequence[tuple[str, str]]) -> bytes: ...

def embed_metadata(data: penstock.types.Buffer, block: penstock.types.Buffer) -> tuple[bytes, list[str]]: ...

def read_metadata(data: penstock.types.Buffer) -> tuple[bytes, list[str], list[str]]: ...

def transcode_jpeg(data: object, parameters: Sequence[tuple[str, str]], max_pixels: int = 268435456) -> bytes: ...

def jpeg_restart_offsets(data: object) -> list[int]: ...

def jpeg_row_offsets(data: object) -> list[int]: ...

def jpeg_scan_ends(data: object) -> list[int]: ...

def jpeg_with_segments_in_front(data: penstock.types.Buffer) -> bytes: ...

def jpeg_take_apart(data: penstock.types.Buffer, max_pixels: int = 268435456) -> tuple[dict[str, object], bytes]: ...

def jpeg_read_coefficients(data: penstock.types.Buffer, max_pixels: int = 268435456) -> dict[str, object]: ...

def jpeg_put_together(image: dict[str, object], restoration: penstock.types.Buffer) -> bytes: ...

def sluice_from_jpeg(data: penstock.types.Buffer, tables: int | None = None, store_tables: bool = False, max_pixels: int = 268435456, layer_bits: int = 0) -> bytes: ...

def sluice_first_layer_bytes(data: penstock.types.Buffer) -> int: ...

class SluiceTables:
    def __init__(self, tables: penstock.types.Buffer) -> None: ...

    @property
    def id(self) -> int: ...

    @property
    def name(self) -> str: ...

    @property
    def data(self) -> bytes: ...

def num_sluice_tables() -> int:
    """Number of table sets that are known, the default one not counted."""

def sluice_recode(data: penstock.types.Buffer, tables: int | None = None, store_tables: bool = False, max_pixels: int = 268435456) -> bytes: ...

def sluice_facts(data: penstock.types.Buffer) -> dict[str, int | str | bool]: ...

def sluice_to_jpeg(data: penstock.types.Buffer, max_pixels: int = 268435456) -> bytes: ...

def train_sluice_tables(files: list[penstock.types.Buffer], first_pair: int = 22, layer_bits: int = 0) -> bytes: ...

def register_sluice_tables(tables: penstock.types.Buffer) -> int: ...

def default_sluice_tables(layer_bits: int = 0) -> bytes: ...

def force_sluice_gather(gather: int) -> None:
    """
    Makes decoders gather (1) or load one by one (0); -1: as suits this processor.
    """

def psnr(a: penstock.types.Pixels, b: penstock.types.Pixels, max_value: float = 0.0) -> float: ...

def ms_ssim(a: penstock.types.Pixels, b: penstock.types.Pixels, max_value: float = 0.0) -> float: ...

class ResizeOperation:
    def __init__(self, height: int | None, width: int | None, max_size: int | None, interpolation: str) -> None: ...

class CenterCropOperation:
    def __init__(self, size: tuple[int, int], fill: Sequence[float], mask_fill: Sequence[float]) -> None: ...

class RandomCropOperation:
    def __init__(self, size: tuple[int, int], padding: Sequence[int], pad_if_needed: bool, mode: str, fill: Sequence[float], mask_fill: Sequence[float]) -> None: ...

class RandomResizedCropOperation:
    def __init__(self, size: tuple[int, int], scale: tuple[float, float], ratio: tuple[float, float], interpolations: Sequence[str]) -> None: ...

class ScaleJitterOperation:
    def __init__(self, target_size: tuple[int, int], scale_range: tuple[float, float], interpolation: str) -> None: ...

class RandomHorizontalFlipOperation:
    def __init__(self, p: float) -> None: ...

class RandomVerticalFlipOperation:
    def __init__(self, p: float) -> None: ...

class PadOperation:
    def __init__(self, padding: Sequence[int], mode: str, fill: Sequence[float], mask_fill: Sequence[float]) -> None: ...

class PadIfSmallerOperation:
    def __init__(self, size: tuple[int, int], fill: Sequence[float], mask_fill: Sequence[float]) -> None: ...

class LetterboxOperation:
    def __init__(self, size: tuple[int, int], interpolation: str, enlarges: bool, fill: Sequence[float], mask_fill: Sequence[float]) -> None: ...

class RandomZoomOutOperation:
    def __init__(self, side_range: Sequence[float], p: float, fill: Sequence[float], mask_fill: Sequence[float]) -> None: ...

class RandomResizeOperation:
    def __init__(self, min_size: int, max_size: int, interpolation: str) -> None: ...

class RandomShortestSizeOperation:
    def __init__(self, sizes: Sequence[int], max_size: int | None, interpolation: str) -> None: ...

class RandomRotationOperation:
    def __init__(self, degrees: Sequence[float], interpolation: str, expand: bool, center: Sequence[float] | None, fill: Sequence[float], mask_fill: Sequence[float]) -> None: ...

class RandomAffineOperation:
    def __init__(self, degrees: Sequence[float], translate: Sequence[float] | None, scale: Sequence[float] | None, shear_x: Sequence[float] | None, shear_y: Sequence[float] | None, interpolation: str, center: Sequence[float] | None, fills: tuple[Sequence[float], Sequence[float]]) -> None: ...

class RandomPerspectiveOperation:
    def __init__(self, distortion_scale: float, p: float, interpolation: str, fill: Sequence[float], mask_fill: Sequence[float]) -> None: ...

class ColorJitterOperation:
    def __init__(self, brightness: Sequence[float] | None, contrast: Sequence[float] | None, saturation: Sequence[float] | None, hue: Sequence[float] | None) -> None: ...

class ChangeOperation:
    def __init__(self, kind: str, p: float, values: tuple[float, float] = (0.0, 0.0), threshold: float = 128.0, kernel: tuple[int, int] = (1, 1)) -> None: ...

class GroupOperation:
    def __init__(self, kind: str, p: Sequence[float], lengths: Sequence[int]) -> None: ...

class ToDtypeOperation:
    def __init__(self, dtype: str, scale: bool) -> None: ...

class NormalizeOperation:
    def __init__(self, mean: Sequence[float], std: Sequence[float]) -> None: ...

class RandomErasingOperation:
    def __init__(self, p: float, scale: Sequence[float], ratio: Sequence[float], mode: str, value: Sequence[float], counts: Sequence[int]) -> None: ...

class RemapOperation:
    def __init__(self, table: Sequence[int], otherwise: int | None) -> None: ...

class Draw:
    @property
    def source(self) -> tuple[int, int]: ...

    @property
    def output(self) -> tuple[int, int]: ...

    @property
    def steps(self) -> list[dict[str, Any]]: ...

class TransformProgram:
    def __init__(self, operations: Sequence[ResizeOperation | CenterCropOperation | RandomCropOperation | RandomResizedCropOperation | ScaleJitterOperation | RandomHorizontalFlipOperation | RandomVerticalFlipOperation | PadOperation | PadIfSmallerOperation | LetterboxOperation | RandomZoomOutOperation | RandomResizeOperation | RandomShortestSizeOperation | RandomRotationOperation | RandomAffineOperation | RandomPerspectiveOperation | ColorJitterOperation | ToDtypeOperation | NormalizeOperation | RandomErasingOperation | RemapOperation | ChangeOperation | GroupOperation]) -> None: ...

    def for_masks(self) -> TransformProgram: ...

    def draw(self, size: tuple[int, int], seed: int, epoch: int, id: int) -> Draw: ...

    def region(self, draw: Draw, scale: int = 1) -> tuple[int, int, int, int]: ...

    def max_scale(self, draw: Draw) -> int: ...

    @property
    def fixed_size(self) -> tuple[int, int] | None: ...

    @property
    def output_type(self) -> str | None: ...

    def apply(self, pixels: penstock.types.Pixels, draw: Draw, out: numpy.typing.NDArray[Any], layout: str = "NHWC", scale: int = 1) -> None: ...

    def apply_boxes(self, draw: Draw, boxes: numpy.typing.NDArray[numpy.float32]) -> None: ...

    def apply_points(self, draw: Draw, points: numpy.typing.NDArray[numpy.float32]) -> None: ...

    @property
    def narrows(self) -> bool:
        """Whether 16-bit sources become 8-bit before anything else."""

    @property
    def is_scaled(self) -> bool: ...

    def values(self, sample_bytes: int) -> numpy.typing.NDArray[numpy.float32]:
        """
        The float of every value of a source, for four channels one behind the other.
        """

    def passes(self, sizes: numpy.typing.NDArray[numpy.uint32], ids: numpy.typing.NDArray[numpy.uint64], seed: int, epoch: int, sample_bytes: int) -> list[tuple[numpy.typing.NDArray[numpy.int64], numpy.typing.NDArray[numpy.int32], numpy.typing.NDArray[Any]]]:
        """
        The draws of images of these sizes as tables, pass by pass: rows, first taps, weights.
        """

    def move_boxes(self, boxes: numpy.typing.NDArray[numpy.float32], starts: numpy.typing.NDArray[numpy.uint64], sizes: numpy.typing.NDArray[numpy.uint32], ids: numpy.typing.NDArray[numpy.uint64], seed: int, epoch: int) -> None:
        """
        Moves the boxes of many samples, one behind the other; `starts` has where each begins, and the end.
        """

    def move_points(self, points: numpy.typing.NDArray[numpy.float32], starts: numpy.typing.NDArray[numpy.uint64], sizes: numpy.typing.NDArray[numpy.uint32], ids: numpy.typing.NDArray[numpy.uint64], seed: int, epoch: int) -> None:
        """Moves the points of many samples, as `move_boxes` does boxes."""

class ReadLimit:
    def __init__(self, bytes_per_second: float, reads_per_second: float) -> None: ...

    @property
    def bytes_per_second(self) -> float: ...

    @property
    def reads_per_second(self) -> float: ...

    def wait(self, bytes: int) -> None:
        """Sleeps for as long as a read of so many bytes takes."""

class AppendFile:
    def __init__(self, path: bytes) -> None: ...

    def append(self, data: penstock.types.Buffer) -> None: ...

    def publish(self, path: bytes) -> None: ...

def read_file(path: bytes, max_bytes: int) -> bytes: ...

def read_range(path: bytes, offset: int, length: int) -> bytes: ...

def file_checksum(path: bytes) -> tuple[int, int]: ...

def write_file(path: bytes, data: penstock.types.Buffer, durable: bool = False, work_folder: bytes = b'') -> None: ...

def make_folders(path: bytes) -> None: ...

def sync_file_system(descriptor: int) -> None: ...

def probe_reads(path: bytes, offsets: Sequence[int], request_bytes: int, depth: int, direct: bool, limit: ReadLimit | None = None) -> dict[str, float]: ...

def usable_cores() -> int: ...

class Job:
    def wait(self, seconds: float) -> bool: ...

    def finish(self) -> None: ...

    def cancel(self) -> None: ...

    @property
    def num_done(self) -> int: ...

    @property
    def num_tasks(self) -> int: ...

class ThreadPool:
    def __init__(self, num_threads: int = 0) -> None: ...

    @property
    def num_threads(self) -> int: ...

    def call_each(self, function: Callable[[int], object], count: int) -> None:
        """
        Calls function(0) … function(count - 1) on the threads of the pool; the first error stops the rest.
        """

def decode_many(pool: ThreadPool, codec: str, images: Sequence[penstock.types.Buffer], passes: int = 1) -> tuple[float, float]:
    """
    Decodes every image `passes` times on the pool, throws the pixels away, and gives (wall, CPU) seconds.
    """

def encode_many(pool: ThreadPool, codec: str, parameters: Sequence[tuple[str, str]], images: Sequence[penstock.types.Pixels], passes: int = 1) -> tuple[float, float]:
    """
    Encodes every image `passes` times on the pool, throws the files away, and gives (wall, CPU) seconds.
    """

class SourceFiles:
    def __init__(self, paths: Sequence[bytes], read: Callable[[str, int, int], penstock.types.Buffer] | None = None, sizes: numpy.typing.NDArray[numpy.int64] | None = None) -> None:
        """
        Files of a local disk; or objects that `read(name, offset, length)` gives, with their sizes.
        """

    def read(self, file: int, offset: int, length: int) -> bytes: ...

class Target:
    def __init__(self, codec: str, parameters: Sequence[tuple[str, str]], exact: bool, keep_variant: str, keep_quality: int, transcode: bool, palette_indices: bool, check: bool, limit: tuple[int, int], nearest: bool) -> None: ...

    def use_tables(self, id: int) -> None:
        """Chooses the table set of `sluice`, which must be known."""

class TableTraining:
    @property
    def job(self) -> Job: ...

    @property
    def num_images(self) -> int: ...

    def tables(self) -> bytes: ...

def train_on_sources(pool: ThreadPool, files: SourceFiles, places: tuple[Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]], max_pixels: int) -> TableTraining: ...

class Building:
    @property
    def job(self) -> Job: ...

    @property
    def source_bytes(self) -> int: ...

    @property
    def stored_bytes(self) -> int: ...

    @property
    def num_shards(self) -> int: ...

def build_shards(pool: ThreadPool, files: SourceFiles, ids: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], fields: Sequence[tuple[tuple[Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]], Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], Target]], names: tuple[bytes, bytes, str], shards: tuple[int, int, bytes], skip_errors: bool, keep_source: bool, durable: bool, max_pixels: int) -> Building: ...

class Inspecting:
    @property
    def job(self) -> Job: ...

    def headers(self) -> list[tuple[int, int, int, int, str]]: ...

class Checking:
    @property
    def job(self) -> Job: ...

    @property
    def findings(self) -> dict[int, str]: ...

def store_image(data: penstock.types.Buffer, target: Target, max_pixels: int = 268435456) -> tuple[bytes, int]: ...

def inspect_sources(pool: ThreadPool, files: SourceFiles, places: tuple[Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]]) -> Inspecting: ...

def check_images(pool: ThreadPool, files: SourceFiles, columns: tuple[tuple[Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]], tuple[Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)]], tuple[Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)]], Sequence[bytes]], pieces: tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]], palette_indices: bool, decode: bool, max_pixels: int) -> Checking: ...

def pixel_hash(pixels: penstock.types.Pixels) -> bytes: ...

def working_bytes(codec: str, height: int, width: int, channels: int, bits: int) -> int:
    """
    What a thread takes to decode such an image, beside its bytes and its pixels.
    """

class Caching(enum.Enum):
    SYSTEM = 0

    NONE = 1

class Channels(enum.Enum):
    RGB = 0

    L = 1

    UNCHANGED = 2

class Layout(enum.Enum):
    NHWC = 0

    NCHW = 1

class Verify(enum.Enum):
    FIRST = 0

    ALWAYS = 1

    NEVER = 2

class Undecoded(enum.Enum):
    """Which images batches hold as they are stored."""

    NONE = 0

    FOR_DEVICE = 1
    """Weir and L3, for an accelerator that decodes and transforms them."""

    ALL = 2
    """Every one, masks too: what reading alone costs."""

class PipelineOptions:
    def __init__(self) -> None: ...

    @property
    def num_threads(self) -> int: ...

    @num_threads.setter
    def num_threads(self, arg: int, /) -> None: ...

    @property
    def caching(self) -> Caching: ...

    @caching.setter
    def caching(self, arg: Caching, /) -> None: ...

    @property
    def num_readers(self) -> int: ...

    @num_readers.setter
    def num_readers(self, arg: int, /) -> None: ...

    @property
    def read_limit(self) -> ReadLimit: ...

    @read_limit.setter
    def read_limit(self, limit: ReadLimit | None) -> None: ...

    @property
    def allow_uring(self) -> bool: ...

    @allow_uring.setter
    def allow_uring(self, arg: bool, /) -> None: ...

    @property
    def channels(self) -> Channels: ...

    @channels.setter
    def channels(self, arg: Channels, /) -> None: ...

    @property
    def layout(self) -> Layout: ...

    @layout.setter
    def layout(self, arg: Layout, /) -> None: ...

    @property
    def verify(self) -> Verify: ...

    @verify.setter
    def verify(self, arg: Verify, /) -> None: ...

    @property
    def approximate(self) -> bool: ...

    @approximate.setter
    def approximate(self, arg: bool, /) -> None: ...

    @property
    def undecoded(self) -> Undecoded: ...

    @undecoded.setter
    def undecoded(self, arg: Undecoded, /) -> None: ...

    @property
    def max_pixels(self) -> int: ...

    @max_pixels.setter
    def max_pixels(self, arg: int, /) -> None: ...

    @property
    def read_bytes(self) -> int: ...

    @read_bytes.setter
    def read_bytes(self, arg: int, /) -> None: ...

    @property
    def scratch_bytes(self) -> int: ...

    @scratch_bytes.setter
    def scratch_bytes(self, arg: int, /) -> None: ...

    @property
    def cache_bytes(self) -> int: ...

    @cache_bytes.setter
    def cache_bytes(self, arg: int, /) -> None: ...

    @property
    def idle_bytes(self) -> int: ...

    @idle_bytes.setter
    def idle_bytes(self, arg: int, /) -> None: ...

class Tally:
    """Counters of batches that were submitted with it."""

    @property
    def bytes_read(self) -> int: ...

class Batch:
    def pixels(self, field: int) -> numpy.typing.NDArray[Any] | list[numpy.typing.NDArray[Any]]:
        """
        One array if all samples have one shape, else an array a sample. Of a batch that was waited for.
        """

    def failures(self) -> list[tuple[int, int, int, str, str, str, int]]:
        """
        (position, id, code, what, where, fix, errno) of every sample that failed since it was last asked.
        """

    def drop(self, positions: Sequence[int]) -> None:
        """Takes samples out; those behind move up."""

    @property
    def num_hits(self) -> int: ...

    @property
    def num_read(self) -> int: ...

    @property
    def is_done(self) -> bool: ...

    def cancel(self) -> None:
        """Nobody wants it any more."""

class SampleTable:
    def __init__(self, folder: bytes, names: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], name_ends: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], num_samples: int, codecs: Sequence[str]) -> None: ...

    def add_field(self, is_mask: bool = False, file: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, offset: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, length: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, checksum: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, codec: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None) -> None: ...

    def set_pieces(self, begin: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], offset: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], length: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], checksum: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def set_blocks(self, of_sample: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], edge_begin: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], edges: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], scans: Sequence[Sequence[int]]) -> None: ...

    def read_from(self, read: Callable[[str, int, int], penstock.types.Buffer], sizes: numpy.typing.NDArray[numpy.uint64]) -> None:
        """
        Reads bytes through `read(name, offset, length)`, which the threads of a pipeline call, instead of from files. `sizes` are those of the files.
        """

    def read_fields_apart(self) -> None:
        """
        Says that the images of a sample lie in several files, which are read one by one.
        """

    def set_kept(self, form: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], room: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None:
        """
        What each sample stays in memory as (0 encoded, 1 pixels, 2 weir:fast), and the bytes it may take there. For pipelines that are made later.
        """

class Pipeline:
    def __init__(self, table: SampleTable, program: TransformProgram, options: PipelineOptions) -> None: ...

    def submit(self, ids: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], seed: int, epoch: int, keeping: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, ahead: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, fidelity: int = 0, tally: Tally | None = None) -> Batch:
        """
        Starts work on a batch and returns at once. `keeping` says of each sample what becomes of its bytes in memory: 0 nothing, 1 they stay, 2 they go. `ahead` are samples to read into memory now, for this batch or later ones. `fidelity` is a number of scans of what stands in blocks, 0 for all. The batch counts in `tally`.
        """

    @property
    def num_failed(self) -> int: ...

    def retain_cache(self, arg: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], /) -> None: ...

    def kept_bytes(self, ids: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> list[int]:
        """
        What memory holds of each of these samples; 0 of those that are not there.
        """

    def clear_cache(self) -> None: ...

    def resubmit(self, batch: Batch, positions: Sequence[int], ids: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None:
        """Starts work on other samples in some places of a batch that is done."""

    def wait(self, batch: Batch) -> None:
        """Waits until a batch is done; Ctrl-C ends it."""

    def stats(self, without: Tally | None = None) -> dict[str, Any]:
        """Counters of all batches, except those that count in `without`."""

    def open_tally(self) -> Tally:
        """Returns a new tally for batches to count in; `stats` includes it."""

    def stall(self, file: int | None, seconds: float, times: int = 1) -> None:
        """For tests: reads that take longer."""

    def fail(self, file: int | None, error: int, times: int = 1) -> None:
        """For tests: reads that fail."""

    def close(self) -> None:
        """Stops the threads and waits for what each of them is at."""

class ExportPlan:
    def __init__(self, files: SourceFiles, names: Sequence[bytes], texts: Sequence[bytes], columns: tuple[Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)]], pieces: tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]], codec: str, parameters: Sequence[tuple[str, str]], max_pixels: int) -> None: ...

class Exporting:
    @property
    def job(self) -> Job: ...

    @property
    def num_bytes(self) -> int: ...

    @property
    def dropped(self) -> dict[str, int]: ...

def export_files(pool: ThreadPool, plan: ExportPlan, folder: bytes) -> Exporting: ...

def export_tar(pool: ThreadPool, plan: ExportPlan, path: bytes) -> Exporting: ...

class SynthSpec:
    def __init__(self, width: int, height: int, num_classes: int, seed: int, variant: str, deep: bool) -> None: ...

class SynthWriting:
    @property
    def job(self) -> Job: ...

    @property
    def num_bytes(self) -> int: ...

def synth_render(spec: SynthSpec, index: int) -> penstock.types.Pixels: ...

def synth_render_mask(spec: SynthSpec, index: int) -> penstock.types.Pixels: ...

def synth_write(pool: ThreadPool, spec: SynthSpec, num_images: int, folders: tuple[bytes, bytes], extension: str, codec: str, parameters: Sequence[tuple[str, str]]) -> SynthWriting: ...
