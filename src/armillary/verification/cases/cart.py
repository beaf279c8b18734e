"""The four-wheeled cart, whose wheels roll without slip."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from armillary.algebra.calculus import NumericValue
from armillary.stages.model import Model
from armillary.verification.rows import (
    ACCELERATIONS,
    AS_GIVEN,
    TIGHT,
    TRAJECTORIES,
    Case,
    States,
    at_most,
    columns,
    counts,
    difference,
    equations,
    example,
    largest,
    largest_difference,
    reference,
    relative_difference,
    scaled_difference,
)

COORDINATES = ("B.q1", "B.q2", "B.q3", "FA.q1", "LFW.q1", "RFW.q1", "LRW.q1", "RRW.q1")
START = {"FA.q1": 0.25}
_HEADER = "Sayers (1990), Figure 9.2.9"


def lever() -> float:
    """The source's second speed, sideways at the mass centre of body and rear wheels, over the yaw rate."""
    body, ahead, wheel = (example("cart").PARAMETERS[name][0] for name in ("BM", "CMB1", "MW"))
    return float(body * ahead / (body + 2 * wheel))


def in_our_speeds(q: NumericValue, u: NumericValue) -> np.ndarray:
    """Coordinates and speeds of the source, the second speed as a yaw rate."""
    return np.array([*q, u[0], u[1] / lever()])


def _rates(model: Model) -> Iterator[float]:
    states = reference("cart")["states"]
    found = [model.derivatives(0.0, in_our_speeds(state["q"], state["u"])) for state in states]
    yield relative_difference(found, [in_our_speeds(state["qdot"], state["udot"]) for state in states])


_STATES = States(lambda: example("cart").system(), _rates, AS_GIVEN)


def measure() -> Iterator[float]:
    data = reference("cart")
    eom = equations("cart")
    model = eom.compile()
    yield from _STATES.measure(model)
    expected = columns(data["trajectory"])
    run = model.simulate(3.0, sample=expected["t"], initial=START, **TIGHT)
    yield largest(
        [scaled_difference(run[name], expected[f"q{i}"]) for i, name in enumerate(COORDINATES, start=1)]
    )
    speeds = (("B.u1", "u1"), ("yaw rate", "r"), ("steer rate", "deldot"))
    yield largest([scaled_difference(run[name], expected[column]) for name, column in speeds])
    steps = model.simulate(3.0, step=0.02, method="midpoint", initial=START)
    end = data["fixed_step_end"]
    reached = [steps.final[name] for name in (*COORDINATES, "B.u1", "B.u3")]
    yield largest_difference(reached, in_our_speeds(end[:-2], end[-2:]))
    yield largest_difference(run["energy"], run["work"])
    additions, multiplications, functions = counts(eom)
    yield additions
    yield multiplications + functions


CASES = (
    Case(
        "cart",
        "Four-wheeled cart",
        "Sayers (1990), section 9.2",
        (
            difference("accelerations and coordinate rates at 12 random states", ACCELERATIONS),
            difference("run from rest over 3 s: coordinates, of their size", TRAJECTORIES),
            difference("the same: speed, yaw and steer rate", TRAJECTORIES),
            difference("state after 150 midpoint steps of 0.02 s, the published method", 1e-11),
            difference("energy of 1447 J against the work of the push (J)", 1e-9, "work and energy"),
            at_most("additions", 48, _HEADER),
            at_most("multiplications, divisions and functions", 94, _HEADER, "its 4 functions not counted"),
        ),
        measure,
        "cart",
        (_STATES,),
    ),
)
