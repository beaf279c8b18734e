"""`armillary view`: how a system moves, as one HTML page, a film or a picture."""

from __future__ import annotations

import click

from armillary.cli import options, show
from armillary.untyped import DataTable

_SECONDS, _RATE = 5.0, 60.0  # of a run that the command makes itself: duration, pictures per second


@options.command(
    """
    armillary view car.toml step.nc -o step.html
    armillary view step.toml
    armillary view stewart_platform --duration 5 --view front -o platform.gif
    """
)
@options.model_argument
@click.argument("saved", metavar="[RUN]", required=False, type=click.Path())
@click.option("--duration", metavar="TIME", help="Without a saved run: how long to simulate.")
@click.option("--title", default="", help="Title of the page; the name of the system if left out.")
@click.option("--view", "side", default="oblique", help="From where: oblique, front, side, top, x, y or z.")
@click.option("--follow", metavar="BODY", help="A body that stays in the picture.")
@click.option("--path", "paths", metavar="POINT", multiple=True, help="A body or point whose path is drawn.")
@click.option("--theme", help="light or dark; a page without it takes that of the browser.")
@click.option(
    "--arrow", "arrows", metavar="KIND", multiple=True, help="Arrows: forces, moments, velocities or weights."
)
@click.option("--reaction", "reactions", metavar="BODY", multiple=True, help="Arrows at the joint of a body.")
@click.option("--size", type=int, nargs=2, metavar="WIDTH HEIGHT", help="Pixels of a film or picture.")
@click.option("--speed", type=float, help="Seconds of the motion in a second of a film or page.")
@click.option("--time", type=float, metavar="SECONDS", help="The time of a single picture.")
@options.settings_option
@options.formalism_option
@click.option(
    "-o",
    "--output",
    type=click.Path(),
    help="File: .html, .glb, or .gif, .webp, .mp4, .png; else a browser is opened.",
)
def view(
    source: str,
    saved: str | None,
    loading: DataTable,
    duration: str | None,
    title: str,
    side: str,
    follow: str | None,
    paths: tuple[str, ...],
    theme: str | None,
    arrows: tuple[str, ...],
    reactions: tuple[str, ...],
    size: tuple[int, int] | None,
    speed: float | None,
    time: float | None,
    assignments: tuple[str, ...],
    formalism: str | None,
    output: str | None,
    json_wanted: bool,
) -> int:
    """Show how a system moves: bodies, plots and a time line in one page that needs no network.

    RUN is a saved run of the model. Without one, the run of the run file is made, or one of a model from its
    initial values. Bodies are drawn from their joints, points, masses and inertias.
    """
    from armillary.errors import ArmillaryError
    from armillary.results import load_run
    from armillary.settings import RunSettings

    if saved is not None and duration is not None:
        raise ArmillaryError("--duration is for a new run; leave it out beside a saved run")
    simulation = options.simulation(
        source, loading, {"run.duration": duration, "run.formalism": formalism}, assignments
    )
    if saved is not None:
        run = load_run(saved)
    elif "duration" in simulation.values.settings:
        run = simulation.run()
    else:
        short = RunSettings(_SECONDS, sample=1 / _RATE)
        run = simulation.model.run_with(short, **simulation.given(), progress=True, on_start=None)
    seen: DataTable = {"view": side, "follow": follow, "paths": paths, "theme": theme, "title": title}
    seen |= {"arrows": arrows, "reactions": reactions, "speed": speed}
    film: DataTable = {"size": size, "time": time}
    if output is None:
        place = run.view(model=simulation.model, **seen).path
    else:
        given: DataTable = {name: value for name, value in film.items() if value is not None}
        place = run.animate(output, model=simulation.model, **seen, **given)
    data = {"command": "view", "system": run.system, "rows": len(run), "file": str(place)}
    show.emit(json_wanted, data, f"wrote {place}")
    return 0
