"""By what each limit is held; a limit that nothing holds is said too, so that nobody trusts a figure blindly."""

from __future__ import annotations

from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True)
class Means:
    """Who holds each limit: `cgroup v1`, `cgroup v2`, `affinity`, `readers`, `nothing`; empty without such a limit."""

    memory: str = ""
    disk: str = ""
    cores: str = ""

    def as_dict(self) -> dict[str, str]:
        """Only what is limited, for results and reports."""
        return {name: value for name, value in asdict(self).items() if value}

    def __str__(self) -> str:
        return ", ".join(f"{name} by {value}" for name, value in self.as_dict().items()) or "no limits"
