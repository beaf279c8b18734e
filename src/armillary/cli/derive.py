"""`armillary derive`: what a derivation made, and the equations themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from armillary.algebra.arguments import checked_names
from armillary.cli import options, show
from armillary.program.print.textbook import FORMS, SPEEDS
from armillary.untyped import DataTable

if TYPE_CHECKING:
    from armillary.program.configurations import ConfigurationTable
    from armillary.program.cost import Operations
    from armillary.program.equations import DerivedEquations


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
@options.model_argument
@options.formalism_option
@options.effort_option
@click.option("--compare", is_flag=True, help="Operations by every formalism, side by side.")
@click.option(
    "--configurations", is_flag=True, help="Sets of locked joints and choices of dependent speeds of runs."
)
@click.option(
    "--equations", "form", type=click.Choice(["text", "latex", "html"]), help="Print the equations."
)
@click.option("--section", multiple=True, help="precompute, derivatives (default), outputs, …; repeatable.")
@click.option("--pieces", is_flag=True, help="M u' = f with its causes, as in a textbook; not the program.")
@click.option("--form", "arrangement", type=click.Choice(FORMS), help=f"Of --pieces; default {FORMS[0]}.")
@click.option("--speeds", type=click.Choice(SPEEDS), help="Of --pieces: u, or q' for rates of coordinates.")
@click.option("-o", "--output", type=click.Path(), help="File to write instead of the terminal.")
def derive(
    source: str,
    loading: DataTable,
    formalism: str | None,
    effort: str | None,
    compare: bool,
    configurations: bool,
    form: str | None,
    section: tuple[str, ...],
    pieces: bool,
    arrangement: str | None,
    speeds: str | None,
    output: str | None,
    json_wanted: bool,
) -> int:
    """Derive equations of motion: report, or equations as text, LaTeX or HTML.

    The report lists bodies, coordinates, operations, what each pass gained and what each stage took.
    """
    from armillary.atomic import replacing
    from armillary.program.configurations import configurations_of

    simulation = options.simulation(source, loading, {"run.formalism": formalism, "run.effort": effort})
    if compare:
        system = simulation.system
        costs = system.compare_formalisms()
        data = {name: cost if isinstance(cost, str) else _operations(cost) for name, cost in costs.items()}
        show.emit(json_wanted, {"command": "derive", "system": system.name, "costs": data}, str(costs))
        return 0
    equations = simulation.equations
    if configurations:
        table = configurations_of(equations)
        show.emit(json_wanted, _data(equations) | {"configurations": _listed(table)}, str(table))
        return 0
    if pieces:
        form = form or "text"
        if section:
            raise click.UsageError("--section is for the program, --pieces for M u' = f; give one of both")
        text = _pieces_text(equations, form, arrangement or FORMS[0], speeds or SPEEDS[0])
    elif arrangement or speeds:
        raise click.UsageError("--form and --speeds are for --pieces; add it")
    else:
        text = _text(equations, form, section)
    if output is not None:
        with replacing(output) as temporary:
            temporary.write_text(text if text.endswith("\n") else text + "\n", encoding="utf-8")
    data = _data(equations) | ({"file": output} if output else {"equations": text} if form else {})
    shown = f"wrote {output}" if output is not None else text
    show.emit(json_wanted, data, shown)
    return 0


def _pieces_text(equations: DerivedEquations, markup: str, form: str, speeds: str) -> str:
    from armillary.program.pieces import pieces_of
    from armillary.program.print.documents import handout_text, plain_equations

    pieces = pieces_of(equations)
    if markup == "text":
        return plain_equations(pieces)
    return handout_text(equations, pieces, markup, form, speeds)


def _text(equations: DerivedEquations, form: str | None, wanted: tuple[str, ...]) -> str:
    if form is None and not wanted:
        return str(equations.report())
    names = wanted or ("derivatives",)
    if form in (None, "text"):
        return "\n\n".join(str(equations.show(name)) for name in names)
    from armillary.errors import ModelError
    from armillary.program.print.documents import sections_document

    sections = {section.name: section for section in equations.program.sections()}
    chosen = [sections[n] for n in checked_names(names, sections, "no section", ModelError, listed=True)]
    return sections_document(equations, chosen, form)


def _data(equations: DerivedEquations) -> DataTable:
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


def _listed(table: ConfigurationTable) -> list[DataTable]:
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
