"""Folder that `doctor` puts on PYTHONPATH of the command it observes."""

from pathlib import Path

HOOK_FOLDER = Path(__file__).parent
VARIABLE = "PENSTOCK_DOCTOR_RESULTS"
"""Names the folder that the hook writes to; without it the hook does nothing."""
