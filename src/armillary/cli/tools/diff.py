"""`armillary diff`: two saved runs side by side."""

from __future__ import annotations

import click

from armillary.cli import options, show


@options.command(
    """
    armillary diff before.csv after.csv
    armillary diff before.nc after.nc --rtol 1e-6 --select r --select "RB.*"
    """
)
@click.argument("first", metavar="RUN", type=click.Path())
@click.argument("second", metavar="RUN", type=click.Path())
@click.option(
    "--rtol", type=float, default=1e-9, show_default=True, help="Tolerated part of the largest value."
)
@click.option("--atol", type=float, default=1e-12, show_default=True, help="Tolerated difference as such.")
@click.option("--select", "names", multiple=True, help="Output to compare, by name or pattern; repeatable.")
@click.option("--common", is_flag=True, help="Allow outputs that only one of the runs has.")
@click.option("--interpolate/--exact", default=True, show_default=True, help="Where sampling differs.")
def diff(
    first: str,
    second: str,
    rtol: float,
    atol: float,
    names: tuple[str, ...],
    common: bool,
    interpolate: bool,
    json_wanted: bool,
) -> int:
    """Compare two saved runs: the largest difference of each output, the worst first.

    The exit code is 0 where all agree within the tolerances, and 1 where one does not, or is in one run only.
    A CSV table that another program wrote, with time in its first column, is read as a run too.
    """
    from armillary.results import load_run

    here, there = load_run(first), load_run(second)
    found = here.compare(there, *names, rtol=rtol, atol=atol, interpolate=interpolate)
    well = found.agree and (common or found.complete)
    if json_wanted:
        click.echo(show.as_json({"ok": well, "command": "diff", **found.as_dict()}))
    else:
        *table, verdict = str(found).splitlines()
        click.echo("\n".join([*table, (show.good if well else show.bad)(verdict)]))
    return 0 if well else 1
