"""The balance of energy: work of all loads but gravity, by kind, against kinetic and potential energy."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

import armillary as arm
from armillary.vehicles.tyres.tyre import Scalar

ENERGY = "energy of motion and height"


def add_energy_balance(system: arm.System, powers: Mapping[str, Scalar]) -> None:
    """Add the work of each kind of load as a state "work_KIND", and the mechanical energy as an output.

    powers  of loads on the bodies, W; together they must be all loads but gravity
    """
    for kind, power in powers.items():
        label = f"work_{kind.replace(' ', '_')}"
        system.state(label, units="J", about=f"of {kind} on the vehicle")
        system.rate(label, power)
    system.output(ENERGY, system.kinetic_energy() + system.potential_energy(), units="J")


def energy_error(run: arm.Run, powers: Mapping[str, Scalar]) -> float:
    """Return the largest error of the balance over a run, as a part of the energy that was exchanged.

    |E − E(0) − Σ W| / Σ max |W|
    """
    energy = np.asarray(run[ENERGY])
    works = [np.asarray(run[f"work_{kind.replace(' ', '_')}"]) for kind in powers]
    error = energy - energy[0] - sum(work - work[0] for work in works)
    exchanged = sum(float(np.max(np.abs(work - work[0]))) for work in works)
    return float(np.max(np.abs(error)) / exchanged)
