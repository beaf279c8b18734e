"""The Whipple bicycle: matrices, eigenvalues and speeds of the benchmark, and a state far from upright."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from armillary.algebra.calculus import NumericValue
from armillary.stages.model import Model
from armillary.verification.rows import Case, difference, example, largest, largest_difference, value

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

# Basu-Mandal's state, with the signs of our axes.
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
        """Derivatives of both accelerations by the angles, by their rates, and by the torques."""
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
    """Eigenvalues of the published matrices at a forward speed; at rest they come in pairs ±."""
    stiffness, damping = 9.81 * np.array(_K0) + speed**2 * np.array(_K2), speed * np.array(_C1)
    return _eigenvalues(-np.linalg.solve(_M, stiffness), -np.linalg.solve(_M, damping))


def _distance(found: NumericValue, expected: NumericValue) -> float:
    """The largest distance between eigenvalues in the same order."""
    ours, theirs = (
        np.array(sorted(values, key=lambda z: (round(z.real, 6), z.imag))) for values in (found, expected)
    )
    return largest(np.abs(ours - theirs))


def measure() -> Iterator[float]:
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


CASES = (
    Case(
        "bicycle",
        "Whipple bicycle",
        _MEIJAARD,
        (
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
            value(
                "acceleration of travel there (m/s²)", 0.3 * (1.8472554144217 + 0.1205543897884), 2e-12, _BASU
            ),
        ),
        measure,
        "bicycle",
    ),
)
