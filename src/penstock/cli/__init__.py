"""The command line: the only code that prints."""


def main() -> None:
    """Run the `penstock` command."""
    from penstock.cli.app import run

    run()
