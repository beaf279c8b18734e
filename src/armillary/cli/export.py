"""`armillary export`: a model as a program of its own, or as an FMU."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from armillary.algebra.arguments import one_of
from armillary.cli import options, show
from armillary.untyped import DataTable

if TYPE_CHECKING:
    from armillary.run_files.execute import Simulation

# What a writer takes of a run file's values; all others write the model's own.
_TAKEN = {"fmu": ("parameters", "initial")}
_TIMES = {"fmu": ("duration", "step")}
_WORDS = {
    "parameters": "parameters", "initial": "initial values", "memory": "inputs", "inputs": "data over time",
}  # fmt: skip


def _languages() -> Iterable[str]:
    from armillary.export.languages import LANGUAGES

    return LANGUAGES


@options.command(
    """
    armillary export c car.toml -o car_c
    armillary export fmu car.toml -o car.fmu
    armillary export fortran stanford_arm --formalism recursive
    """
)
@click.argument("language", type=options.NameType("language", _languages))
@options.model_argument
@options.formalism_option
@options.effort_option
@click.option("-o", "--output", type=click.Path(), help="Folder, or .fmu file; else NAME_LANGUAGE here.")
@click.option("--force", is_flag=True, help="Write over files that are there and are not of an export.")
@click.option("--profile", help="Of C: host, or embedded for microcontrollers.")
@click.option("--lanes", type=int, help="Of C: 2 or 4 doubles in a vector, for branches that are alike.")
@click.option("--option", "extra", multiple=True, metavar="NAME=VALUE", help="An option of the language.")
def export(
    language: str,
    source: str,
    loading: DataTable,
    formalism: str | None,
    effort: str | None,
    output: str | None,
    force: bool,
    profile: str | None,
    lanes: int | None,
    extra: tuple[str, ...],
    json_wanted: bool,
) -> int:
    """Write a model as a program: c, cuda, fortran, python, jax, matlab, rust, wasm (browsers), or an fmu.

    The program needs nothing of Armillary; its README describes how to build, run and test it. An fmu
    takes parameters and initial values of a run file as its own; other programs read theirs when they run.
    """
    from armillary.export.languages import LANGUAGES
    from armillary.export.languages import export as write
    from armillary.run_files.run_file import parse_setting

    one_of(language, LANGUAGES, "cannot export to ")
    simulation = options.simulation(source, loading, {"run.formalism": formalism, "run.effort": effort})
    stem = Path(simulation.file.model).stem
    path = output or (f"{stem}.fmu" if language == "fmu" else f"{stem}_{language}")
    settings = _settings(simulation, language) | dict(parse_setting(text) for text in extra)
    settings |= {"profile": profile} if profile else {}
    settings |= {"lanes": lanes} if lanes is not None else {}
    made = write(simulation.equations, language, path, force=force, **settings)
    there = (p.relative_to(made) for p in made.rglob("*") if p.is_file() and not p.name.startswith("."))
    files = sorted(map(str, there)) if made.is_dir() else []
    data = {
        "command": "export",
        "system": simulation.system.name,
        "language": language,
        "path": str(made),
        "files": files,
    }
    show.emit(json_wanted, data, "\n".join([f"wrote {made}", *(f"  {name}" for name in files)]))
    return 0


def _settings(simulation: Simulation, language: str) -> DataTable:
    """The values of a run file that the writer takes; values that would be lost are an error."""
    from armillary.errors import ArmillaryError

    given, taken = simulation.given(), (*_TAKEN.get(language, ()), "inputs")
    lost = [_WORDS[name] for name in given if name not in taken]
    if lost:
        raise ArmillaryError(
            f"{simulation.file.source}: an export to {language} has the model's own values and would lose "
            f"its {', '.join(lost)}; export '{simulation.file.model}', and give them when the program runs"
        )
    times = {n: simulation.values.settings.get(n) for n in _TIMES.get(language, ())}
    return given | {name: entry.value for name, entry in times.items() if entry is not None}
