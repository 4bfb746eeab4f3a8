"""Where training waits, measured from outside, before anything is converted."""

from penstock.doctor.command import watch_command
from penstock.doctor.diagnosis import Diagnosis, Observed, diagnose_run
from penstock.doctor.phases import Phases, diagnose
from penstock.doctor.watching import Watch, watch

__all__ = ["Diagnosis", "Observed", "Phases", "Watch", "diagnose", "diagnose_run", "watch", "watch_command"]
