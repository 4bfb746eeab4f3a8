"""Estimate of the speed-up from Penstock for an observed run, by a short profile and its plan."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from penstock.doctor.diagnosis import Observed
from penstock.documents import Json
from penstock.plan import Goals, make_plan
from penstock.profile.disk import DiskProbe
from penstock.profile.measure import ProfileOptions, measure
from penstock.types import OnProgress, no_progress

SAMPLE = 48
BUDGET_SECONDS = 15.0
PROBE = DiskProbe(file_bytes=64 << 20, repeats=2, num_small_reads=1024)


@dataclass(frozen=True, slots=True)
class SpeedupEstimate:
    """Rates in images/s: as observed, without waiting, and with Penstock from the folder or converted."""

    data: str
    today: float
    compute: float
    from_folder: float
    converted: float
    mix: dict[str, float]
    disk_bytes_per_second: float
    """Rate of the disk, measured during the profile."""

    @property
    def gain(self) -> float:
        """Rate of the converted dataset divided by today's rate."""
        return self.converted / self.today

    def as_dict(self) -> dict[str, Json]:
        """Convert the estimate for `--json`."""
        return {
            "data": self.data,
            "today_images_per_second": self.today,
            "compute_images_per_second": self.compute,
            "from_folder_images_per_second": self.from_folder,
            "converted_images_per_second": self.converted,
            "mix": dict(self.mix),
            "gain": self.gain,
        }

    def sentences(self) -> list[str]:
        """Describe the estimate in sentences."""
        mix = " + ".join(f"{share:.0%} {name}" for name, share in self.mix.items())
        said = [
            f"Today {self.today:,.0f} images/s; the steps alone would take {self.compute:,.0f}.",
            f"Penstock's loader on the same folder should give {self.from_folder:,.0f} "
            f"({self.from_folder / self.today:.2f} times today's rate), with nothing converted.",
        ]
        if self.converted > self.from_folder * 1.01:
            said.append(f"Converted ({mix}) it should give {self.converted:,.0f} ({self.gain:.2f} times).")
        else:
            said.append("Converting would buy nothing more.")
        return said


def short_profile(transform: str = "none") -> ProfileOptions:
    """Return options for a profile of at most half a minute, enough for a first answer."""
    return ProfileOptions(
        sample=SAMPLE, transform=transform, budget_seconds=BUDGET_SECONDS, repeat_seconds=0.1, disk=PROBE
    )


def estimate(
    observed: Observed, data: Path, options: ProfileOptions | None = None, *, on_progress: OnProgress = no_progress
) -> SpeedupEstimate | None:
    """Profile `data` for some seconds and plan for the observed steps; None if the batch size is unknown.

    The source is only read. `options` default to `short_profile`.
    """
    if observed.num_batches == 0 or not observed.batch_size:
        return None
    # First batches are left out of the seconds, so they are left out of the images too.
    images = (observed.num_batches - observed.num_epochs) * observed.batch_size
    if images <= 0 or observed.step_seconds <= 0:
        return None
    profile = measure(data, options or short_profile(), on_progress=on_progress)
    compute = images / observed.step_seconds
    plan = make_plan(profile, Goals(memory_bytes=0, compute_rate=compute))
    return SpeedupEstimate(
        data=str(data),
        today=images / (observed.wait_seconds + observed.step_seconds),
        compute=compute,
        from_folder=plan.rows.folder.rates.end_to_end,
        converted=plan.chosen.rates.end_to_end,
        mix=dict(plan.mix),
        disk_bytes_per_second=profile.disk.bytes_per_second.median,
    )
