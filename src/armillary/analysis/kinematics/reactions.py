"""Reactions along a static sweep: forces and moments of joints, and forces of constraints, at its positions.

The efforts that hold the positions act along the speeds of what is driven and held; reactions follow by
inverse dynamics at rest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from armillary.analysis.inverse.inverse import inverse
from armillary.analysis.kinematics.mechanism.kinematics import slopes
from armillary.errors import ArmillaryError

if TYPE_CHECKING:
    from armillary.analysis.kinematics.mechanism.mechanism import Mechanism
    from armillary.results import Run
    from armillary.runtime.models.compiled import CompiledModel


def reactions_at_rest(
    model: CompiledModel,
    mechanism: Mechanism,
    q: np.ndarray,
    times: np.ndarray,
    names: Sequence[str],
    parameters: Mapping[str, object] | None,
) -> Run:
    """Reactions of bodies and constraints as columns, with a row for each row of coordinates ``q``."""
    acting = _speeds(mechanism)
    found = inverse(model, q, parameters=parameters, t=times, actuators=acting, reactions=names)
    return found.as_run()


def _speeds(mechanism: Mechanism) -> list[str]:
    """The speed along which each driven quantity is held."""
    k, found = mechanism.kinematics, []
    for quantity in mechanism.driven:
        along = list(slopes(k.rate([quantity.value])[0], k.u))
        if len(along) != 1:
            moved = ", ".join(k.speeds[j].data.name for j in along)
            raise ArmillaryError(
                f"reactions along a sweep depend on where the effort of '{quantity.name}' acts, which moves "
                f"with {moved}; drive a coordinate of one joint"
            )
        found.append(k.speeds[along[0]].data.name)
    return found
