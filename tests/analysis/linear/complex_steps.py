"""A, B, C and D of a model by complex steps of its expressions, with none of the code under test.

An independent variable is moved by i·h with h = 1e-30; loops are then closed by Newton's method in complex
numbers, Euler parameters are multiplied with the quaternion (1, θ/2), and the rates and outputs are
evaluated by NumPy. The imaginary part over h is the derivative, without any difference of close numbers.

Source: Squire and Trapp (1998), Using complex variables to estimate derivatives of real functions, SIAM
Review 40, 110–112.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from unittest.mock import patch

import numpy as np

from armillary.algebra import calculus
from armillary.algebra.arguments import core_of
from armillary.algebra.calculus import evaluator
from armillary.algebra.expression import as_expr
from armillary.model.units import state_factor
from armillary.stages.model import Model

STEP = 1e-30


def _atan2(y: Any, x: Any) -> Any:
    real = np.arctan2(np.real(y), np.real(x))
    square = np.real(x) ** 2 + np.real(y) ** 2
    moved = np.real(x) * np.imag(y) - np.real(y) * np.imag(x)
    return real + 1j * np.where(square == 0, 0, moved / np.where(square == 0, 1, square))


# What NumPy does not continue to complex numbers along a real axis, or compares by parts.
CONTINUED = {
    "atan2": _atan2,
    "abs": lambda x: np.where(np.real(x) < 0, -x, x),
    "sign": lambda x: np.sign(np.real(x)),
    "min": lambda a, b: np.where(np.real(a) <= np.real(b), a, b),
    "max": lambda a, b: np.where(np.real(a) >= np.real(b), a, b),
    **{
        name: (lambda a, b, compare=compare: compare(np.real(a), np.real(b)) * 1.0)
        for name, compare in (
            ("lt", np.less), ("le", np.less_equal), ("gt", np.greater), ("ge", np.greater_equal),
            ("eq", np.equal), ("ne", np.not_equal),
        )
    },
}  # fmt: skip


class ComplexSteps:
    """The matrices of one model with parameters in stated units, at a state with its loops closed."""

    def __init__(
        self, model: Model, lin: Any, parameters: dict[str, float] | None = None, t: float = 0.0
    ) -> None:
        self.equations, self.lin = model.equations, lin
        e = self.equations
        system, plain, self.t = e.system, core_of(e).reduction.plain, core_of(e).targets
        self.parameters = {plain(p): v for n, v in core_of(model).inside(parameters).items()
                           if (p := system.parameters[n]) is not None}  # fmt: skip
        self.parameters[self.t.time] = t
        self.memory = dict(zip(self.t.memory, lin.memory.tolist(), strict=True))
        self.names = [s.data.name for s in self.t.coordinates]
        gaps = [as_expr(r.gap) for r in core_of(e).reduction.rows if r.gap is not None]
        self.gaps = evaluator(gaps) if gaps else None
        rates, self.speed_symbols = list(self.t.rates), self.t.speeds
        self.to_states = None
        stepping = {s.name: s.results for s in self.t.stepping}
        if type(e).__name__.endswith("FreeSpeedEquations"):
            count = len(self.t.coordinates)
            rates[count : count + len(self.t.speeds)] = stepping["accelerations"]
            self.to_states = evaluator(stepping["momenta"])
            self.speed_symbols = self.t.inputs
        self.rates = evaluator(rates)
        by_name = {c.name: c.expression for c in self.t.columns}
        self.outputs = evaluator([by_name[n] for n in lin.outputs])
        self.speeds = evaluator([plain(u) for u in system.speeds])
        self.speed_names = [u.data.name for u in system.speeds]
        self.factor = {s.data.name: state_factor(s) for s in system.moving()}

    def matrices(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """A, B, C, D in stated units."""
        with patch.dict(calculus._NUMERIC, CONTINUED), np.errstate(all="ignore"):
            return self._matrices()

    def _matrices(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        lin = self.lin
        states = [self._column(name, "state") for name in lin.states]
        inputs = [self._column(name, "input") for name in lin.inputs]
        n, m, p = len(lin.states), len(lin.inputs), len(lin.outputs)
        A, C = (np.array([c[k] for c in states]).T.reshape(rows, n) for k, rows in ((0, n), (1, p)))
        B, D = (np.array([c[k] for c in inputs]).T.reshape(rows, m) for k, rows in ((0, n), (1, p)))
        return A, B, C, D

    def _column(self, name: str, kind: str) -> tuple[np.ndarray, np.ndarray]:
        e, t, lin = self.equations, self.t, self.lin
        count = len(t.coordinates)
        y = lin.state.astype(complex)
        speeds = self._speeds(y)
        known: dict[Any, Any] = self.parameters | self.memory
        factor = 1.0
        moved = np.zeros(3)
        place, axis = None, None
        if kind == "input":
            plain, system = core_of(e).reduction.plain, e.system
            if name in system.parameters:
                s = plain(system.parameters[name])
            else:
                s = plain(system.memories[name].symbol)
            factor = next(v.factor for v in lin.variables[1] if v.name == name)
            known = known | {s: known[s] + 1j * STEP * factor}
        elif ".theta" in name:
            place, axis = self._rotation(name)
            moved[axis] = 1.0
        else:
            symbols = [s.data.name for s in (*t.coordinates, *self.speed_symbols, *t.states)]
            factor = self.factor.get(name, 1.0)
            i = symbols.index(name)
            if count <= i < count + len(speeds):
                speeds[i - count] += 1j * STEP * factor
            else:
                y[i] += 1j * STEP * factor
        if place is not None:
            y[place : place + 4] = _product(y[place : place + 4], [1, *(0.5j * STEP * moved)])
        q = self._closed(y[:count], known)
        second = speeds
        if self.to_states is not None:
            at = known | dict(zip(t.coordinates, q, strict=True))
            second = np.array(self.to_states(at | dict(zip(t.inputs, speeds, strict=True))))
        at = known | dict(zip(t.integrated, [*q, *second, *y[count + len(speeds) :]], strict=True))
        with np.errstate(all="ignore"):
            rates = np.array([complex(x) for x in self.rates(at)])
            outputs = np.array([complex(x).imag / STEP for x in self.outputs(at)])
        found = []
        symbols = [s.data.name for s in (*t.coordinates, *self.speed_symbols, *t.states)]
        for row in lin.states:
            if ".theta" in row:
                found.append(self._rotation_rate(row, lin.state, q, rates))
            else:
                found.append(rates[symbols.index(row)].imag / STEP / self.factor.get(row, 1.0))
        return np.array(found), outputs

    def _speeds(self, y: np.ndarray) -> np.ndarray:
        count = len(self.t.coordinates)
        if self.to_states is None:
            return y[count : count + len(self.t.speeds)].copy()
        at = self.parameters | self.memory | dict(zip(self.t.integrated, y, strict=True))
        values = dict(zip(self.speed_names, self.speeds(at), strict=True))
        return np.array([values[s.data.name] for s in self.t.inputs], dtype=complex)

    def _rotation(self, name: str) -> tuple[int, int]:
        body, number = name.rsplit(".theta", 1)
        places = [s for s in self.t.quaternions if self.names[s].startswith(f"{body}.")]
        return places[(int(number) - 1) // 3], (int(number) - 1) % 3

    def _rotation_rate(self, name: str, state: np.ndarray, q: np.ndarray, rates: np.ndarray) -> float:
        """θ = 2 vec(ē δe), so its rate is 2 vec(dē/dt δe + ē δė)."""
        place, axis = self._rotation(name)
        four = slice(place, place + 4)
        e, de = q[four].real, q[four].imag / STEP
        edot, dedot = rates[four].real, rates[four].imag / STEP
        turned = _product(_conjugate(edot), de) + _product(_conjugate(e), dedot)
        return float(2 * turned[1 + axis])

    def _closed(self, q: np.ndarray, known: dict[Any, Any]) -> np.ndarray:
        """Dependent coordinates moved until all gaps are closed, also in their imaginary parts."""
        if self.gaps is None:
            return q
        gaps = self.gaps
        quaternions = {p + k for p in self.t.quaternions for k in range(4)}
        held = {n for n in self.lin.states if ".theta" not in n}
        plain = [i for i, n in enumerate(self.names) if i not in quaternions and n not in held]
        fixed = {self._rotation(n) for n in self.lin.states if ".theta" in n}
        turning = [(p, k) for p in self.t.quaternions for k in range(3) if (p, k) not in fixed]

        def moved(q: np.ndarray, z: np.ndarray) -> np.ndarray:
            q = q.copy()
            q[plain] += z[: len(plain)]
            for (p, k), x in zip(turning, z[len(plain) :], strict=True):
                turn = np.zeros(4, dtype=complex)
                turn[0], turn[1 + k] = 1.0, x / 2
                q[p : p + 4] = _product(q[p : p + 4], turn)
            return q

        here = {s: np.real(x) for s, x in known.items()}

        def gap(q: np.ndarray, known: dict[Any, Any] = known) -> np.ndarray:
            at = known | dict(zip(self.t.coordinates, q, strict=True))
            return np.array([complex(x) for x in gaps(at)])

        size = len(plain) + len(turning)
        steps = [moved(q.real + 0j, 1j * STEP * unit) for unit in np.eye(size)]
        J = np.array([gap(step, here).imag / STEP for step in steps]).T
        z = np.linalg.lstsq(J, -gap(q).imag, rcond=1e-12)[0] if size else np.zeros(0)
        return moved(q, 1j * z)


def _product(a: Sequence[Any], b: Sequence[Any]) -> np.ndarray:
    """The quaternion product, scalar first."""
    a, b = np.asarray(a), np.asarray(b)
    scalar = a[0] * b[0] - a[1:] @ b[1:]
    return np.array([scalar, *(a[0] * b[1:] + b[0] * a[1:] + np.cross(a[1:], b[1:]))])


def _conjugate(a: np.ndarray) -> np.ndarray:
    return a * [1, -1, -1, -1]
