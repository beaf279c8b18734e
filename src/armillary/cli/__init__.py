"""The command `armillary`: derive, run, plot, compare, export, check and measure models from a terminal.

Enters: command-line arguments. Leaves: text on a terminal, JSON for scripts, files, and an exit code (0 for
success, 1 if the work failed or differences were found, 2 for wrong usage or input, 130 if interrupted). Read
`app.py` first: it imports the called command and prints errors. `options.py` holds options that several
commands share; each other file holds commands of one kind.
"""

from __future__ import annotations

from collections.abc import Sequence


def main(args: Sequence[str] | None = None) -> None:
    """Run a command line; end the process with an exit code."""
    from armillary.cli.app import app

    app.main(args=list(args) if args is not None else None)
