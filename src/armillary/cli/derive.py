"""The commands `armillary derive` and `armillary export`.

`armillary derive` shows the report of a derivation, or the equations themselves; `armillary export` writes a
model as a program, or as an FMU.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from armillary.algebra.arguments import checked_names, one_of
from armillary.cli import app, options
from armillary.cli.options import argument, option
from armillary.program.textbook import FORMS, SPEEDS
from armillary.untyped import DataTable

if TYPE_CHECKING:
    from armillary.program.configurations import ConfigurationTable
    from armillary.program.equations import DerivedEquations
    from armillary.program.passes.graph import Operations
    from armillary.run_files.execute import Simulation


@options.command(
    """
    armillary derive car.toml
    armillary derive car.toml --equations html -o car.html
    armillary derive car.toml --pieces --equations latex -o handout.tex
    armillary derive stanford_arm --formalism kane --equations text --section outputs
    armillary derive stanford_arm --effort high
    armillary derive array_deployment --configurations
    """
)
def derive(
    *,
    source: str = options.model_argument,
    loading: DataTable = options.loading_options,
    formalism: str | None = options.formalism_option,
    effort: str | None = options.effort_option,
    compare: bool = option("Numbers of operations with every formalism."),
    configurations: bool = option("List sets of locked joints and choices of dependent speeds."),
    form: str | None = option(
        "Print the equations.", "--equations", type=click.Choice(["text", "latex", "html"])
    ),
    section: tuple[str, ...] = option("precompute, derivatives (default), outputs, …; repeatable."),
    pieces: bool = option("M u' = f with its terms, as in a textbook; not the program."),
    arrangement: str | None = option(
        f"For --pieces; default {FORMS[0]}.", "--form", type=click.Choice(FORMS)
    ),
    speeds: str | None = option(
        "For --pieces: u, or q' for rates of coordinates.", type=click.Choice(SPEEDS)
    ),
    output: str | None = options.output_option("File to write instead of the terminal."),
    json_wanted: bool,
) -> int:
    """Derive equations of motion: report, or equations as text, LaTeX or HTML.

    The report lists bodies, coordinates, operations, the gain of each pass and the time of each stage.
    """
    from armillary.limited_files import write_file
    from armillary.program.configurations import configurations_of
    from armillary.program.equations import derived_equations

    simulation = options.simulation(source, loading, {"run.formalism": formalism, "run.effort": effort})
    if compare:
        system = simulation.system
        costs = system.compare_formalisms()
        data = {name: cost if isinstance(cost, str) else _operations(cost) for name, cost in costs.items()}
        app.emit(json_wanted, {"command": "derive", "system": system.name, "costs": data}, str(costs))
        return 0
    equations = derived_equations(simulation.equations)
    if configurations:
        table = configurations_of(equations)
        app.emit(
            json_wanted,
            _json_of_equations(equations) | {"configurations": _rows_of_configurations(table)},
            str(table),
        )
        return 0
    if pieces:
        form = form or "text"
        if section:
            raise click.UsageError(
                "--section is for the program, --pieces for M u' = f; give only one of them"
            )
        text = _pieces_text(equations, form, arrangement or FORMS[0], speeds or SPEEDS[0])
    elif arrangement or speeds:
        raise click.UsageError("--form and --speeds are for --pieces; add it")
    else:
        text = _equations_text(equations, form, section)
    if output is not None:
        write_file(output, text if text.endswith("\n") else text + "\n")
    data = _json_of_equations(equations) | (
        {"file": output} if output else {"equations": text} if form else {}
    )
    shown = f"wrote {output}" if output is not None else text
    app.emit(json_wanted, data, shown)
    return 0


def _pieces_text(equations: DerivedEquations, markup: str, form: str, speeds: str) -> str:
    from armillary.program.documents import handout_text, plain_equations

    if markup == "text":
        return plain_equations(equations)
    return handout_text(equations, markup, form, speeds)


def _equations_text(equations: DerivedEquations, form: str | None, wanted: tuple[str, ...]) -> str:
    if form is None and not wanted:
        return str(equations.report())
    names = wanted or ("derivatives",)
    if form in (None, "text"):
        return "\n\n".join(str(equations.show(name)) for name in names)
    from armillary.errors import ModelError
    from armillary.program.documents import sections_document

    sections = {section.name: section for section in equations.program.sections()}
    chosen = [sections[n] for n in checked_names(names, sections, "no section", ModelError, listed=True)]
    return sections_document(equations, chosen, form)


def _json_of_equations(equations: DerivedEquations) -> DataTable:
    return {
        "command": "derive",
        "system": equations.system.name,
        "formalism": equations.formalism,
        "bodies": len(equations.system.bodies),
        "coordinates": list(equations.coordinates),
        "speeds": list(equations.speeds),
        "states": list(equations.states),
        "operations": _operations(equations.operations),
        "precomputed": len(equations.program.constants),
        "seconds": {stage.name: stage.seconds for stage in equations.stages},
        "considered": [str(tried) for tried in equations.considered],
    }


def _rows_of_configurations(table: ConfigurationTable) -> list[DataTable]:
    return [
        {
            "number": entry.number,
            "locked": list(entry.locked),
            "dependent": list(entry.dependents),
            "operations": _operations(table.equations(entry.number).operations),
            "why": entry.why,
            "then": table.following(entry.number),
        }
        for entry in table
    ]


def _operations(counted: Operations) -> dict[str, int]:
    return {k: getattr(counted, k) for k in ("additions", "multiplications", "divisions", "functions")}


# Values of a run file that an export to some language takes over, besides data over time, which every export
# takes over; exports to other languages write the model's own values.
_TAKEN = {"fmu": ("parameters", "initial")}
_TIMES = {"fmu": ("duration", "step")}
_WORDS = {
    "parameters": "parameters", "initial": "initial values", "memory": "inputs", "inputs": "data over time",
}  # fmt: skip


def _languages() -> Iterable[str]:
    from armillary.export import LANGUAGES

    return LANGUAGES


@options.command(
    """
    armillary export c car.toml -o car_c
    armillary export fmu car.toml -o car.fmu
    armillary export fortran stanford_arm --formalism recursive
    """
)
def export(
    *,
    language: str = argument(type=options.NameType("language", _languages)),
    source: str = options.model_argument,
    loading: DataTable = options.loading_options,
    formalism: str | None = options.formalism_option,
    effort: str | None = options.effort_option,
    output: str | None = options.output_option("Folder, or .fmu file; else NAME_LANGUAGE here."),
    force: bool = option("Overwrite existing files that are not part of an export."),
    profile: str | None = option("For C: host, embedded for microcontrollers, or acados for optimisers."),
    lanes: int | None = option("For C: 2 or 4 doubles in a vector, for branches that are alike."),
    extra: tuple[str, ...] = option("An option of the language.", "--option", metavar="NAME=VALUE"),
    json_wanted: bool,
) -> int:
    """Write a model as a program: c, cuda, fortran, python, jax, matlab, rust, wasm (browsers), or an fmu.

    The program does not need Armillary; its README describes how to build, run and test it. An fmu takes
    parameters and initial values of a run file as its own; other programs read theirs when they run.
    """
    from armillary.export import LANGUAGES
    from armillary.run_files.run_file import parse_setting

    one_of(language, LANGUAGES, "cannot export to ")
    simulation = options.simulation(source, loading, {"run.formalism": formalism, "run.effort": effort})
    stem = Path(simulation.file.model).stem
    path = output or (f"{stem}.fmu" if language == "fmu" else f"{stem}_{language}")
    settings = _export_settings(simulation, language) | dict(parse_setting(text) for text in extra)
    settings |= {"profile": profile} if profile else {}
    settings |= {"lanes": lanes} if lanes is not None else {}
    made = simulation.equations.export(language, path, force=force, **settings)
    there = (p.relative_to(made) for p in made.rglob("*") if p.is_file() and not p.name.startswith("."))
    files = sorted(map(str, there)) if made.is_dir() else []
    data = {
        "command": "export",
        "system": simulation.system.name,
        "language": language,
        "path": str(made),
        "files": files,
    }
    app.emit(json_wanted, data, "\n".join([f"wrote {made}", *(f"  {name}" for name in files)]))
    return 0


def _export_settings(simulation: Simulation, language: str) -> DataTable:
    """Return the values of a run file that the export takes over; values that would be lost are an error."""
    from armillary.errors import ArmillaryError

    given, taken = simulation.given_values(), (*_TAKEN.get(language, ()), "inputs")
    lost = [_WORDS[name] for name in given if name not in taken]
    if lost:
        raise ArmillaryError(
            f"{simulation.file.source}: an export to {language} has the model's own values and would lose "
            f"its {', '.join(lost)}; export '{simulation.file.model}', and give them when the program runs"
        )
    times = {n: simulation.values.settings.get(n) for n in _TIMES.get(language, ())}
    return given | {name: entry.value for name, entry in times.items() if entry is not None}
