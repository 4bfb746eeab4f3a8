"""Log of findings in the work folder, so that a stopped campaign continues where it was."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from bench.circumstances import commit_text
from bench.timing import RESULTS
from penstock import _native
from penstock.machine import cpu_model


class Log:
    """Findings by key, each written as soon as it is there; lines for bench/results beside them."""

    def __init__(self, path: Path, *, record: bool) -> None:
        self._path = path
        self._record = record
        self._found: dict[str, Any] = {}
        if path.exists():
            for line in path.read_text().splitlines():
                entry = json.loads(line)
                self._found[entry["key"]] = entry["value"]

    def get(self, key: str) -> Any:  # noqa: ANN401  # whatever JSON holds
        """Return the finding under a key, or None."""
        return self._found.get(key)

    def put(self, key: str, value: object) -> None:
        """Keep a finding."""
        self._found[key] = value
        with self._path.open("a") as file:
            file.write(json.dumps({"key": key, "value": value}) + "\n")

    def record(self, question: str, line: dict[str, object]) -> None:
        """Print a line of the result, and append it to bench/results if that was asked for; once each."""
        key = f"line/{question}/{json.dumps(line, sort_keys=True)}"
        if self.get(key) is not None:
            return
        self.put(key, True)
        if self._record:
            about = {
                "commit": commit_text(),
                "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
                "cpu": cpu_model(),
                "simd": _native.simd_path(),
            }
            with (RESULTS / "campaign.jsonl").open("a") as file:
                file.write(json.dumps({"question": question, **line, **about}, allow_nan=False) + "\n")
