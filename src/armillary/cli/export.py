"""`armillary export`: a model as a program of its own, or as an FMU."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from armillary.cli import options, show


class LanguageType(click.ParamType):
    """A language that there is a writer for."""

    name = "language"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        from armillary.backends.export import LANGUAGES

        return [CompletionItem(name) for name in LANGUAGES if name.startswith(incomplete)]


@options.command(
    """
    armillary export c car.toml -o car_c
    armillary export fmu car.toml -o car.fmu
    armillary export fortran stanford_arm --formalism recursive
    """
)
@click.argument("language", type=LanguageType())
@options.model_argument
@options.formalism_option
@click.option("-o", "--output", type=click.Path(), help="Folder, or .fmu file; else NAME_LANGUAGE here.")
@click.option("--option", "extra", multiple=True, metavar="NAME=VALUE", help="An option of the language.")
def export(
    language: str, source: str, formalism: str, output: str | None, extra: tuple[str, ...], json_wanted: bool
) -> int:
    """Write a model as a program in another language: c, cuda, fortran, python, jax, matlab, or an fmu.

    The program needs nothing of Armillary; its README says how to build, run and test it.
    """
    from armillary.backends.export import LANGUAGES
    from armillary.backends.export import export as write
    from armillary.errors import ArmillaryError, nearest
    from armillary.simulation.models import open_model
    from armillary.simulation.run_file import parse_setting

    if language not in LANGUAGES:
        raise ArmillaryError(
            f"cannot export to '{language}'{nearest(language, LANGUAGES)}; there are {', '.join(LANGUAGES)}"
        )
    file = options.run_file(source)
    system = open_model(file.model, file.folder)
    stem = Path(file.model).stem
    path = output or (f"{stem}.fmu" if language == "fmu" else f"{stem}_{language}")
    settings: dict[str, Any] = dict(parse_setting(text) for text in extra)
    equations = system.derive(formalism)
    made = write(equations, language, path, **settings)
    files = sorted(str(p.relative_to(made)) for p in made.rglob("*") if p.is_file()) if made.is_dir() else []
    data = {
        "command": "export",
        "system": system.name,
        "language": language,
        "path": str(made),
        "files": files,
    }
    show.emit(json_wanted, data, "\n".join([f"wrote {made}", *(f"  {name}" for name in files)]))
    return 0
