"""A smaller machine, to measure under: less memory, a slower disk, fewer cores.

Control groups do it where they are permitted, version 1 or 2; a core limit falls back on affinity, a disk limit on
Penstock's own readers. What was done is always said (`Means`).
"""

from penstock.limits.means import Means
from penstock.limits.run import Completed, run
from penstock.limits.values import NO_LIMITS, Limits, parse_limits

__all__ = ["NO_LIMITS", "Completed", "Limits", "Means", "parse_limits", "run"]
