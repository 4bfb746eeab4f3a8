"""Diagnosis of where training waits, measured from outside, before anything is converted."""

from penstock.doctor.command import watch_command
from penstock.doctor.diagnosis import Diagnosis, Observed, diagnose_run
from penstock.doctor.phases import Phases, diagnose
from penstock.doctor.speedup import SpeedupEstimate, estimate, short_profile
from penstock.doctor.watching import Watch, watch

__all__ = [
    "Diagnosis",
    "Observed",
    "Phases",
    "SpeedupEstimate",
    "Watch",
    "diagnose",
    "diagnose_run",
    "estimate",
    "short_profile",
    "watch",
    "watch_command",
]
