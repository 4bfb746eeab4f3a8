#!/usr/bin/env python3
"""Fuzz plans and profiles as documents: what `build --plan` and `plan` read."""

from __future__ import annotations

from fuzz.python.harness import check_error, fuzz, instrumented, mutate_json

with instrumented("penstock.documents", "penstock.plan", "penstock.profile", "penstock.build.rules"):
    from penstock.build.rules import read_rules
    from penstock.errors import ArgumentError
    from penstock.profile.profile_values import read_profile, write_profile


def check_input(data: bytes) -> None:
    """Check that any text gives usable rules and a profile, or an ArgumentError."""
    try:
        rules = read_rules(data, "plan.json")
    except ArgumentError as error:
        check_error(error)
    else:
        assert rules.formats
        assert rules.needs_headers in (True, False)
    try:
        profile = read_profile(data, "profile.json")
        written = write_profile(profile)
    except ArgumentError as error:
        check_error(error)
        return
    read_profile(written, "profile.json")


if __name__ == "__main__":
    fuzz(check_input, mutate_json)
