"""The sense in which bodies run round their orbits in a mode: with the spin of a part, or against it.

A body at Re(d e^{iωt}) sweeps the area ½ Im(d × d*) per radian of ωt; along the axis of the spin it is
positive for forward whirl.
"""

from __future__ import annotations

import numpy as np

from armillary.analysis.modes.shapes.bodies import body_functions
from armillary.analysis.modes.sweeps.operating_sweep import OperatingSweep
from armillary.analysis.modes.sweeps.tracking import Spectra, Tracker

_PLANE = 1e-6  # area beside the square of the amplitude, below which a motion has no sense


def whirl_directions(sweep: OperatingSweep, tracker: Tracker, found: Spectra) -> np.ndarray:
    """(points, branches): 1 for whirl with the spin, −1 against it, 0 for neither.

    The axis is that about which the fastest body turns where the spin is largest.
    """
    points = sweep.points(found.values)
    place = (points.t, points.states, points.parameters, points.memory)
    factors = np.array([v.factor for v in sweep.states])[tracker.others]
    x = tracker.vectors_of_states(found) * factors[:, None]
    y = sweep.compiled.basis(*place)[:, :, tracker.others] @ x
    motions = body_functions(sweep.compiled).motions(*place, np.swapaxes(y, 1, 2))
    spins = motions.spins
    turning = np.linalg.norm(spins, axis=2)
    if not turning.any():
        return np.zeros(found.eigenvalues.shape, dtype=int)
    k, b = np.unravel_index(int(np.argmax(turning)), turning.shape)
    axis = spins[k, b] / turning[k, b]
    sense = np.where(np.max(spins @ axis, axis=1) >= -np.min(spins @ axis, axis=1), 1.0, -1.0)[:, None]
    areas, sizes = np.zeros(found.eigenvalues.shape), np.zeros(found.eigenvalues.shape)
    for d in (motions.translations, motions.rotations):
        areas += np.einsum("c,pmbc->pm", axis, np.imag(np.cross(d, d.conj())))
        sizes += np.sum(np.abs(d) ** 2, axis=(2, 3))
    return np.where(np.abs(areas) > _PLANE * sizes, np.sign(sense * areas), 0).astype(int)
