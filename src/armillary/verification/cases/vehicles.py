"""Vehicles: bicycle, car, cart, disc and steered car.

- The Whipple bicycle: matrices, eigenvalues and speeds of the benchmark, and a state far from upright.
- The car of two bodies, full and with small variables.
- The four-wheeled cart, whose wheels roll without slip.
- Rolling without slip, in circles of known radius: a leaning disc, and a car steered by Ackermann's law.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from armillary.algebra.calculus import NumericValue
from armillary.results.run import Run
from armillary.stages import System
from armillary.stages.model import Model
from armillary.untyped import DataTable
from armillary.verification.rows import (
    ACCELERATIONS,
    AS_GIVEN,
    TIGHT,
    TRAJECTORIES,
    States,
    at_most,
    columns,
    counts,
    difference,
    equations,
    example,
    largest,
    largest_difference,
    published_case,
    reference,
    relative_difference,
    scaled_difference,
    value,
)

_MEIJAARD = "Meijaard, Papadopoulos, Ruina & Schwab (2007)"
_BASU = "Basu-Mandal, Chatterjee & Papadopoulos (2007), table 1"
_M = [[80.81722, 2.31941332208709], [2.31941332208709, 0.29784188199686]]
_C1 = [[0.0, 33.86641391492494], [-0.85035641456978, 1.68540397397560]]
_K0 = [[-80.95, -2.59951685249872], [-2.59951685249872, -0.80329488458618]]
_K2 = [[0.0, 76.59734589573222], [0.0, 2.65431523794604]]

# Table 2, to twelve decimals: weave (one of two conjugate), capsize and castering by forward speed.
_EIGENVALUES = {
    1.0: (3.526961709901 + 0.807740275199j, -3.134231250666, -7.110080146374),
    2.0: (2.682345175127 + 1.680662965907j, -3.071586456415, -8.673879848317),
    3.0: (1.706756056640 + 2.315824473843j, -2.633661372537, -10.351014672459),
    4.0: (0.413253315211 + 3.079108186032j, -1.429444273613, -12.158614265764),
}
_AT_5 = (-0.775341882196 + 4.464867713788j, -0.322866429004, -14.078389692798)

# Basu-Mandal's state, with the signs of the axes of the example.
TURNING = {
    "lean.q1": math.pi / 2 - 0.9501292851472, "fork.q1": -0.2311385135743,
    "heading.u1": 0.3 * (8.9129896614890 - 0.0119185528069), "lean.u1": -0.6068425835418,
    "fork.u1": -0.4859824687093,
}  # fmt: skip


# Rates of yaw, pitch and the front wheel in that state.
TURNING_RATES = {"heading.q3": -0.7830033527065, "frame.q1": 0.0119185528069, "front.q1": -8.0133620584155}
LEAN_ACCELERATION, STEER_ACCELERATION = 7.8555281128244, 4.6198904039403


_MOVING = ("lean.q1", "fork.q1", "lean.u1", "fork.u1")
_TORQUES = ("lean_torque", "steer_torque")


class _Bicycle:
    """The linear model of lean and steer in upright steady motion, with torques on both."""

    def __init__(self) -> None:
        s = example("bicycle").system()
        for name in _TORQUES:
            s.input(name, units="N*m")
        s.moment("leaning", "lean_torque", s.bodies["lean"].x, on="rider")
        s.moment("steering", "steer_torque", s.bodies["fork"].z, on="handlebar", reaction="rider")
        self.model = s.derive().compile()

    def slopes(self, speed: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return derivatives of lean and steer accelerations by the angles, their rates, and the torques."""
        linear = self.model.linearize(at={"heading.u1": float(speed)}, inputs=_TORQUES)
        places = [linear.states.index(name) for name in _MOVING]
        rows = linear.A[np.ix_(places[2:], places)]
        return rows[:, :2], rows[:, 2:], linear.B[places[2:]]

    def eigenvalues(self, speed: float) -> np.ndarray:
        return _eigenvalues(*self.slopes(speed)[:2])


def _eigenvalues(by_angles: np.ndarray, by_rates: np.ndarray) -> np.ndarray:
    return np.linalg.eigvals(np.block([[np.zeros((2, 2)), np.eye(2)], [by_angles, by_rates]]))


def _four(weave: complex, capsize: float, castering: float) -> list[complex]:
    return [weave, weave.conjugate(), capsize, castering]


def _of_matrices(speed: float) -> np.ndarray:
    """Return the eigenvalues of the published matrices at a forward speed; at rest they come in pairs ±."""
    stiffness, damping = 9.81 * np.array(_K0) + speed**2 * np.array(_K2), speed * np.array(_C1)
    return _eigenvalues(-np.linalg.solve(_M, stiffness), -np.linalg.solve(_M, damping))


def _distance(found: NumericValue, expected: NumericValue) -> float:
    """Return the largest distance between two sets of eigenvalues, each sorted."""
    ours, theirs = (
        np.array(sorted(values, key=lambda z: (round(z.real, 6), z.imag))) for values in (found, expected)
    )
    return largest(np.abs(ours - theirs))


@published_case(
    "bicycle",
    "Whipple bicycle",
    _MEIJAARD,
    *(difference(f"matrix {name}", 1e-12) for name in ("M", "C1", "K0", "K2")),
    value("weave at 5 m/s: real part (1/s)", _AT_5[0].real, 1e-12, f"{_MEIJAARD}, table 2"),
    value("the same: imaginary part (1/s)", _AT_5[0].imag, 1e-12, f"{_MEIJAARD}, table 2"),
    value("capsize at 5 m/s (1/s)", _AT_5[1], 1e-12, f"{_MEIJAARD}, table 2"),
    value("castering at 5 m/s (1/s)", _AT_5[2], 1e-12, f"{_MEIJAARD}, table 2"),
    difference("the four eigenvalues at 1 to 4 m/s (1/s)", 1e-12, f"{_MEIJAARD}, table 2"),
    difference("eigenvalues at 0 to 10 m/s against those of the matrices (1/s)", 1e-12),
    value("weave speed (m/s)", 4.292382536341, 1e-12),
    value("capsize speed (m/s)", 6.024262015388, 1e-12),
    value("pitch far from upright, from the loop (rad)", math.pi - 3.1257073014894, 1e-12, _BASU),
    difference("rates of yaw, pitch and front wheel there (rad/s)", 2e-12, _BASU),
    value("acceleration of lean there (rad/s²)", LEAN_ACCELERATION, 2e-12, _BASU),
    value("acceleration of steer there (rad/s²)", STEER_ACCELERATION, 2e-12, _BASU),
    value("acceleration of travel there (m/s²)", 0.3 * (1.8472554144217 + 0.1205543897884), 2e-12, _BASU),
    page="bicycle",
)
def _measure_bicycle() -> Iterator[float]:
    from scipy.optimize import brentq

    bicycle = _Bicycle()
    still, _, by_torques = bicycle.slopes(0.0)
    by_angles, by_rates, _ = bicycle.slopes(5.0)
    mass = np.linalg.inv(by_torques)
    yield largest_difference(mass, _M)
    yield largest_difference(-mass @ by_rates / 5.0, _C1)
    yield largest_difference(-mass @ still / 9.81, _K0)
    yield largest_difference(-mass @ (by_angles - still) / 25.0, _K2)
    weave, real = (
        max((z for z in bicycle.eigenvalues(5.0) if z.imag > 0), key=lambda z: z.real),
        sorted(z.real for z in bicycle.eigenvalues(5.0) if abs(z.imag) < 1e-9),
    )
    yield from (weave.real, weave.imag, real[1], real[0])
    yield largest([_distance(bicycle.eigenvalues(v), _four(*known)) for v, known in _EIGENVALUES.items()])
    yield largest([_distance(bicycle.eigenvalues(v), _of_matrices(v)) for v in range(11)])

    def growth(speed: float, *, turns: bool) -> float:
        values = bicycle.eigenvalues(speed)
        return largest([z.real for z in values if (z.imag > 1e-3 if turns else abs(z.imag) < 1e-9)])

    yield brentq(lambda speed: growth(speed, turns=True), 4.28, 4.30, xtol=1e-14)
    yield brentq(lambda speed: growth(speed, turns=False), 6.01, 6.03, xtol=1e-14)
    yield from _far_from_upright(bicycle.model)


def _far_from_upright(model: Model) -> Iterator[float]:
    state = model.state(TURNING)
    yield dict(zip(model.coordinate_names, state, strict=False))["frame.q1"]
    names = (*model.coordinate_names, *model.speed_names)
    rates = dict(zip(names, model.derivatives(0.0, state), strict=True))
    yield largest_difference([rates[name] for name in TURNING_RATES], [*TURNING_RATES.values()])
    yield from (rates["lean.u1"], rates["fork.u1"], rates["heading.u1"])


# The forward speed is prescribed, so the remaining speeds are those of the source in its order.
STATE = {
    "q1": "NRB.q1", "q2": "NRB.q2", "q3": "NRB.q3", "q4": "RB.q1",
    "u1": "NRB.u2", "u2": "NRB.u3", "u3": "RB.u1",
}  # fmt: skip
OUTPUTS = ("Ay", "r", "alpha_f", "alpha_r", "FY1", "FY2", "MZ1", "MZ2", "ROLLM")
SMALL = ("RB.q1", "RB.u1", "NRB.u2", "NRB.u3")
_TABLE = "Sayers (1990), Table 9.1.2"


def small_car() -> System:
    """Return the car with roll, side speed and yaw rate declared small."""
    s: System = example("car").system()
    s.small(*SMALL)
    return s


def _car_rates(name: str) -> Callable[[Model], Iterator[float]]:
    def _measure_car(model: Model) -> Iterator[float]:
        states = reference(name)["states"]
        found = [model.derivatives(0.0, [*state["q"], *state["u"]]) for state in states]
        yield relative_difference(found, [[*state["qdot"], *state["udot"]] for state in states])

    return _measure_car


_CAR_STATES = States(lambda: example("car").system(), _car_rates("car"))
_SMALL_STATES = States(small_car, _car_rates("car_small"))


def _fixed_steps(model: Model, data: DataTable) -> float:
    run = model.simulate(2.0, step=0.025, method="midpoint")
    return relative_difference([run.final[name] for name in STATE.values()], data["fixed_step_end"])


def _differences(run: Run, expected: dict[str, np.ndarray], outputs: tuple[str, ...]) -> Iterator[float]:
    yield largest([scaled_difference(run[name], expected[column]) for column, name in STATE.items()])
    yield largest([scaled_difference(run[name], expected[name]) for name in outputs])


@published_case(
    "car",
    "Car",
    "Sayers (1990), section 9.1",
    difference("accelerations and coordinate rates at 12 random states", ACCELERATIONS),
    difference("steer step over 2 s, published parameters: states, relative to their size", TRAJECTORIES),
    difference("the same: nine outputs", TRAJECTORIES),
    difference("steer step with the yaw inertia that was meant: states", TRAJECTORIES),
    difference("the same: nine outputs", TRAJECTORIES),
    difference("state after 80 midpoint steps of 0.025 s, the published method", 1e-11),
    at_most("additions", 67, _TABLE, "AUTOSIM; its listing has 69"),
    at_most("multiplications, divisions and functions", 108, _TABLE),
    page="car",
    states=(_CAR_STATES,),
)
def _measure_car() -> Iterator[float]:
    data = reference("car")
    eom = equations("car")
    model = eom.compile()
    yield from _CAR_STATES.measure(model)
    for key, inertia in (("trajectory", 1.0), ("trajectory_with_yaw_inertia", 1285.0)):
        expected = columns(data[key])
        run = model.simulate(2.0, sample=expected["t"], parameters={"NRBI33": inertia}, **TIGHT)
        yield from _differences(run, expected, OUTPUTS)
    yield _fixed_steps(model, data)
    additions, multiplications, functions = counts(eom)
    yield additions
    yield multiplications + functions


@published_case(
    "car_small",
    "Car with small variables",
    "Sayers (1990), section 9.1 and Appendix B",
    difference("accelerations and coordinate rates at 12 random states", ACCELERATIONS),
    difference("accelerations of the full model, from the same description", ACCELERATIONS),
    difference("steer step over 2 s: states, relative to their size", TRAJECTORIES),
    difference("the same: eight outputs", TRAJECTORIES),
    difference(
        "the same: lateral acceleration, relative to its size",
        2e-5,
        remark="the source keeps some terms of second order in roll (0.053 rad), ours none",
    ),
    difference("state after 80 midpoint steps of 0.025 s, the published method", 1e-11),
    at_most("additions", 15, _TABLE, "AUTOSIM without names for forces"),
    at_most("multiplications, divisions and functions", 19, _TABLE),
    at_most("with names for forces, Kane and recursive: additions", 24, _TABLE),
    at_most("the same: multiplications, divisions and functions", 36, _TABLE),
    page="car",
    states=(_SMALL_STATES,),
)
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
    # The last pass, "expand", expands linear results; before it, forces are intermediate values.
    passes = [gain for way in ("kane", "recursive") for gain in s.derive(way).gains]
    named = [gain.before for gain in passes if gain.name == "expand"]
    yield largest([made.additions for made in named])
    yield largest([made.multiplications + made.divisions + made.functions for made in named])


COORDINATES = ("B.q1", "B.q2", "B.q3", "FA.q1", "LFW.q1", "RFW.q1", "LRW.q1", "RRW.q1")
START = {"FA.q1": 0.25}
_HEADER = "Sayers (1990), Figure 9.2.9"


def lever() -> float:
    """Return the ratio of the source's second speed, the speed sideways at the mass centre of body and rear
    wheels, to the yaw rate.
    """
    body, ahead, wheel = (example("cart").PARAMETERS[name][0] for name in ("BM", "CMB1", "MW"))
    return float(body * ahead / (body + 2 * wheel))


def in_our_speeds(q: NumericValue, u: NumericValue) -> np.ndarray:
    """Return coordinates and speeds of the source, the second speed as a yaw rate."""
    return np.array([*q, u[0], u[1] / lever()])


def _cart_rates(model: Model) -> Iterator[float]:
    states = reference("cart")["states"]
    found = [model.derivatives(0.0, in_our_speeds(state["q"], state["u"])) for state in states]
    yield relative_difference(found, [in_our_speeds(state["qdot"], state["udot"]) for state in states])


_CART_STATES = States(lambda: example("cart").system(), _cart_rates, AS_GIVEN)


@published_case(
    "cart",
    "Four-wheeled cart",
    "Sayers (1990), section 9.2",
    difference("accelerations and coordinate rates at 12 random states", ACCELERATIONS),
    difference("run from rest over 3 s: coordinates, relative to their size", TRAJECTORIES),
    difference("the same: speed, yaw and steer rate", TRAJECTORIES),
    difference("state after 150 midpoint steps of 0.02 s, the published method", 1e-11),
    difference("energy of 1447 J against the work of the push (J)", 1e-9, "work and energy"),
    at_most("additions", 48, _HEADER),
    at_most("multiplications, divisions and functions", 94, _HEADER, "its 4 functions not counted"),
    page="cart",
    states=(_CART_STATES,),
)
def _measure_cart() -> Iterator[float]:
    data = reference("cart")
    eom = equations("cart")
    model = eom.compile()
    yield from _CART_STATES.measure(model)
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


_CIRCLES = ((0.2, 3.0), (0.6, 5.0), (-0.9, 14.0), (1.2, -30.0))  # lean (rad), yaw rate (rad/s)
_STEERS = (0.05, 0.3, -0.5)  # rad


@published_case(
    "rolling_disc",
    "Rolling disc",
    "closed form of the steady circle",
    *(difference(f"path in a circle, lean of {abs(lean)} rad (m)", 1e-10) for lean, _ in _CIRCLES),
    difference("accelerations in these circles, relative to the square of the yaw rate", 1e-10),
    page="rolling-disc",
)
def measure_disc() -> Iterator[float]:
    """A steady circle: (C + mR²) ω₃ Ω cos θ + m g R sin θ − A Ω² sin θ cos θ = 0, of radius R ω₃/Ω."""
    disc = example("rolling_disc")
    model = equations("rolling_disc").compile()
    still = []
    for lean, yaw_rate in _CIRCLES:
        spin = disc.steady_spin(lean, yaw_rate)
        start = {"lean.q1": lean, "heading.u3": yaw_rate, "disc.u1": spin}
        still.append(largest_difference(model.derivatives(0.0, model.state(start))[-3:], 0.0) / yaw_rate**2)
        radius, until = disc.RADIUS * spin / yaw_rate, 0.5 / abs(yaw_rate)
        run = model.simulate(until, sample=until / 20, initial=start, **TIGHT)
        turned = yaw_rate * run.time
        x, y = radius * np.sin(turned), radius * (1 - np.cos(turned))
        yield largest(largest_difference(run["heading.q1"], x), largest_difference(run["heading.q2"], y))
    yield largest(still)


@published_case(
    "steered_car",
    "Steered car",
    "closed form, radius L/tan δ",
    *(difference(f"path over 10 s, steer of {abs(steer)} rad (m)", 1e-9) for steer in _STEERS),
    difference("heading of the same (rad)", 1e-11),
    difference("energy gained against work", 1e-11, "work and energy"),
    page="steered-car",
)
def measure_car() -> Iterator[float]:
    """The middle of the rear axle moves on a circle of radius L/tan δ; energy grows by the work done."""
    car = example("steered_car")
    model = car.system("tightest").derive().compile()
    turns, gains = [], []
    for steer in _STEERS:
        radius = car.PARAMETERS["L"][0] / math.tan(steer)
        given = {"initial": {"car.u1": 1.0}, "parameters": {"tightest": 1 / radius}}
        run = model.simulate(10.0, sample=0.1, **given, **TIGHT)
        turned = run["path"] / radius
        x, y = radius * np.sin(turned), radius * (1 - np.cos(turned))
        yield largest(largest_difference(run["car.q1"], x), largest_difference(run["car.q2"], y))
        turns.append(largest_difference(run["car.q3"], turned))
        gains.append(scaled_difference(run["energy"] - run["energy"][0], run["work"]))
    yield largest(turns)
    yield largest(gains)
