"""`armillary examples`: the examples that come with Armillary."""

from __future__ import annotations

import ast
import re
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
    from armillary.run_files.models import example_files, example_folder, example_names

    if action == "list":
        place = example_folder()
        titles = {key: _title(example_files(key)[0]) for key in example_names()}
        data = {"command": "examples", "folder": str(place), "examples": titles}
        show.emit(json_wanted, data, show.columns([[*item] for item in titles.items()], header=False))
        return 0
    if name is None:
        raise click.UsageError("no example is named; 'armillary examples' lists them")
    files = example_files(name)
    if action == "show":
        texts = {path.name: path.read_text(encoding="utf-8") for path in files}
        shown = "\n".join(f"{show.faint(f'# ---- {key}')}\n{text}" for key, text in texts.items())
        show.emit(json_wanted, {"command": "examples", "files": texts}, shown)
        return 0
    written = _copied(files, Path(folder), force)
    lines = [f"wrote {path}" for path in written]
    show.emit(json_wanted, {"command": "examples", "files": list(map(str, written))}, "\n".join(lines))
    return 0


def _title(path: Path) -> str:
    """The first line of a program's docstring, or of the first comment in a text."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        return (ast.get_docstring(ast.parse(text)) or "").partition("\n")[0]
    comment = r"^#\s*(.+)" if path.suffix == ".toml" else r"<!--\s*(.+?)\s*(?:-->|$)"
    found = re.search(comment, text, re.MULTILINE)
    return found[1] if found else ""


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
