"""Options that several commands share, model arguments, completion of names, and options in run files.

A run file may hold options of a command, in a table with the command's name: ``[linearize] inputs =
["STEER"]``. Options on the command line override them. A table inside this table stands for several
NAME=VALUE, and paths of files are relative to the run file.

On the command line, a value by name is NAME=VALUE, bounds are NAME=LOW:HIGH, and several values are
NAME=FROM:TO:COUNT or NAME=1,2,3; units may follow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar

import click
from click.shell_completion import CompletionItem

from armillary.cli import app
from armillary.run_files.run_file import ANALYSES
from armillary.settings import EFFORT, FORMALISM, RUN_TABLE, Setting
from armillary.untyped import AnyFunction, DataMapping, DataTable, Given

if TYPE_CHECKING:
    import numpy as np

    from armillary.analysis.linear.linear_model import LinearModel
    from armillary.run_files.execute import Simulation
    from armillary.run_files.run_file import RunFile
    from armillary.studies.study_file import StudyFile, StudySetup

    File = TypeVar("File", RunFile, StudyFile)


def options_in_file(command: click.Command, name: str, source: str) -> DataTable:
    """Return the options and arguments in a run file's table for a command; {} without such a table."""
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
    for key in ("source", "json", "debug", "trust", "import"):
        known.pop(key, None)  # the path of the file itself, and options that a file must not set
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
    """A name from a list that is computed only for completion; the command itself checks the name."""

    def __init__(self, name: str, known: Callable[[], Iterable[str]]) -> None:
        self.name = name
        self.known = known

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        return [CompletionItem(name) for name in self.known() if name.startswith(incomplete)]


@dataclass(frozen=True)
class Declared:
    """An option or argument of a command, written as the default of a parameter of the command's function."""

    kind: type[click.Parameter]
    names: tuple[str, ...]  # names of an option that differ from the name of the parameter
    attributes: DataTable

    def parameters(self, name: str, annotation: str) -> list[click.Parameter]:
        """Return the parameter of click; the annotation of the function's parameter gives its type."""
        names = self.names or (f"--{name.replace('_', '-')}",) if self.kind is click.Option else ()
        known = _TYPES.get(annotation, {}) if self.kind is click.Option else {}
        return [self.kind([*names, name], **{**known, **self.attributes})]

    def read(self, name: str, given: DataTable) -> object:
        return given[name]


@dataclass(frozen=True)
class Computed:
    """A parameter that is computed from the options and arguments that a function declares."""

    function: AnyFunction

    def parameters(self, name: str, annotation: str) -> list[click.Parameter]:
        return declared_parameters(self.function)

    def read(self, name: str, given: DataTable) -> object:
        return call_with_options(self.function, given)


# The type of a default that declares an option. It is untyped: mypy accepts it for parameters of all types.
ParameterDefault: TypeAlias = Any

_TYPES: dict[str, DataTable] = {
    "bool": {"is_flag": True}, "tuple[str, ...]": {"multiple": True},
    "int | None": {"type": int}, "float | None": {"type": float}, "float": {"type": float},
}  # fmt: skip


def option(help: str, *names: str, **attributes: Given) -> ParameterDefault:
    """Return the default that makes a command's parameter an option; click gets further attributes."""
    return Declared(click.Option, names, {"help": help, **attributes})


def argument(**attributes: Given) -> ParameterDefault:
    """Return the default that makes a command's parameter an argument, with attributes of click."""
    return Declared(click.Argument, (), attributes)


def computed(function: AnyFunction) -> ParameterDefault:
    """Return the default that makes a command's parameter the result of a function of options."""
    return Computed(function)


def declared_parameters(function: AnyFunction) -> list[click.Parameter]:
    """Return the options and arguments that the defaults of a function declare, in their order."""
    taken = [p for p in signature(function).parameters.values() if p.default is not p.empty]
    return [made for p in taken for made in p.default.parameters(p.name, p.annotation)]


def call_with_options(function: AnyFunction, given: DataTable) -> object:
    """Call a function with the values of the options and arguments that it declares."""
    taken = signature(function).parameters.values()
    return function(**{
        p.name: given[p.name] if p.default is p.empty else p.default.read(p.name, given) for p in taken
    })  # fmt: skip


class Command(click.Command):
    """A command whose function declares its options; all commands also have --json and --debug."""

    def __init__(self, *args: Any, **attributes: Any) -> None:  # as click.Command takes them
        function = attributes["callback"]
        attributes["callback"] = lambda **given: call_with_options(function, given)
        super().__init__(*args, **attributes)
        self.params += [
            *declared_parameters(function),
            click.Option(["--json", "json_wanted"], is_flag=True, help="Print JSON for scripts."),
            click.Option(["--debug"], is_flag=True, expose_value=False, help="Show tracebacks of errors."),
        ]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse arguments; a table for the command in the named run file gives defaults."""
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
    """A text NAME=VALUE; the name is one of the model on the same command line."""

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


def file_option(help: str, *names: str) -> ParameterDefault:
    """Return an option for the path of a file or folder."""
    return option(help, *names, type=click.Path())


def output_option(help: str) -> ParameterDefault:
    """Return the option for the file to write."""
    return file_option(help, "-o", "--output")


def plot_option(what: str) -> ParameterDefault:
    """Return the option for a picture of some outputs."""
    return file_option(f"Draw {what}: .png, .svg, .pdf or .html.")


def names_option(help: str, *names: str) -> ParameterDefault:
    """Return an option for a list of names, separated by commas or repeated."""

    def split_names(context: click.Context, option: click.Parameter, given: tuple[str, ...]) -> list[str]:
        return [name.strip() for text in given for name in text.split(",") if name.strip()]

    return option(help, *names, multiple=True, metavar="NAME,…", callback=split_names)


def inputs_option(meaning: str) -> ParameterDefault:
    """Return the option ``--inputs``, a list of names; ``--input`` is the same."""
    return names_option(f"{meaning}; repeatable.", "--inputs", "--input")


def _run_option(key: str, setting: Setting) -> ParameterDefault:
    """Return the option for a setting of the table [run]."""

    def names() -> Iterable[str]:
        from armillary.run_files.resolve import known_names

        return known_names(key)

    return option(setting.help, type=NameType(key, names))


trust_option = option("Load the FMUs that the model names; they are machine code.")
quiet_option = option("Print only errors.", "-q", "--quiet")
results_option = output_option("Results: .csv, .nc, .parquet or .erd.")
table_option = output_option("Results: .csv, .nc or .parquet.")
held_option = option("Coordinate that keeps its value; repeatable.", "--hold", metavar="NAME")
formalism_option = _run_option("formalism", FORMALISM)
effort_option = _run_option("effort", EFFORT)
settings_option = option(
    'A value instead of the file\'s: SPEED="60 mile/hour", initial.A.q1="2 deg", run.step=1e-3.',
    "--set", type=SettingType(), metavar="NAME=VALUE",
)  # fmt: skip
input_option = option(
    "Data over time for an input: road=road.csv; may be repeated.", "--input", metavar="NAME=FILE"
)
point_option = option(
    "Operating point: coordinates, speeds, states, inputs, parameters, and the time t; repeatable.",
    "--at", metavar="NAME=VALUE",
)  # fmt: skip
model_argument = argument(metavar="RUN_FILE|MODEL", type=ModelType())


def _loading(
    trust: bool = trust_option,
    importing: tuple[str, ...] = option(
        "How to import URDF or MJCF: floating=true, keyframe=home, stops.stiffness=1e4, …",
        "--import", metavar="NAME=VALUE",
    ),
) -> DataTable:  # fmt: skip
    """Return arguments for `open_model`; stops.stiffness=1e4 sets the entry stiffness of the table stops."""
    from armillary.run_files.run_file import parse_setting

    found: DataTable = {"trust": True} if trust else {}
    for name, value in map(parse_setting, importing):
        table, dot, key = name.partition(".")
        if dot:
            found[table] = {**found.get(table, {}), key: value}
        else:
            found[name] = value
    return found


loading_options = computed(_loading)  # never read from run files: a file must not declare itself trusted


class RunOptions(Computed):
    """The options for settings of a run; their values by name are as `RunFile.setting` takes them."""

    def parameters(self, name: str, annotation: str) -> list[click.Parameter]:
        own = [(key, setting) for key, setting in RUN_TABLE.items() if setting.option]
        return [p for key, setting in own for p in _run_option(key, setting).parameters(key, "")]

    def read(self, name: str, given: DataTable) -> object:
        return {f"run.{key}": given[key] for key, setting in RUN_TABLE.items() if setting.option}


run_options: ParameterDefault = RunOptions(dict)


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
    """Return the run file or model at a path; values of the command line replace those of the file."""
    from armillary.run_files.execute import Simulation

    return Simulation(_overridden(run_file(source), settings, assignments), **loading)


def _simulation(
    source: str = model_argument,
    loading: DataTable = loading_options,
    assignments: tuple[str, ...] = settings_option,
    formalism: str | None = formalism_option,
) -> Simulation:
    return simulation(source, loading, {"run.formalism": formalism}, assignments)


simulation_argument = computed(_simulation)  # a run file or model, and its values


def study_setup(
    source: str,
    loading: Mapping[str, object],
    settings: Mapping[str, object],
    assignments: tuple[str, ...] = (),
) -> StudySetup:
    """Return the study file at a path; values of the command line replace those of the file."""
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
    """Return the values of a text, converted to ``own``, the units of the named quantity."""
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


def _linear_model(
    simulation: Simulation = simulation_argument,
    point: tuple[str, ...] = point_option,
    inputs: list[str] = inputs_option("Parameters, inputs or memories"),
    outputs: list[str] = names_option("Outputs; repeatable."),
) -> LinearModel:
    """Return the linear model of a model at its operating point."""
    at, parameters = operating_point(simulation, point), simulation.given_values().get("parameters")
    return simulation.model.linearize(at, inputs, outputs, parameters)


linear_model_options = computed(_linear_model)


def operating_point(simulation: Simulation, point: tuple[str, ...]) -> DataTable:
    """Return the operating point of ``--at``; values that it leaves out are those at the start of runs."""
    from armillary.run_files.run_file import parse_setting

    given = simulation.given_values()
    return {**given.get("initial", {}), **given.get("memory", {}), **dict(map(parse_setting, point))}
