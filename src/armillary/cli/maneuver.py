"""`armillary maneuver`: a manoeuvre of a standard with a car of a text model."""

from __future__ import annotations

import math
import re
from pathlib import Path

import click

from armillary.cli import app, options
from armillary.errors import ArmillaryError

_FACTORS = {"": 1.0, "m/s": 1.0, "km/h": 1 / 3.6, "rad": 1.0, "deg": math.pi / 180}


@options.command(
    """
    armillary maneuver step-steer car.toml --speed "100 km/h" --steer "1 deg"
    armillary maneuver handling full_car --speed "100 km/h"
    armillary maneuver double-lane-change car.toml --speed "80 km/h" --report report.html
    """
)
@click.argument("name")
@click.argument("car")
@click.option("--speed", default="80 km/h", show_default=True, metavar="VALUE", help="Speed, m/s or km/h.")
@click.option("--steer", default="1 deg", show_default=True, metavar="VALUE", help="Of the front wheels.")
@click.option("--brake", default=0.3, show_default=True, help="Pedal of the brake, 0 to 1.")
@click.option(
    "--report", type=click.Path(dir_okay=False), help="Page with figures, plots and the moving car."
)
@click.option("-o", "--output", type=click.Path(dir_okay=False), help="The run: .nc, .csv, .parquet, …")
def maneuver(
    name: str, car: str, speed: str, steer: str, brake: float, report: str | None, output: str | None,
    json_wanted: bool,
) -> int:  # fmt: skip
    """Drive a car through a manoeuvre of a standard and print its figures.

    CAR is a text model, or a vehicle of this package by name: single_track_car, fourteen_freedom_car,
    full_car, pickup, formula_student_car, go_kart, tractor_and_trailer. NAME is one of step-steer,
    sine-steer, pulse-steer, random-steer, steady-circle, handling, sine-with-dwell, j-turn, fishhook,
    braking, split-braking, braking-in-a-turn, ride, double-lane-change, obstacle-avoidance. The exit code is
    1 where the verdict is that the car fails.
    """
    from armillary.vehicles import MANOEUVRES, VEHICLES, Car, run_manoeuvre, write_report

    if name not in MANOEUVRES:
        raise click.UsageError(f"there is no manoeuvre '{name}'; there are {', '.join(MANOEUVRES)}")
    if (report or output) and not MANOEUVRES[name].moves:
        raise click.UsageError(f"'{name}' has no run, so --report and --output do not apply")
    if car not in VEHICLES and not Path(car).is_file():
        raise click.UsageError(f"there is no file '{car}', and the vehicles are {', '.join(VEHICLES)}")
    found = run_manoeuvre(
        name, Car.load(car), speed=_number(speed, "--speed"), steer=_number(steer, "--steer"), brake=brake
    )
    passed = getattr(found, "passed", None)
    if json_wanted:
        print(
            app.as_json({"ok": passed is not False, "manoeuvre": name, "table": found.table().splitlines()})
        )
    else:
        click.echo(found.table())
    run = getattr(found, "run", None)
    if report:
        write_report(name, found, report)  # type: ignore[arg-type]  # those that move have a run
    if output and run is not None:
        run.save(output)
    return 1 if passed is False else 0


def _number(text: str, option: str) -> float:
    match = re.fullmatch(r"\s*([-+0-9.eE]+)\s*(\S*)\s*", text)
    try:
        return float(match[1]) * _FACTORS[match[2]] if match else float(text)
    except (KeyError, ValueError):
        raise ArmillaryError(f"{option}: '{text}' is not a number with m/s, km/h, rad or deg") from None
