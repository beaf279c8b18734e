"""`armillary schema`: the JSON schemas of model files and run files, for editors."""

from __future__ import annotations

import click

from armillary.cli import options, show


@options.command(
    """
    armillary schema -o armillary.schema.json
    armillary schema run -o armillary-run.schema.json
    """
)
@click.argument("kind", type=click.Choice(["model", "run"]), default="model")
@click.option("-o", "--output", type=click.Path(), help="File to write instead of the terminal.")
def schema(kind: str, output: str | None, json_wanted: bool) -> int:
    """Print the JSON schema of model files, or of run files, with which editors complete and check them."""
    from armillary.atomic import replacing
    from armillary.simulation.schema import run_schema
    from armillary.text.schema import model_schema

    text = show.as_json(model_schema() if kind == "model" else run_schema())
    if output is None:
        click.echo(text)
        return 0
    with replacing(output) as temporary:
        temporary.write_text(text + "\n", encoding="utf-8")
    show.emit(json_wanted, {"command": "schema", "file": output}, f"wrote {output}")
    return 0
