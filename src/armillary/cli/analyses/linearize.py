"""`armillary linearize`: A, B, C and D at an operating point."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from armillary.cli import options, show
from armillary.cli.analyses.linear_options import linear_model_options

if TYPE_CHECKING:
    from armillary.analysis.linear.linear_model import LinearModel


@options.command(
    """
    armillary linearize car --inputs STEER --outputs r
    armillary linearize car.toml --at SPEED="60 mile/hour" --at NRB.q3=0 -o car.json
    armillary linearize four_bar -o four_bar.html
    """
)
@linear_model_options
@click.option("-o", "--output", type=click.Path(), help="Linear model: .json; or a report: .txt or .html.")
def linearize(lin: LinearModel, output: str | None, json_wanted: bool) -> int:
    """A, B, C and D of a model at an operating point, and its poles.

    Without --at that point is where runs start. Loops are closed there; states are the independent ones.
    """
    if output is not None:
        lin.save(output)
    data = {
        "command": "linearize",
        "system": lin.system,
        "states": list(lin.states),
        "inputs": list(lin.inputs),
        "outputs": list(lin.outputs),
        "units": lin.units,
        **{name: getattr(lin, name).tolist() for name in "ABCD"},
        "poles": [[p.real, p.imag] for p in lin.poles()],
        "operating_point": dict(lin.operating_point),
        "files": [output] if output is not None else [],
    }
    show.emit(json_wanted, data, lin.report() if output is None else f"{lin!r}\nwrote {output}")
    return 0
