"""Command line; the only code that prints. app.py explains how to add a verb."""

import sys

from penstock.tools import missing_tool


def main() -> None:
    """Run the `penstock` command."""
    try:
        from penstock.cli.run import run  # late, so that an interrupt while modules load is as quiet as any other
    except KeyboardInterrupt:
        sys.exit(130)
    except ModuleNotFoundError as missing:
        error = missing_tool(missing)
        if error is None:
            raise
        sys.stderr.write(f"error: {error}\n")
        sys.exit(1)
    try:
        run()
    except KeyboardInterrupt:
        sys.exit(130)
