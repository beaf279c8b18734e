"""The command `armillary`: derive, run, plot, compare, export, check and measure models from a terminal.

In: command-line arguments. Out: text on a terminal, JSON for scripts, files, an exit code (0 success, 1 the
work failed or differences were found, 2 wrong usage or input, 130 interrupted). Read `app.py` first: it
imports the called command and turns errors into sentences. Each other file holds commands of one kind;
`options.py` holds options that several commands share.
"""

from __future__ import annotations

from collections.abc import Sequence


def main(args: Sequence[str] | None = None) -> None:
    """Run a command line; end the process with an exit code."""
    from armillary.cli.app import app

    app.main(args=list(args) if args is not None else None)
