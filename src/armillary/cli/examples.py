"""`armillary examples`: the examples that come with Armillary."""

from __future__ import annotations

import ast
from pathlib import Path

import click

from armillary.cli import options, show


@options.command(
    """
    armillary examples
    armillary examples show car
    armillary examples copy car --to my_car
    """
)
@click.argument("action", type=click.Choice(["list", "show", "copy"]), default="list")
@click.argument("name", required=False, type=options.ModelType())
@click.option("--to", "folder", type=click.Path(), default=".", show_default=True, help="Folder to copy to.")
@click.option("--force", is_flag=True, help="Write over files that are there.")
def examples(action: str, name: str | None, folder: str, force: bool, json_wanted: bool) -> int:
    """List the examples, show one, or copy it here.

    The name of an example stands for its model in all commands:  armillary run car --duration 2
    """
    from armillary.simulation.models import example_folder

    place = example_folder()
    titles = {path.stem: _title(path) for path in sorted(place.glob("*.py"))}
    if action == "list":
        rows = [[key, title] for key, title in titles.items()]
        data = {"command": "examples", "folder": str(place), "examples": titles}
        show.emit(json_wanted, data, show.columns(rows, header=False))
        return 0
    files = _files(place, name, list(titles))
    if action == "show":
        texts = {path.name: path.read_text(encoding="utf-8") for path in files}
        show.emit(json_wanted, {"command": "examples", "files": texts}, "\n".join(texts.values()))
        return 0
    written = _copied(files, Path(folder), force)
    lines = [f"wrote {path}" for path in written]
    show.emit(json_wanted, {"command": "examples", "files": list(map(str, written))}, "\n".join(lines))
    return 0


def _title(path: Path) -> str:
    doc = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return doc.splitlines()[0] if doc else ""


def _files(place: Path, name: str | None, known: list[str]) -> list[Path]:
    """The files of an example: its program, its text model, its run files."""
    from armillary.errors import ArmillaryError, nearest

    if name is None:
        raise click.UsageError("which example? 'armillary examples' lists them")
    found = [place / f"{name}.py", *sorted(place.glob(f"{name}.*")), *sorted(place.glob(f"{name}_run*.toml"))]
    files = list(dict.fromkeys(path for path in found if path.is_file()))
    if not files:
        raise ArmillaryError(f"there is no example '{name}'{nearest(name, known)}")
    return files


def _copied(files: list[Path], folder: Path, force: bool) -> list[Path]:
    from armillary.atomic import replacing
    from armillary.errors import ArmillaryError

    folder.mkdir(parents=True, exist_ok=True)
    targets = [folder / path.name for path in files]
    there = [str(target) for target in targets if target.exists()]
    if there and not force:
        raise ArmillaryError(f"'{there[0]}' exists already; --force writes over it")
    for path, target in zip(files, targets, strict=True):
        with replacing(target) as temporary:
            temporary.write_bytes(path.read_bytes())
    return targets
