"""Options that several commands share, model arguments, completion of names, and options in run files.

A run file may hold options of a command, in a table with the command's name: ``[linearize] inputs =
["STEER"]``. Options on the command line override them. A table inside it stands for several NAME=VALUE, and
files are relative to the run file.

Values by name on the command line are NAME=VALUE, NAME=LOW:HIGH, and ranges, NAME=FROM:TO:COUNT or
NAME=1,2,3, followed by units if any.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import click
from click.shell_completion import CompletionItem

from armillary.cli import app
from armillary.run_files.run_file import ANALYSES
from armillary.untyped import AnyFunction, DataMapping, DataTable, Given

if TYPE_CHECKING:
    import numpy as np

    from armillary.analysis.linear.linear_model import LinearModel
    from armillary.run_files.execute import Simulation


if TYPE_CHECKING:
    from armillary.run_files.execute import Simulation
    from armillary.run_files.run_file import RunFile
    from armillary.settings import Setting
    from armillary.studies.study_file import StudyFile, StudySetup

    File = TypeVar("File", RunFile, StudyFile)


def options_in_file(command: click.Command, name: str, source: str) -> DataTable:
    """Return options and arguments of a command from the table for it in a run file; {} without one."""
    if name not in ANALYSES or not source.endswith(".toml") or not Path(source).is_file():
        return {}
    from armillary.errors import suggestion
    from armillary.files.model.documents import read_document
    from armillary.run_files.run_file import RunFileError, where

    document = read_document(source, "run file")
    table = document.data.get(name)
    if "model" not in document.data or not isinstance(table, dict):
        return {}
    known = {key: option for option in command.params for key in _keys(option)}
    for key in (
        "source",
        "json",
        "debug",
        "trust",
        "import",
    ):  # the file itself, and rights it must not grant
        known.pop(key, None)
    wrong = [
        f"{where(document, name, key)}: unknown key '{key}' in [{name}]{suggestion(key, known)}"
        for key in table
        if key not in known
    ]
    if wrong:
        raise RunFileError(wrong)
    folder = Path(source).parent
    return {str(known[key].name): _option_value(known[key], value, folder) for key, value in table.items()}


def _keys(option: click.Parameter) -> list[str]:
    """Return the keys of an option: its long forms without dashes; the name of an argument."""
    return [text.lstrip("-") for text in option.opts if text.startswith("--") or text[:1] != "-"]


def _option_value(option: click.Parameter, value: object, folder: Path) -> Given:
    if isinstance(option.type, click.Path):
        return str(folder / str(value))
    if not option.multiple and option.nargs == 1:
        return value if isinstance(value, bool) else _option_text(value)
    if isinstance(value, dict):
        return [f"{key}={_option_text(item)}" for key, item in value.items()]
    return [_option_text(item) for item in (value if isinstance(value, list) else [value])]


def _option_text(value: object) -> str:
    return ",".join(map(_option_text, value)) if isinstance(value, list) else str(value)


class NameType(click.ParamType):
    """One of several names, which are computed only for completion; the command checks the name."""

    def __init__(self, name: str, known: Callable[[], Iterable[str]]) -> None:
        self.name = name
        self.known = known

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        return [CompletionItem(name) for name in self.known() if name.startswith(incomplete)]


class Command(click.Command):
    """A command with the options that all commands have: --json and --debug."""

    def __init__(self, *args: Any, **attributes: Any) -> None:  # as click.Command takes them
        super().__init__(*args, **attributes)
        self.params += [
            click.Option(["--json", "json_wanted"], is_flag=True, help="Print JSON for scripts."),
            click.Option(["--debug"], is_flag=True, expose_value=False, help="Show tracebacks of errors."),
        ]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse arguments, with defaults from the run file on the command line, if it has a table for it."""
        found, _, _ = self.make_parser(ctx).parse_args(args=list(args))
        if isinstance(source := found.get("source"), str):
            ctx.default_map = options_in_file(self, ctx.info_name or "", source)
        return super().parse_args(ctx, args)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        format_examples(self, formatter)


class CommandGroup(click.Group):
    """A command with subcommands."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        from armillary.errors import suggestion

        if args and args[0] not in self.commands and not args[0].startswith("-"):
            near = suggestion(args[0], self.commands)
            raise click.UsageError(f"there is no command '{ctx.command_path} {args[0]}'{near}", ctx)
        return super().resolve_command(ctx, args)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        format_examples(self, formatter)


def format_examples(command: click.Command, formatter: click.HelpFormatter) -> None:
    """Write the examples unchanged, one per line."""
    if command.epilog:
        with formatter.section("Examples"):
            for line in command.epilog.strip().splitlines():
                formatter.write(f"  {line.strip()}\n")


def command(examples: str) -> Callable[[AnyFunction], Command]:
    """Return a command, with example lines for its help."""
    return click.command(cls=Command, epilog=examples)


class ModelType(click.ParamType):
    """A model file, a run file, or the name of an example or of a vehicle."""

    name = "model"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        from armillary.files.model.load import FORMATS
        from armillary.run_files.resolve import example_names, vehicle_files

        folder = Path(incomplete).parent if incomplete else Path()
        begun = Path(incomplete).name if not incomplete.endswith("/") else ""
        if incomplete.endswith("/"):
            folder = Path(incomplete)
        found = []
        for entry in sorted(folder.iterdir()) if folder.is_dir() else ():
            shown = str(folder / entry.name) if str(folder) != "." else entry.name
            if entry.name.startswith(begun) and (entry.is_dir() or entry.suffix in FORMATS):
                found.append(CompletionItem(shown + ("/" if entry.is_dir() else "")))
        names = [*example_names(), *vehicle_files()]
        return found + [CompletionItem(name) for name in names if name.startswith(incomplete)]


class SettingType(click.ParamType):
    """NAME=VALUE; the names belong to the model on the same command line."""

    name = "name=value"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        from armillary.errors import ArmillaryError

        # If an option still lacks its value, click leaves the model among the arguments not yet read.
        source = ctx.params.get("source") or next(iter(ctx.args), None)
        if "=" in incomplete or source is None:
            return []
        try:
            names = _setting_names(source)
        except ArmillaryError:
            return []
        return [
            CompletionItem(f"{name}=", help=about)
            for name, about in names.items()
            if name.casefold().startswith(incomplete.casefold())
        ]


def _setting_names(source: str) -> dict[str, str]:
    from armillary.model.parameter_meanings import parameter_descriptions
    from armillary.run_files.resolve import open_model
    from armillary.settings import RUN_TABLE

    file = run_file(source)
    system = open_model(file.model, file.folder)
    names = parameter_descriptions(system)
    names |= {f"initial.{s.data.name}": s.data.about for s in system.moving()}
    names |= {f"inputs.{name}": m.about for name, m in system.memories.items() if m.input}
    return names | {f"run.{key}": setting.help for key, setting in RUN_TABLE.items()}


def names_study(source: str) -> bool:
    """Return whether a path leads to a study file: only study files have a table [vary]."""
    from armillary.files.model.documents import read_document

    path = Path(source)
    if path.suffix.lower() != ".toml" or not path.is_file():
        return False
    return {"model", "vary"} <= set(read_document(path, "model or run file").data)


def run_file(source: str) -> RunFile:
    """Return the run file at a path, or a run file that only names the model at the path."""
    from armillary.errors import ArmillaryError
    from armillary.files.model.documents import read_document
    from armillary.run_files.run_file import RunFile

    path = Path(source)
    if path.suffix.lower() != ".toml" or not path.is_file():
        return RunFile.of_model(source)
    document = read_document(path, "model or run file")
    if {"model", "vary"} <= set(document.data):
        raise ArmillaryError(f"'{source}' is a study file: armillary study run {source}")
    is_run = "model" in document.data or ("run" in document.data and "bodies" not in document.data)
    return RunFile.of_document(document) if is_run else RunFile.of_model(source)


trust_option = click.option(
    "--trust", is_flag=True, help="Load the FMUs that the model names; they are machine code."
)
quiet_option = click.option("-q", "--quiet", is_flag=True, help="Print only errors.")
results_option = click.option(
    "-o", "--output", type=click.Path(), help="Results: .csv, .nc, .parquet or .erd."
)
table_option = click.option("-o", "--output", type=click.Path(), help="Results: .csv, .nc or .parquet.")
held_option = click.option(
    "--hold", "held", multiple=True, metavar="NAME", help="Coordinate that keeps its value; repeatable."
)


def plot_option(what: str) -> Callable[[AnyFunction], AnyFunction]:
    """Return the option for a picture of some outputs."""
    return click.option("--plot", type=click.Path(), help=f"Draw {what}: .png, .svg, .pdf or .html.")


def names_option(*declarations: str, help: str) -> Callable[[AnyFunction], AnyFunction]:
    """Return an option for a list of names, separated by commas or repeated."""

    def complete_names(context: click.Context, option: click.Parameter, given: tuple[str, ...]) -> list[str]:
        return [name.strip() for text in given for name in text.split(",") if name.strip()]

    return click.option(*declarations, multiple=True, metavar="NAME,…", help=help, callback=complete_names)


def model_argument(function: Callable[..., object]) -> AnyFunction:
    """Add arguments for a run file or model, and for ``loading`` it; a file cannot grant itself trust."""

    @click.argument("source", metavar="RUN_FILE|MODEL", type=ModelType())
    @trust_option
    @click.option(
        "--import",
        "importing",
        multiple=True,
        metavar="NAME=VALUE",
        help="How to import URDF or MJCF: floating=true, keyframe=home, stops.stiffness=1e4, …",
    )
    @wraps(function)
    def with_loading(*args: object, trust: bool, importing: tuple[str, ...], **others: object) -> object:
        return function(*args, loading=_loading(trust, importing), **others)  # fmt: skip

    return with_loading


def _loading(trust: bool, importing: tuple[str, ...]) -> DataTable:
    """Return options for `open_model`; stops.stiffness=1e4 is an entry of the table stops."""
    from armillary.run_files.run_file import parse_setting

    found: DataTable = {"trust": True} if trust else {}
    for name, value in map(parse_setting, importing):
        table, dot, key = name.partition(".")
        if dot:
            found[table] = {**found.get(table, {}), key: value}
        else:
            found[name] = value
    return found


def _run_option(key: str, setting: Setting) -> AnyFunction:
    """Return the option for a setting of the table [run]."""

    def names() -> Iterable[str]:
        from armillary.run_files.resolve import known_names

        return known_names(key)

    return click.option(f"--{key}", type=NameType(key, names), help=setting.help)


def run_options(function: Callable[..., object]) -> AnyFunction:
    """Add options for the settings of a run that have one. The command receives them as ``settings``, with
    the names of `RunFile.setting`.
    """
    from armillary.settings import RUN_TABLE

    own = {key: setting for key, setting in RUN_TABLE.items() if setting.option}

    @wraps(function)
    def with_settings(*args: object, **others: object) -> object:
        given = {f"run.{key}": others.pop(key) for key in own}
        return function(*args, settings=given, **others)

    made: AnyFunction = with_settings
    for key, setting in reversed(own.items()):
        made = _run_option(key, setting)(made)
    return made


def formalism_option(function: Callable[..., object]) -> AnyFunction:
    from armillary.settings import FORMALISM

    found: AnyFunction = _run_option("formalism", FORMALISM)(function)
    return found


def effort_option(function: Callable[..., object]) -> AnyFunction:
    from armillary.settings import EFFORT

    found: AnyFunction = _run_option("effort", EFFORT)(function)
    return found


def settings_option(function: Callable[..., object]) -> AnyFunction:
    return click.option(
        "--set", "assignments", multiple=True, type=SettingType(), metavar="NAME=VALUE",
        help='A value instead of the file\'s: SPEED="60 mile/hour", initial.A.q1="2 deg", run.step=1e-3.',
    )(function)  # fmt: skip


def input_option(function: Callable[..., object]) -> AnyFunction:
    return click.option(
        "--input", "signals", multiple=True, metavar="NAME=FILE",
        help="Data over time for an input: road=road.csv; may be repeated.",
    )(function)  # fmt: skip


class Result(Protocol):
    """The result of an analysis: it can be saved and drawn."""

    @property
    def system(self) -> str: ...

    def save(self, path: str) -> object: ...

    def plot(self, *, path: str) -> object: ...


def emit_result(
    found: Result,
    output: str | None,
    plot: str | None,
    json_wanted: bool,
    data: Mapping[str, object],
    text: str,
) -> int:
    """Write the files that --output and --plot name, and print ``data`` or ``text``; return the exit code."""
    if output is not None:
        found.save(output)
    if plot is not None:
        found.plot(path=plot)
    written = [path for path in (output, plot) if path is not None]
    about = {"command": click.get_current_context().info_name, "system": found.system}
    lines = [text, *(f"wrote {path}" for path in written)]
    app.emit(json_wanted, {**about, **data, "files": written}, "\n".join(lines))
    return 0


def simulation(
    source: str, loading: DataMapping, settings: DataMapping, assignments: tuple[str, ...] = ()
) -> Simulation:
    """Return the run file or model at a path, with values of the command line instead of the file's."""
    from armillary.run_files.execute import Simulation

    return Simulation(_overridden(run_file(source), settings, assignments), **loading)


def simulation_argument(function: Callable[..., object]) -> AnyFunction:
    """Add arguments for a run file or model and its values; the command receives them as ``simulation``."""

    @model_argument
    @settings_option
    @formalism_option
    @wraps(function)
    def with_simulation(
        *args: object,
        source: str,
        loading: DataTable,
        assignments: tuple[str, ...],
        formalism: str | None,
        **others: object,
    ) -> object:
        found = simulation(source, loading, {"run.formalism": formalism}, assignments)
        return function(*args, simulation=found, **others)

    return with_simulation


def study_setup(
    source: str,
    loading: Mapping[str, object],
    settings: Mapping[str, object],
    assignments: tuple[str, ...] = (),
) -> StudySetup:
    """Return the study file at a path, with values of the command line instead of the file's."""
    from armillary.studies.study_file import StudyFile, StudySetup

    return StudySetup(_overridden(StudyFile.read(source), settings, assignments), **loading)


def _overridden(file: File, settings: Mapping[str, object], assignments: tuple[str, ...]) -> File:
    from armillary.run_files.run_file import COMMAND_LINE, parse_setting

    given = {name: value for name, value in settings.items() if value not in (None, [])}
    given |= dict(parse_setting(text) for text in assignments)
    return file.setting(given, COMMAND_LINE) if given else file


def name_and_text(text: str) -> tuple[str, str]:
    """Return the name and the text around the equals sign."""
    name, sign, value = text.partition("=")
    if not sign or not name.strip() or not value.strip():
        raise click.UsageError(f"'{text}' is not of the form NAME=FROM:TO:COUNT, or NAME=1,2,3")
    return name.strip(), value.strip()


def values_with_units(name: str, text: str) -> tuple[np.ndarray, str]:
    """Return the values of FROM:TO:COUNT, or of numbers with commas, and the text of their units, or ""."""
    import numpy as np

    from armillary.model.units import arithmetic, number_and_unit

    *texts, last = text.split(":" if ":" in text else ",")
    last, units = number_and_unit(last)
    try:
        if ":" in text:
            first, end = map(arithmetic, texts)
            values = np.linspace(first, end, int(last))
        else:
            values = np.array([arithmetic(number) for number in (*texts, last)])
    except ValueError:
        raise click.UsageError(f"{name}: '{text}' is neither FROM:TO:COUNT nor numbers with commas") from None
    return values, units


def values_of(name: str, text: str, own: str) -> np.ndarray:
    """Return these values, converted to the units ``own`` of the name."""
    from armillary.results.record import conversion

    values, units = values_with_units(name, text)
    return values * (conversion(name, units, own) if units else 1.0)


def driven_values(name: str, text: str) -> Given:
    """Return the values of driven quantities for `Model.sweep`, with their units if given."""
    values, units = values_with_units(name, text)
    return (values, units) if units else values


def read_assignments(texts: tuple[str, ...], option: str) -> DataTable:
    """Return values by name from NAME=VALUE."""
    from armillary.errors import ArmillaryError, shown
    from armillary.run_files.run_file import parse_setting

    for text in texts:
        if "=" not in text:
            raise ArmillaryError(f"--{option} {shown(text)}: write --{option} NAME=VALUE")
    return dict(parse_setting(text) for text in texts)


def read_bounds(text: object, option: str) -> tuple[Given, Given]:
    """Return the bounds of LOW:HIGH; each may be left out."""
    from armillary.errors import ArmillaryError
    from armillary.run_files.run_file import parse_setting

    low, colon, high = str(text).partition(":")
    if not colon:
        raise ArmillaryError(f"--{option}: '{text}' must be two values with a colon between them, as 1:10")
    first, second = (parse_setting(f"x={part}")[1] if part.strip() else None for part in (low, high))
    return first, second


def linear_model_options(function: Callable[..., object]) -> AnyFunction:
    """Add arguments for a model, its operating point, inputs and outputs; the command receives the linear
    model as ``lin``.
    """

    @simulation_argument
    @point_option
    @inputs_option("Parameters, inputs or memories")
    @names_option("--outputs", help="Outputs; repeatable.")
    @wraps(function)
    def with_linear_model(
        *args: object,
        simulation: Simulation,
        point: tuple[str, ...],
        inputs: list[str],
        outputs: list[str],
        **others: object,
    ) -> object:
        at, parameters = operating_point(simulation, point), simulation.given_values().get("parameters")
        lin: LinearModel = simulation.model.linearize(at, inputs, outputs, parameters)
        return function(*args, lin=lin, **others)

    return with_linear_model  # fmt: skip


def inputs_option(meaning: str) -> Callable[[AnyFunction], AnyFunction]:
    """Return the option ``--inputs``, a list of names; ``--input`` is the same."""
    return names_option("--inputs", "--input", "inputs", help=f"{meaning}; repeatable.")


point_option = click.option(
    "--at", "point", multiple=True, metavar="NAME=VALUE",
    help="Operating point: coordinates, speeds, states, inputs, parameters, and the time t; repeatable.",
)  # fmt: skip


def operating_point(simulation: Simulation, point: tuple[str, ...]) -> DataTable:
    """Return the point of ``--at``, with the initial values of runs for values that it leaves out."""
    from armillary.run_files.run_file import parse_setting

    given = simulation.given_values()
    return {**given.get("initial", {}), **given.get("memory", {}), **dict(map(parse_setting, point))}
