"""Models whose rates are smooth functions of states and inputs, as optimisers and regulators need them."""

from __future__ import annotations

from armillary.errors import ArmillaryError
from armillary.program.equations import DerivedEquations
from armillary.program.targets.targets import INTERNAL_EVENTS


def check_smooth(equations: DerivedEquations) -> None:
    """Raise an error if the motion jumps or the states differ from the described coordinates and speeds."""
    equations.check_use("linear model")
    system = equations.system
    if not equations.described_states:
        raise ArmillaryError(
            f"'{system.name}' was derived with states of its own ({equations.formalism}); control needs "
            "coordinates and speeds as they were described: s.derive('kane') or s.derive('recursive')"
        )
    if system.contacts:
        raise ArmillaryError(
            f"'{system.name}' has contacts that come and go (such as '{next(iter(system.contacts))}'), so "
            "its motion jumps; control needs rates that are smooth: describe contact by a spring and damper"
        )
    acting = [e.name for e in equations.targets.watched if e.name not in INTERNAL_EVENTS]
    if acting:
        raise ArmillaryError(
            f"event '{acting[0]}' of '{system.name}' may change the motion while it is being steered; take "
            "it out of the description, or state its condition as a constraint"
        )
    renewed = [name for name, m in system.memories.items() if m.update is not None]
    if renewed:
        raise ArmillaryError(
            f"memory '{renewed[0]}' of '{system.name}' changes from step to step; control needs rates that "
            "are smooth: make it a state, s.state(…)"
        )
