"""``arm.run``, which costs nothing until it is called."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from armillary.results.run import Run


def run(
    path: str | os.PathLike[str],
    settings: Mapping[str, Any] | None = None,
    *,
    save: bool = False,
    progress: bool | Callable[[float], None] = True,
) -> Run:
    """The run that a run file describes, with other ``settings`` where given.

        arm.run("step.toml", {"SPEED": "60 mile/hour", "initial.RB.q1": "2 deg", "run.step": 1e-3})

    ``save`` writes the results and the echo file, as the command ``armillary run`` does.
    """
    from armillary.simulation.execute import Simulation
    from armillary.simulation.run_file import RunFile

    file = RunFile.read(path)
    simulation = Simulation(file.setting(settings, "settings") if settings else file)
    if save:
        simulation.check_places()
    made = simulation.run(progress=progress)
    if save:
        simulation.save(made)
    return made
