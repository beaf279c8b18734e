"""Where all speeds of a system are in the outputs of its model, and which of them have units in common."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from armillary.model.units import state_factor
from armillary.program.equations import DerivedEquations


@dataclass(frozen=True)
class SpeedPlaces:
    """All speeds of a system, in its order."""

    columns: np.ndarray  # among the outputs
    factors: np.ndarray  # from stated units to those of the model
    kinds: tuple[np.ndarray, ...]  # columns of the speeds that have dimension and units in common

    @property
    def table(self) -> np.ndarray:
        """The number of kinds, and for each the number of its columns and these."""
        return np.array([len(self.kinds), *(x for own in self.kinds for x in (len(own), *own))], dtype=float)


def speed_places(equations: DerivedEquations, outputs: Sequence[str]) -> SpeedPlaces:
    """The places of a system's speeds among these outputs."""
    speeds = equations.system.speeds
    column = {name: i for i, name in enumerate(outputs)}
    kinds: dict[tuple[object, float], list[int]] = {}
    for u in speeds:
        kinds.setdefault((u.dimension, state_factor(u)), []).append(column[u.data.name])
    return SpeedPlaces(
        columns=np.array([column[u.data.name] for u in speeds], dtype=int),
        factors=np.array([state_factor(u) for u in speeds], dtype=float),
        kinds=tuple(np.array(own, dtype=int) for own in kinds.values()),
    )
