"""A mode as a run of the coordinates, to be animated."""

from __future__ import annotations

import numpy as np

from armillary.analysis.modes.shapes.bodies import LinearPlace
from armillary.model.units import state_factor
from armillary.results import Run
from armillary.results.plots.motion import MotionPicture

_AMPLITUDE = 0.15  # of the leading coordinate, in rad or the model's unit of length
_CONSTANTS = 3.0  # time constants for which a mode without oscillation is shown


def mode_motion(
    system: str, label: str, place: LinearPlace, eigenvalue: complex, displacements: np.ndarray,
    leading: float, amplitude: float | None, periods: float, samples: int,
) -> Run:  # fmt: skip
    """A run about the operating point; ``displacements`` are those of all coordinates in their stated units,
    for a leading coordinate of ``leading`` in the model's units.
    """
    equations = place.linearization.equations
    coordinates = equations.targets.coordinates
    factors = np.array([state_factor(q) for q in coordinates])
    base = place.state[: len(coordinates)] / factors
    size = _AMPLITUDE / leading if amplitude is None else amplitude
    if eigenvalue.imag:
        time = np.linspace(0.0, periods * 2 * np.pi / eigenvalue.imag, samples)
        course = np.exp(1j * eigenvalue.imag * time)
    elif eigenvalue.real:
        time = np.linspace(0.0, _CONSTANTS / abs(eigenvalue.real), samples)
        course = np.exp(eigenvalue.real * time - max(eigenvalue.real * time[-1], 0.0))
    else:
        time = np.linspace(0.0, periods, samples)
        course = np.sin(2 * np.pi * time)
    values = base + size * (course[:, None] * displacements).real
    for start in equations.targets.quaternions:
        four = values[:, start : start + 4]
        values[:, start : start + 4] = four / np.linalg.norm(four, axis=1, keepdims=True)
    return Run(
        system,
        time,
        values,
        tuple(q.data.name for q in coordinates),
        units={q.data.name: q.data.units or "" for q in coordinates},
        descriptions={q.data.name: q.data.about for q in coordinates},
        parameters={name: float(value) for name, value in place.parameters.items()},
        info={"mode": label},
        picture=equations if isinstance(equations, MotionPicture) else None,
    )
