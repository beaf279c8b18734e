"""`armillary schema`: the JSON schemas of model, run and study files, for editors."""

from __future__ import annotations

import click

from armillary.cli import options, show


@options.command(
    """
    armillary schema -o armillary.schema.json
    armillary schema run -o armillary-run.schema.json
    armillary schema study -o armillary-study.schema.json
    """
)
@click.argument("kind", type=click.Choice(["model", "run", "study"]), default="model")
@click.option("-o", "--output", type=click.Path(), help="File to write instead of the terminal.")
def schema(kind: str, output: str | None, json_wanted: bool) -> int:
    """Print the JSON schema of model, run or study files, with which editors complete and check them."""
    from armillary.atomic import replacing
    from armillary.files.model.schema import model_schema
    from armillary.run_files.schema import run_schema
    from armillary.studies.study_file import study_schema

    made = {"model": model_schema, "run": run_schema, "study": study_schema}[kind]()
    text = show.as_json(made)
    if output is None:
        click.echo(text)
        return 0
    with replacing(output) as temporary:
        temporary.write_text(text + "\n", encoding="utf-8")
    show.emit(json_wanted, {"command": "schema", "file": output}, f"wrote {output}")
    return 0
