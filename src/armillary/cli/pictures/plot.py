"""`armillary plot`: outputs of saved runs, over time or against each other."""

from __future__ import annotations

from pathlib import Path

import click

from armillary.cli import options, show


@options.command(
    """
    armillary plot step.csv r Ay -o step.png
    armillary plot slow.nc fast.nc --label "40 mph" --label "60 mph" r -o compare.html
    armillary plot step.csv NRB.q2 --x NRB.q1 -o path.svg
    """
)
@click.argument("arguments", metavar="RUN... [OUTPUT]...", nargs=-1, required=True, type=click.Path())
@click.option("--x", metavar="OUTPUT", help="Horizontal axis instead of time.")
@click.option("--label", multiple=True, help="Name of a run in the legend, in the order of the runs.")
@click.option("-o", "--output", type=click.Path(), help="Picture: .png, .svg, .pdf or .html; else a window.")
def plot(
    arguments: tuple[str, ...],
    x: str | None,
    label: tuple[str, ...],
    output: str | None,
    json_wanted: bool,
) -> int:
    """Draw outputs of one or more saved runs.

    Arguments that end in .csv, .nc, .parquet or .erd are runs; the others are outputs by name or pattern: the
    model's own, or those selected in the run, if none is named. Curves of equal units share a panel; several
    runs are overlaid.
    """
    from armillary.errors import ArmillaryError
    from armillary.results import load_run
    from armillary.results import plot as draw
    from armillary.results.plots.figure import can_show
    from armillary.run_files.execute import SUFFIXES

    paths = [a for a in arguments if Path(a).suffix.lower() in SUFFIXES]
    names = [a for a in arguments if a not in paths]
    if not paths:
        raise ArmillaryError(f"no run is named: give a file that ends in {', '.join(SUFFIXES)}")
    if label and len(label) != len(paths):
        raise ArmillaryError(f"{len(label)} labels for {len(paths)} runs; give one for each, or none")
    runs = [load_run(path) for path in paths]
    if output is None and not can_show():
        raise ArmillaryError("there is no display to show a plot on; give a file, such as -o plot.png")
    labels = list(label) or [Path(path).stem for path in paths]
    draw(runs, *names, x=x, path=output, labels=labels, show=output is None)
    data = {"command": "plot", "runs": paths, "outputs": names, "file": output}
    show.emit(json_wanted, data, f"wrote {output}" if output else "shown")
    return 0
