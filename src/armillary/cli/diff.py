"""`armillary diff`: two saved runs side by side."""

from __future__ import annotations

import click

from armillary.cli import options, show


@options.command(
    """
    armillary diff before.csv after.csv
    armillary diff before.nc after.nc --rtol 1e-6 --output r --output "RB.*"
    """
)
@click.argument("first", metavar="RUN", type=click.Path())
@click.argument("second", metavar="RUN", type=click.Path())
@click.option(
    "--rtol", type=float, default=1e-9, show_default=True, help="Tolerated part of the largest value."
)
@click.option("--atol", type=float, default=1e-12, show_default=True, help="Tolerated difference as such.")
@click.option("--output", "names", multiple=True, help="Output to compare, by name or pattern; repeatable.")
@click.option("--interpolate/--exact", default=True, show_default=True, help="Where sampling differs.")
def diff(
    first: str,
    second: str,
    rtol: float,
    atol: float,
    names: tuple[str, ...],
    interpolate: bool,
    json_wanted: bool,
) -> int:
    """Compare two saved runs: the largest difference of each output, the worst first.

    The exit code is 0 where all agree within the tolerances, 1 where one does not.
    """
    from armillary.results import load_run

    here, there = load_run(first), load_run(second)
    found = here.compare(there, *names, rtol=rtol, atol=atol, interpolate=interpolate)
    if json_wanted:
        click.echo(show.as_json({"ok": found.agree, "command": "diff", **found.as_dict()}))
    else:
        *table, verdict = str(found).splitlines()
        click.echo("\n".join([*table, (show.good if found.agree else show.bad)(verdict)]))
    return 0 if found.agree else 1
