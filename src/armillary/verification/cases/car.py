"""The car of two bodies, full and with small variables."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from armillary.results.run import Run
from armillary.stages import System
from armillary.stages.model import Model
from armillary.untyped import DataTable
from armillary.verification.rows import (
    ACCELERATIONS,
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
    reference,
    relative_difference,
    scaled_difference,
)

# The forward speed is prescribed, so the remaining speeds are those of the source in its order.
STATE = {
    "q1": "NRB.q1", "q2": "NRB.q2", "q3": "NRB.q3", "q4": "RB.q1",
    "u1": "NRB.u2", "u2": "NRB.u3", "u3": "RB.u1",
}  # fmt: skip
OUTPUTS = ("Ay", "r", "alpha_f", "alpha_r", "FY1", "FY2", "MZ1", "MZ2", "ROLLM")
SMALL = ("RB.q1", "RB.u1", "NRB.u2", "NRB.u3")
_TABLE = "Sayers (1990), Table 9.1.2"


def small_car() -> System:
    """Roll, side speed and yaw rate are small; yaw and the place on the road are not."""
    s: System = example("car").system()
    s.small(*SMALL)
    return s


def _rates(name: str) -> Callable[[Model], Iterator[float]]:
    def measure(model: Model) -> Iterator[float]:
        states = reference(name)["states"]
        found = [model.derivatives(0.0, [*state["q"], *state["u"]]) for state in states]
        yield relative_difference(found, [[*state["qdot"], *state["udot"]] for state in states])

    return measure


_STATES = States(lambda: example("car").system(), _rates("car"))
_SMALL_STATES = States(small_car, _rates("car_small"))


def _fixed_steps(model: Model, data: DataTable) -> float:
    run = model.simulate(2.0, step=0.025, method="midpoint")
    return relative_difference([run.final[name] for name in STATE.values()], data["fixed_step_end"])


def _differences(run: Run, expected: dict[str, np.ndarray], outputs: tuple[str, ...]) -> Iterator[float]:
    yield largest([scaled_difference(run[name], expected[column]) for column, name in STATE.items()])
    yield largest([scaled_difference(run[name], expected[name]) for name in outputs])


def measure() -> Iterator[float]:
    data = reference("car")
    eom = equations("car")
    model = eom.compile()
    yield from _STATES.measure(model)
    for key, inertia in (("trajectory", 1.0), ("trajectory_with_yaw_inertia", 1285.0)):
        expected = columns(data[key])
        run = model.simulate(2.0, sample=expected["t"], parameters={"NRBI33": inertia}, **TIGHT)
        yield from _differences(run, expected, OUTPUTS)
    yield _fixed_steps(model, data)
    additions, multiplications, functions = counts(eom)
    yield additions
    yield multiplications + functions


def measure_small() -> Iterator[float]:
    data = reference("car_small")
    s = small_car()
    eom = s.derive()
    model: Model = eom.compile()
    yield from _SMALL_STATES.measure(model)
    full = s.derive(small=False).compile()
    found = [full.derivatives(0.0, [*state["q"], *state["u"]])[4:] for state in data["states"]]
    yield relative_difference(found, [state["udot_full_model"] for state in data["states"]])
    expected = columns(data["trajectory"])
    run = model.simulate(2.0, sample=expected["t"], **TIGHT)
    yield from _differences(run, expected, OUTPUTS[1:])
    yield scaled_difference(run["Ay"], expected["Ay"])
    yield _fixed_steps(model, data)
    additions, multiplications, functions = counts(eom)
    yield additions
    yield multiplications + functions
    # Before the last pass, which writes linear results out, forces are values of their own.
    passes = [gain for way in ("kane", "recursive") for gain in s.derive(way).gains]
    named = [gain.before for gain in passes if gain.name == "expand"]
    yield largest([made.additions for made in named])
    yield largest([made.multiplications + made.divisions + made.functions for made in named])


CASES = (
    Case(
        "car",
        "Car",
        "Sayers (1990), section 9.1",
        (
            difference("accelerations and coordinate rates at 12 random states", ACCELERATIONS),
            difference("steer step over 2 s, published parameters: states, of their size", TRAJECTORIES),
            difference("the same: nine outputs", TRAJECTORIES),
            difference("steer step with the yaw inertia that was meant: states", TRAJECTORIES),
            difference("the same: nine outputs", TRAJECTORIES),
            difference("state after 80 midpoint steps of 0.025 s, the published method", 1e-11),
            at_most("additions", 67, _TABLE, "AUTOSIM; its listing has 69"),
            at_most("multiplications, divisions and functions", 108, _TABLE),
        ),
        measure,
        "car",
        (_STATES,),
    ),
    Case(
        "car_small",
        "Car with small variables",
        "Sayers (1990), section 9.1 and Appendix B",
        (
            difference("accelerations and coordinate rates at 12 random states", ACCELERATIONS),
            difference("accelerations of the full model, from the same description", ACCELERATIONS),
            difference("steer step over 2 s: states, of their size", TRAJECTORIES),
            difference("the same: eight outputs", TRAJECTORIES),
            difference(
                "the same: lateral acceleration, of its size", 2e-5,
                remark="the source keeps some terms of second order in roll (0.053 rad), ours none",
            ),
            difference("state after 80 midpoint steps of 0.025 s, the published method", 1e-11),
            at_most("additions", 15, _TABLE, "AUTOSIM without names for forces"),
            at_most("multiplications, divisions and functions", 19, _TABLE),
            at_most("with names for forces, Kane and recursive: additions", 24, _TABLE),
            at_most("the same: multiplications, divisions and functions", 36, _TABLE),
        ),
        measure_small,
        "car",
        (_SMALL_STATES,),
    ),
)  # fmt: skip
