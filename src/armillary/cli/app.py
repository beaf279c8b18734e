"""The group of commands: it imports the called command, prints results, and prints errors as sentences."""

from __future__ import annotations

import importlib
import json
import math
import os
import re
import sys
import traceback
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from armillary.errors import ArmillaryError, MissingExtraError, SimulationError
from armillary.text_tables import aligned
from armillary.untyped import DataTable, Given

if TYPE_CHECKING:
    from armillary.results import Run


def align_columns(rows: Sequence[Sequence[str]], *, header: bool = True) -> str:
    """Return rows of cells in aligned columns, numbers to the right; the first row is bold on a terminal."""
    if not rows:
        return ""
    body = rows[1:] if header else rows
    right = [bool(body) and all(map(_numeric, column)) for column in zip(*body, strict=True)]
    sides = "".join(">" if numbers else "<" for numbers in right)
    lines = ["  " + line for line in aligned(rows, sides, width=_width)]
    if header:
        lines[0] = click.style(lines[0], bold=True)
    return "\n".join(lines)


def _width(cell: str) -> int:
    """Return the number of visible characters of a cell, which may be coloured."""
    return len(click.unstyle(cell))


def _numeric(cell: str) -> bool:
    try:
        float(cell or "0")
    except ValueError:
        return False
    return True


def as_json(value: object) -> str:
    """Return JSON that every reader accepts: numbers that are not finite become null."""
    return json.dumps(_replace_nonfinite(value), ensure_ascii=False, indent=2)


def _replace_nonfinite(value: object) -> Given:
    if isinstance(value, Mapping):
        return {str(key): _replace_nonfinite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_replace_nonfinite(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, str | int | float | bool) or value is None else str(value)


def emit(json_wanted: bool, data: Mapping[str, object], text: str) -> None:
    """Print the result of a command: ``data`` for scripts, or ``text`` for people."""
    click.echo(as_json({"ok": True, **data}) if json_wanted else text)


def good(text: str) -> str:
    return click.style(text, fg="green")


def bad(text: str) -> str:
    return click.style(text, fg="red")


def doubtful(text: str) -> str:
    return click.style(text, fg="yellow")


def faint(text: str) -> str:
    return click.style(text, dim=True)


def seconds(value: float) -> str:
    """Return a time with three digits and a unit: 1.2 s, 35 ms, 120 ns."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value / 1e-9:.3g} ns"


def partial_run(simulate: Callable[[], Run]) -> tuple[Run, SimulationError | None]:
    """Return a run, which may be incomplete, and the error that ended it early, if any."""
    try:
        return simulate(), None
    except SimulationError as error:
        if error.run is None:
            raise
        return error.run, error


def failure_with_data(failure: SimulationError, file: Path | None) -> SimulationError:
    """Return the error with the name of the file, if any, that holds the data computed before it."""
    message = str(failure).removesuffix("; the data so far are in the error's .run")
    return SimulationError(f"{message}; the data so far are in '{file}'" if file is not None else message)


FAILED, WRONG_INPUT, INTERRUPTED = 1, 2, 130

# The module of each command's function, and one line of help. They stand here so that help and completion
# import no command.
COMMANDS = {
    "run": ("run", "Simulate a run file, or a model, and save the results."),
    "study": ("study", "Make many runs of a model, varied and kept in a folder; resume interrupted ones."),
    "trim": (
        "analyses",
        "Find an operating point of a model: rest, steady motion, inputs that hold it.",
    ),
    "check": ("tools", "Look for mistakes in a model, run or study file without running it."),
    "derive": ("derive", "Derive equations of motion: report, or equations as text, LaTeX or HTML."),
    "plot": ("run", "Draw outputs of one or more saved runs."),
    "view": ("run", "Show how a system moves: one HTML page with bodies, plots and a time line."),
    "live": ("run", "Write a page in which a model runs, with sliders: one HTML file, no network."),
    "diff": ("tools", "Compare two saved runs."),
    "linearize": ("analyses", "Compute A, B, C and D of a model at an operating point, and its poles."),
    "bode": (
        "analyses",
        "Compute the frequency response of a model at an operating point, as a table or picture.",
    ),
    "modes": ("analyses", "Find the modes of a model: frequencies, dampings, participation of states."),
    "inverse": ("analyses", "Find the efforts along a saved run of a model, or a measured motion."),
    "sweep": ("analyses", "Find positions of a mechanism along a path, without its dynamics."),
    "solve": ("analyses", "Find positions at which outputs have given values: inverse kinematics."),
    "maneuver": ("run", "Drive a car through a manoeuvre of a standard: figures, report."),
    "export": ("derive", "Write a model as a program in another language, or as an FMU."),
    "bench": ("bench", "Time derivation, compilation, evaluations and steps of a model."),
    "verify": ("bench", "Run the published cases: expected and computed numbers."),
    "examples": ("tools", "List the examples, show one, or copy it here."),
    "info": ("tools", "Show versions, extras, compilers and the cache of compiled models."),
    "schema": ("tools", "Print the JSON schema of model, run or study files."),
    "completion": ("tools", "Print the script that completes commands in your shell."),
}


class App(click.Group):
    """A group of commands, each imported from its module when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        found = getattr(importlib.import_module(f"armillary.cli.{COMMANDS[name][0]}"), name)
        assert isinstance(found, click.Command)
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        from armillary.errors import nearest

        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            raise click.UsageError(f"there is no command '{args[0]}'{nearest(args[0], COMMANDS)}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])

    # mypy: click's main has more arguments, which are passed on.
    def main(self, args: Any = None, prog_name: str | None = None, **extra: Any) -> Any:  # type: ignore[override]
        """Run one command line; end the process with its exit code, or return the code if not standalone."""
        given = list(args) if args is not None else sys.argv[1:]
        standalone = extra.pop("standalone_mode", True)
        try:
            with warnings.catch_warnings():
                warnings.showwarning = _warn
                done = super().main(given, "armillary", standalone_mode=False, **extra)
            if sys.stdout is not None:  # it is None in a process without a terminal
                sys.stdout.flush()
            code = done if isinstance(done, int) else 0
        except BaseException as error:
            code = report_error(error, debug="--debug" in given, json="--json" in given)
        if standalone:
            sys.exit(code)
        return code


def _warn(message: Warning | str, *_: object, **__: object) -> None:
    """Print a warning as a sentence on stderr, without the line of code that gave it."""
    click.echo(f"{click.style('armillary: warning:', fg='yellow')} {message}", err=True)


def report_error(error: BaseException, *, debug: bool, json: bool) -> int:
    """Print an error on stderr as a sentence; return the exit code."""
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else 0 if error.code is None else FAILED
    if isinstance(error, BrokenPipeError):  # the reader of our output has ended
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    if debug and not isinstance(error, click.ClickException):
        traceback.print_exception(error)
    messages, code = _messages(error)
    if json:
        print(as_json({"ok": False, "exit_code": code, "errors": [_split_location(m) for m in messages]}))
    for message in messages:
        click.echo(f"{click.style('armillary: error:', fg='red', bold=True)} {message}", err=True)
    return code


def _messages(error: BaseException) -> tuple[list[str], int]:
    """Return the messages of an error, and its exit code."""
    if isinstance(error, click.Abort | KeyboardInterrupt | EOFError):
        return ["interrupted"], INTERRUPTED
    if isinstance(error, click.UsageError):
        command = error.ctx.command_path if error.ctx is not None else "armillary"
        message = " ".join(error.format_message().split()).rstrip(".")
        return [f"{message}{' ' if message.endswith('?') else '; '}see '{command} --help'"], WRONG_INPUT
    if isinstance(error, click.ClickException):
        return [error.format_message()], WRONG_INPUT
    if isinstance(error, ArmillaryError):
        # A refusal by the system (no space, no permission) is not a fault of the input.
        refused = isinstance(error.__cause__, OSError) and not isinstance(error.__cause__, FileNotFoundError)
        failed = refused or isinstance(error, SimulationError | MissingExtraError)
        code = FAILED if failed else WRONG_INPUT
        return list(getattr(error, "problems", None) or [str(error)]), code
    if isinstance(error, OSError):
        where = f"'{error.filename}': " if error.filename else ""
        return [f"{where}{error.strerror or error}"], FAILED
    if isinstance(error, MemoryError):
        return ["there is not enough memory for this"], FAILED
    kind = type(error).__name__
    return [f"an internal error of Armillary: {kind}: {error}; --debug shows where, please report it"], FAILED


def _split_location(message: str) -> DataTable:
    """Return a message, with its file and line as separate entries if it begins with them."""
    found = re.match(r"([^\s:][^:\n]*\.\w+):(\d+): ", message)
    if not found:
        return {"message": message}
    return {"message": message[found.end() :], "file": found[1], "line": int(found[2])}


@click.command(
    cls=App,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    invoke_without_command=True,
    epilog="Start with:  armillary examples   then   armillary run car --duration 2",
)
@click.version_option(package_name="armillary", message="armillary %(version)s")
@click.pass_context
def app(ctx: click.Context) -> None:
    """Multibody dynamics: describe a mechanical system, get fast equations of motion made for it.

    Each command has an example in its help:  armillary run --help
    """
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        ctx.color = False
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())
