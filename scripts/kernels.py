"""Compiles the kernels ahead of time, without an accelerator, and notes what they will need on one.

python -m scripts.kernels [--record] [--only TEXT] [--jobs N]

Prints a line for each variant and architecture: registers and bytes of spilled registers for each thread, shared
memory for each program, instructions in all and in each loop. --record writes them to bench/results/kernels.json, from
which docs/weir-on-accelerators.md is computed; with --only, the rest of it stays. Needs triton, which brings the
assembler and disassembler.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import re
import subprocess
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from bench.corpus import files_of
from penstock.kernels import transform_passes as transform
from penstock.kernels.batch_output import Output
from penstock.kernels.device.l3_kernels import l3_cells, l3_offsets
from penstock.kernels.device.resize import filter_columns, filter_rows
from penstock.kernels.device.weir_kernels import weir_tiles
from penstock.kernels.launch import L3Kind, WeirKind
from scripts import tile_counts

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "results" / "kernels.json"
TOOLS = Path(triton.__file__).parent / "backends" / "nvidia" / "bin"
ARCHITECTURES = (80, 90)
WARP = 32
POINTERS = {
    "data": "*u8",
    "records": "*i64",
    "offsets": "*i32",
    "scale": "*fp32",
    "bias": "*fp32",
    "status": "*u8",
    "images": "*i64",
    "first": "*i32",
    "values": "*fp32",
}


@dataclass(frozen=True)
class Variant:
    """A kernel with everything it is compiled for."""

    name: str
    kernel: Any
    output: str
    constants: dict[str, Any]
    pointers: dict[str, str] = field(default_factory=dict)
    """Types of arguments that differ between variants, beside the output's."""


@dataclass(frozen=True)
class Usage:
    """Resources that a compiled variant needs."""

    variant: str
    architecture: str
    registers: int
    spilled_bytes: int
    shared_bytes: int
    instructions: int
    loops: list[int]
    """Instructions of each loop, inner loops included, in the order of the code."""


def main() -> None:
    """Compile, print, and record if asked to."""
    parser = argparse.ArgumentParser(description="Compile the kernels ahead of time.")
    parser.add_argument("--record", action="store_true", help="Write bench/results/kernels.json.")
    parser.add_argument("--only", default="", help="Compile only variants whose name contains this.")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="Number of compiling processes.")
    options = parser.parse_args()
    wanted = [number for number, variant in enumerate(variants()) if options.only in variant.name]
    tasks = [(number, architecture) for number in wanted for architecture in ARCHITECTURES]
    usages = []
    # Processes of their own: Triton compiles under the GIL, and a fork would inherit torch's threads.
    with ProcessPoolExecutor(min(options.jobs, len(tasks)), multiprocessing.get_context("spawn")) as pool:
        for usage in pool.map(compiled_by_number, tasks):
            usages.append(usage)
            print(json.dumps(asdict(usage)), flush=True)
    if options.record and options.only:
        result = json.loads(RESULTS.read_text(encoding="utf-8"))
        kept = [usage for usage in result["usages"] if options.only not in usage["variant"]]
        result["usages"] = kept + [asdict(usage) for usage in usages]
        RESULTS.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    elif options.record:
        result = {
            "triton": triton.__version__,
            "ratios": {corpus: tile_counts.ratios(files_of(corpus)) for corpus in ("cityscapes", "imagenet")},
            "counts": tile_counts.counts(files_of("cityscapes", 50)),
            "usages": [asdict(usage) for usage in usages],
        }
        RESULTS.parent.mkdir(exist_ok=True)
        RESULTS.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


def variants() -> Iterator[Variant]:
    """Yield the variants that are worth distinguishing."""
    half = Output(dtype=torch.float16)
    for profile in ("fast", "dense"):
        for channels, bits in ((1, 8), (3, 8), (4, 8), (1, 16), (3, 16), (4, 16)):
            constants = WeirKind(profile == "dense", channels, bits).constants(Output(), verify=True)
            yield Variant(f"weir:{profile} {channels}x{bits} uint{bits}", weir_tiles, f"*u{bits}", constants)
        constants = WeirKind(profile == "dense", 3, 8).constants(half, verify=True)
        yield Variant(f"weir:{profile} 3x8 float16", weir_tiles, "*fp16", constants)
    for lanes in (32, 64, 128):
        constants = L3Kind(3, lanes).constants(Output(), verify=True)
        yield Variant(f"l3:patch={lanes} 3x8 uint8", l3_cells, "*u8", constants)
    yield Variant("l3 3x8 float16", l3_cells, "*fp16", L3Kind(3, 64).constants(half, verify=True))
    yield from resize_variants()
    yield Variant("l3 offsets", l3_offsets, "", {"CHANNELS": 3, "LANES": 64, "VERIFY": True, "enable_fp_fusion": False})


def resize_variants() -> Iterator[Variant]:
    """Yield both passes of transforms, on samples of 8 and 16 bits."""
    for bits, output, pointer in ((8, "uint8", "*u8"), (8, "float16", "*fp16"), (16, "float32", "*fp32")):
        wide = bits == 16
        pointers = {"source": f"*u{bits}", "between": f"*u{bits}", "weights": "*fp64" if wide else "*i32"}
        common = {"CHANNELS": 3, "WIDE": wide, **transform.OPTIONS}
        if output != "float16":
            constants = {**common, "NARROW": False, "GREY": False}
            yield Variant(f"resize along x 3x{bits}", filter_rows, "", constants, pointers)
        constants = {**common, "FLOATS": output != "uint8", "SHIFT": 0}
        yield Variant(f"resize along y 3x{bits} {output}", filter_columns, pointer, constants, pointers)


def compiled_by_number(task: tuple[int, int]) -> Usage:
    """Compile the variant of this number for an architecture: kernels themselves do not travel between processes."""
    number, architecture = task
    return compiled(list(variants())[number], architecture)


def compiled(variant: Variant, architecture: int) -> Usage:
    """Compile a variant and look at the result."""
    names = variant.kernel.arg_names
    constants = {name: value for name, value in variant.constants.items() if name in names}
    options = {name: value for name, value in variant.constants.items() if name not in names}
    pointers = POINTERS | variant.pointers
    signature = {name: "constexpr" if name in constants else pointers.get(name, variant.output) for name in names}
    source = ASTSource(fn=variant.kernel, signature=signature, constexprs=constants)
    kernel = triton.compile(source, target=GPUTarget("cuda", architecture, WARP), options=options)
    with tempfile.NamedTemporaryFile(suffix=".cubin") as cubin:
        cubin.write(kernel.asm["cubin"])
        cubin.flush()
        resources = _run("cuobjdump", "-res-usage", cubin.name)
        code = _run("nvdisasm", "-c", cubin.name)
    registers, stack = re.findall(r"REG:(\d+) STACK:(\d+)", resources)[0]
    instructions, loops = count_instructions(code)
    return Usage(
        variant.name, f"sm_{architecture}", int(registers), int(stack), kernel.metadata.shared, instructions, loops
    )


def count_instructions(code: str) -> tuple[int, list[int]]:
    """Count the instructions of a disassembly, and of each loop from a label to the last branch back to it.

    >>> count_instructions(".L_x_0:\\n /*0000*/ MOV R1, R2 ;\\n /*0010*/ @P0 BRA `(.L_x_0) ;\\n /*0020*/ EXIT ;\\n")
    (3, [2])
    """
    labels: dict[str, int] = {}
    loops: dict[int, int] = {}
    count = 0
    for line in code.splitlines():
        label = re.match(r"(\.L_x_\d+):", line)
        if label:
            labels[label[1]] = count
        elif re.match(r"\s+/\*[0-9a-f]{4,}\*/", line):
            count += 1
            target = re.search(r"BRA\S* .*`\((\.L_x_\d+)\)", line)
            if target and target[1] in labels:
                loops[labels[target[1]]] = count - labels[target[1]]
    # The endless loop behind the last instruction is padding.
    return count, [size for _, size in sorted(loops.items()) if size > 1]


def _run(tool: str, *arguments: str) -> str:
    return subprocess.run([TOOLS / tool, *arguments], check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    main()
