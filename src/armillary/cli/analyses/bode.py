"""`armillary bode`: the frequency response of a model at an operating point."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
import numpy as np

from armillary.cli import options, show
from armillary.cli.analyses.linear_options import linear_model_options
from armillary.columns import aligned

if TYPE_CHECKING:
    from armillary.analysis.linear.linear_model import LinearModel

_ROWS = 13  # of the table in the terminal


@options.command(
    """
    armillary bode car --inputs STEER --outputs r -o yaw.png
    armillary bode car --inputs STEER --outputs r --from 0.1 --to 100 --set SPEED="60 mile/hour"
    armillary bode car --inputs STEER --outputs r --nyquist -o yaw.svg
    """
)
@linear_model_options
@click.option("--from", "low", type=float, help="The lowest frequency, rad/s, or Hz with --hz.")
@click.option("--to", "high", type=float, help="The highest frequency, rad/s, or Hz with --hz.")
@click.option("--hz", is_flag=True, help="Frequencies in Hz: in the table, the picture, --from, --to.")
@click.option("--decibels", is_flag=True, help="Magnitudes in dB, in the table and the picture.")
@click.option("--nyquist", is_flag=True, help="The curve in the complex plane instead.")
@click.option("-o", "--output", type=click.Path(), help="Picture: .png, .svg or .pdf.")
def bode(
    lin: LinearModel,
    low: float | None,
    high: float | None,
    hz: bool,
    decibels: bool,
    nyquist: bool,
    output: str | None,
    json_wanted: bool,
) -> int:
    """Frequency response of a model at an operating point, as a table or picture.

    Magnitudes are per unit of the input, phases in degrees. Frequencies cover the poles unless --from and
    --to name others.
    """
    covered = lin.frequency_response().omega
    unit = 2 * np.pi if hz else 1.0
    first, last = (covered[i] / unit if given is None else given for i, given in ((0, low), (-1, high)))
    if not 0 < first < last:
        raise click.UsageError(
            f"frequencies go from a positive one to a higher one, not from {first:g} to {last:g}"
        )
    response = lin.frequency_response(unit * np.geomspace(first, last, len(covered)))
    if output is not None and nyquist:
        response.nyquist(output)
    elif output is not None:
        response.bode(output, hz=hz, decibels=decibels)
    data = {
        "command": "bode",
        "system": lin.system,
        "inputs": list(lin.inputs),
        "outputs": list(lin.outputs),
        "units": lin.units,
        "omega": response.omega.tolist(),
        "magnitude": response.magnitude.tolist(),
        "phase": response.phase.tolist(),
        "files": [output] if output is not None else [],
    }
    few = lin.frequency_response(unit * np.geomspace(first, last, _ROWS))
    sizes, mark = (few.decibels, " dB") if decibels else (few.magnitude, "")
    rows = [["Hz" if hz else "rad/s", *(f"{o} by {i}" for o in lin.outputs for i in lin.inputs)]]
    for k, w in enumerate(few.omega):
        pairs = zip(sizes[k].ravel(), few.phase[k].ravel(), strict=True)
        rows.append([f"{w / unit:.4g}", *(f"{size:.4g}{mark} ∠ {angle:.1f}°" for size, angle in pairs)])
    lines = [repr(response), *aligned(rows, ">" * len(rows[0]))]
    show.emit(json_wanted, data, "\n".join(lines) if output is None else f"{response!r}\nwrote {output}")
    return 0
