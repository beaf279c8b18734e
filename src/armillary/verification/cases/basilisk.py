"""Basilisk's hub with hinged panels: its own trajectories with the same steps, and random states."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from armillary.algebra.calculus import NumericValue
from armillary.stages import System
from armillary.stages.model import Model
from armillary.untyped import DataTable
from armillary.verification.rows import (
    ACCELERATIONS,
    TIGHT,
    TRAJECTORIES,
    TREES,
    Case,
    States,
    difference,
    example,
    largest,
    largest_difference,
    reference,
    relative_difference,
    value,
)

_OWN = {
    "position of the hub (m)": ("r_BN_N", [f"hub.q{i}" for i in (1, 2, 3)]),
    "velocity (m/s)": ("v_BN_N", [f"hub.u{i}" for i in (1, 2, 3)]),
    "angular velocity (rad/s)": ("omega_BN_B", [f"hub.u{i}" for i in (4, 5, 6)]),
    "attitude, Rodrigues parameters": ("sigma_BN", [f"hub mrp {i}" for i in (1, 2, 3)]),
    "panel angles (rad)": ("theta", [f"panel{i}.q1" for i in range(1, 8)]),
    "their rates (rad/s)": ("theta_dot", [f"panel{i}.u1" for i in range(1, 8)]),
}
# Same method, same steps: rounding alone may differ. Ten units in the last place of positions of 1e7 m and of
# velocities of 1e4 m/s; for the rest the roundings of ten thousand steps, added at random.
_TOLERANCES = dict(zip(_OWN, (2e-8, 2e-11, 1e-14, 2e-14, 1e-14, 1e-14), strict=True))


def measure_orbit() -> Iterator[float]:
    record = reference("basilisk")["trajectories"]["gravity 10 s"]
    model = example("basilisk_panels").system("mass centre").derive().compile()
    run = model.simulate(10.0, step=record["step"], sample=np.array(record["t"]))
    for key, names in _OWN.values():
        yield largest_difference(np.column_stack([run[name] for name in names]), record[key])
    for word in ("rot", "orb"):
        column = {"rot": "rotational energy", "orb": "orbital energy"}[word]
        yield largest_difference(run[column] / record["first"][f"tot_{word}_energy"], 1.0)


def _euler_parameters(sigma: NumericValue) -> np.ndarray:
    """From modified Rodrigues parameters σ = tan(φ/4) e."""
    square = float(np.dot(sigma, sigma))
    return np.array([1 - square, *(2 * np.asarray(sigma))]) / (1 + square)


def with_gravity(s: System) -> System:
    """The vehicle in uniform gravity, whose components are parameters."""
    for letter, axis in zip("xyz", (s.ground.x, s.ground.y, s.ground.z), strict=True):
        s.parameter(f"g{letter}", 0.0, units="m/s2")
        s.gravity(f"g{letter}", axis)
    return s


def panel_state(state: DataTable) -> tuple[list[float], list[float], dict[str, float]]:
    """Coordinates, speeds and parameters of a state of the data."""
    parameters = {f"g{letter}": g for letter, g in zip("xyz", state["g_N"], strict=True)}
    parameters |= {f"rest{i}": angle for i, angle in enumerate(state["theta_0"], start=1)}
    return (
        [0.0, 0.0, 0.0, *_euler_parameters(state["sigma_BN"]), *state["theta"]],
        [0.0, 0.0, 0.0, *state["omega_BN_B"], *state["theta_dot"]],
        parameters | {"k": state["k"], "c": state["c"]},
    )


def panel_accelerations(model: Model) -> Iterator[float]:
    """At large angles, with bent springs, dampers and uniform gravity in any direction."""
    found, expected = [], []
    for state in reference("hub_and_panels")["states"]:
        found.append(model.accelerations(0.0, *panel_state(state)))
        expected.append([*state["rddot_BN_N"], *state["omega_dot_BN_B"], *state["theta_ddot"]])
    yield relative_difference(found, expected)


_STATES = States(
    lambda: with_gravity(example("hub_and_panels").system()),
    panel_accelerations,
    (*TREES, ("back_substitution", True), ("back_substitution", False)),
)


def measure_panels() -> Iterator[float]:
    data, vehicle = reference("hub_and_panels"), example("hub_and_panels")
    model: Model = _STATES.system().derive().compile()
    yield from _STATES.measure(model)
    record = {key: np.array(column) for key, column in data["trajectory"].items()}
    start = {f"hub.q{i + 1}": x for i, x in enumerate(record["r_BN_N"][0])}
    start |= {f"hub.u{i + 1}": x for i, x in enumerate(record["v_BN_N"][0])}
    run = model.simulate(10.0, sample=record["time"], initial=vehicle.START | start, **TIGHT)
    yield largest([largest_difference(run[f"panel{i + 1}.q1"], record["theta"][:, i]) for i in range(7)])
    yield largest([largest_difference(run[f"panel{i + 1}.u1"], record["theta_dot"][:, i]) for i in range(7)])
    hub = {"r_BN_N": "hub.q{}", "v_BN_N": "hub.u{}"}
    motion = [(run[name.format(i + 1)], record[key][:, i]) for key, name in hub.items() for i in range(3)]
    motion += [(run[f"hub.u{i + 4}"], record["omega_BN_B"][:, i]) for i in range(3)]
    # σ = e/(1 + e0), half an angle short of the shadow set in these 10 s
    motion += [(run[f"hub.q{i + 5}"] / (1 + run["hub.q4"]), record["sigma_BN"][:, i]) for i in range(3)]
    yield largest([largest_difference(found, expected) for found, expected in motion])
    # The mass centre moves at (-0.2, 0.5, 0.1) m/s; the energy about it is Basilisk's own number.
    yield run["energy"][0] - 0.5 * 1100.0 * 0.30


CASES = (
    Case(
        "hub_and_panels",
        "Hub with hinged panels",
        "Allard (2018), N hinged rigid body dynamics model",
        (
            difference("accelerations at 6 states of large angles", ACCELERATIONS),
            difference("run of 10 s in free space: panel angles (rad)", TRAJECTORIES),
            difference("the same: their rates (rad/s)", TRAJECTORIES),
            difference("the same: place, velocity, spin and attitude of the hub", TRAJECTORIES),
            value(
                "energy about the mass centre at the start (J)", 58.89990833621612, 1e-10, "Basilisk 2.12.1"
            ),
        ),
        measure_panels,
        "hub-and-panels",
        (_STATES,),
    ),
    Case(
        "basilisk",
        "Basilisk's panels on an orbit",
        "Basilisk 2.12.1, RK4 at 1 ms for 10 s",
        (
            *(difference(f"with gravity: {name}", _TOLERANCES[name]) for name in _OWN),
            difference("drift of the rotational energy", 1e-10, "1e-10 in Basilisk's own test"),
            difference("drift of the orbital energy", 1e-10, "1e-10 in Basilisk's own test"),
        ),
        measure_orbit,
        "basilisk",
    ),
)
