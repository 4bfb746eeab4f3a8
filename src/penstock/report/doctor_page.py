"""Page of `penstock doctor --report`: where a run waited, Liquid's triangle, and the estimated speed-up."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.doctor import Diagnosis, Observed, SpeedupEstimate
from penstock.rates import CORNERS
from penstock.report.charts import bars, triangle
from penstock.report.page import Figure, Page, Section, render


def make_doctor_page(
    observed: Observed, found: Diagnosis, bought: SpeedupEstimate | None, flow_chart: Sequence[str] = ()
) -> bytes:
    """Make the report of an observed run; the flow chart's advice comes last."""
    gpu = f"GPUs were {found.gpu_share:.0%} busy." if found.gpu_share is not None else "No GPU was seen."
    disk = "" if found.disk_share is not None else " How fast the disk could be is not known: its corner stays at 0."
    drawing = triangle([("this run", found.triangle)], CORNERS)
    caption = (
        "Compute is the rate as a share of what it would be with data resident in memory (goodput), estimated from the "
        "time of the steps; a good loader fills that corner. Decode and storage are how busy cores and disk were."
        + disk
    )
    sections = [Section("Where it waits", (*found.advice, gpu), (Figure(drawing, caption),))]
    if bought is not None:
        groups = [
            ("today", [("images/s", bought.today)]),
            ("Penstock, same folder", [("images/s", bought.from_folder)]),
            ("Penstock, converted", [("images/s", bought.converted)]),
        ]
        figure = Figure(
            bars(groups, "images per second"), "Predicted from a short profile of the data; nothing was converted."
        )
        sections.append(Section("What Penstock would buy", tuple(bought.sentences()), (figure,)))
    if flow_chart:
        sections.append(Section("What to do, in order", tuple(flow_chart)))
    title = f"Penstock doctor: it waits for {found.bottleneck}"
    subtitle = f"{observed.num_batches:,} batches in {observed.wall_seconds:,.0f} s on {observed.cores} cores"
    return render(Page(title, subtitle, sections))
