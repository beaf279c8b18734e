"""`armillary live`: a page in which a model itself runs."""

from __future__ import annotations

from pathlib import Path

import click

from armillary.cli import options, show
from armillary.untyped import DataTable, Given


@options.command(
    """
    armillary live pendulum --slider L=0.2:1 --slider bob.q1 -o pendulum.html
    armillary live car.toml --slider SPEED --plot Ay
    armillary live four_bar --no-grab --step 1e-3
    """
)
@options.model_argument
@click.option(
    "--slider", "sliders", multiple=True, metavar="NAME[=LOW:HIGH]",
    help="Parameter, initial value or input to change, with limits in its units; repeatable.",
)  # fmt: skip
@click.option(
    "--input", "inputs", multiple=True, metavar="NAME[=LOW:HIGH]",
    help="Input that keys and a gamepad move; repeatable.",
)  # fmt: skip
@click.option("--plot", "plots", multiple=True, metavar="NAME", help="Output to show at first; repeatable.")
@click.option("--method", help="Method of integration; else dopri5, or rk4 with --step.")
@click.option("--step", metavar="TIME", help="Step of a method with steps of one size.")
@click.option("--grab/--no-grab", default=None, help="Whether bodies are pulled with the pointer.")
@click.option("--title", default="", help="Title of the page; the name of the system if left out.")
@options.settings_option
@options.formalism_option
@click.option("-o", "--output", type=click.Path(), help="File of the page; else NAME.html here.")
def live(
    source: str,
    loading: DataTable,
    sliders: tuple[str, ...],
    inputs: tuple[str, ...],
    plots: tuple[str, ...],
    method: str | None,
    step: str | None,
    grab: bool | None,
    title: str,
    assignments: tuple[str, ...],
    formalism: str | None,
    output: str | None,
    json_wanted: bool,
) -> int:
    """Write a page in which a model runs: sliders, plots that grow, bodies that can be pulled; no network.

    The equations are compiled to WebAssembly and lie in the page. Values of a run file are where it starts.
    """
    from armillary.errors import ArmillaryError
    from armillary.viewer.live.page import write_live

    changed = {"run.formalism": formalism, "run.step": step, "run.method": method}
    simulation = options.simulation(source, loading, changed, assignments)
    given = simulation.given()
    if given.pop("inputs", None) is not None:
        raise ArmillaryError(
            f"{simulation.file.source} has data over time for inputs, which a live page moves by hand; "
            "leave the data out"
        )
    settings = {name: entry.value for name, entry in simulation.values.settings.items()}
    place = write_live(
        simulation.model,
        output or f"{Path(simulation.file.model).stem}.html",
        sliders=[_with_limits(text) for text in sliders] or None,
        inputs=[_with_limits(text) for text in inputs] or None,
        plots=list(plots) or None,
        method=method,
        step=settings.get("step") if step is not None else None,
        grab=grab,
        title=title,
        **given,
    )
    data = {"command": "live", "system": simulation.system.name, "file": str(place)}
    show.emit(json_wanted, data, f"wrote {place}")
    return 0


def _with_limits(text: str) -> Given:
    """A name, or a name with its limits."""
    name, sign, limits = text.partition("=")
    if not sign:
        return name
    try:
        low, high = map(float, limits.split(":"))
    except ValueError:
        raise click.UsageError(f"'{text}' is not of the form NAME or NAME=LOW:HIGH") from None
    return name.strip(), low, high
