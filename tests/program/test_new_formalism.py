"""A formalism with states of its own: it needs a class of equations and an entry of the registry."""

from dataclasses import dataclass
from unittest.mock import patch

import numpy as np

import armillary as arm
from armillary.program.formalisms.derivation import Derivation
from armillary.program.formalisms.momentum import DerivedMomentumEquations, derive_momentum
from armillary.program.formalisms.registry import FORMALISMS, Formalism
from armillary.stages.equations import Equations


@dataclass(frozen=True, eq=False, repr=False)
class DerivedImpulseEquations(DerivedMomentumEquations):
    """Equations of motion in coordinates and momenta, under another name."""


def derive_impulses(d: Derivation) -> DerivedImpulseEquations:
    """The equations of "momentum", as a class that the stages do not list."""
    return DerivedImpulseEquations(**vars(derive_momentum(d)))


def test_equations_of_a_new_class_have_the_verbs_and_the_model_of_the_nearest_one() -> None:
    s = arm.System("pendulum")
    s.gravity(9.81, -s.ground.y)
    s.body("A", joint=arm.Revolute("z"), com=(0, -1, 0), mass=2.0, inertia=0)
    with patch.dict(FORMALISMS, {"impulse": Formalism("impulse", derive_impulses)}):
        eom = s.derive("impulse")
    assert isinstance(eom, Equations) and isinstance(eom, DerivedImpulseEquations)
    assert type(eom).__name__ == "ImpulseEquations" and type(s.derive("momentum")) is not type(eom)
    assert type(eom.compile()).__name__ == "MomentumModel"
    # p = m l² u and ṗ = -m g l sin q
    assert np.allclose(eom.compile().derivatives(0.0, [0.3, 4.0]), [2.0, -2.0 * 9.81 * np.sin(0.3)])
