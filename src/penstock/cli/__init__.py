"""The command line: the only code that prints. See app.py for how a verb is added."""

import sys


def main() -> None:
    """Run the `penstock` command."""
    try:
        from penstock.cli.run import run  # late, so that an interrupt while modules load is as quiet as any other

        run()
    except KeyboardInterrupt:
        sys.exit(130)
