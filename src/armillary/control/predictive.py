"""Model predictive control of a linear model: the first of the optimal inputs over a horizon.

    minimise Σ_{k<N} (x_kᵀ Q x_k + v_kᵀ R v_k) + x_Nᵀ S x_N     x_{k+1} = A x_k + B v_k,  low ≤ v_k ≤ high

With the states eliminated this is a quadratic program in V = [v_0 … v_{N−1}] between limits,

    minimise ½ Vᵀ H V + (G x)ᵀ V

It is solved by a fixed number of passes of ADMM. Each pass takes one product with the constant matrix
M = (H + ρ I)⁻¹:

    Z = M (ρ (W − Y) − G x),   W = clip(Z + Y),   Y ← Y + Z − W

from W = clip(−H⁻¹ G x), which is the solution if no limit is active. The computing time is the same for every
state, and the law can be written out as expressions, so a model that contains it runs compiled, in a browser
and in C.

Source: Boyd, Parikh, Chu, Peleato and Eckstein (2011), Distributed optimization and statistical learning via
ADMM, Foundations and Trends in Machine Learning 3, section 5.2; Ghadimi, Teixeira, Shames and Johansson
(2015), Optimal parameter selection for the ADMM, IEEE Transactions on Automatic Control 60, for
ρ = √(λ_min λ_max).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from armillary.algebra.arguments import check_finite_elements, checked_names, count, read_only, reals
from armillary.algebra.expression import ZERO, Expr, number, total
from armillary.algebra.functions import maximum, minimum
from armillary.algebra.units import parse_unit
from armillary.analysis.linear.linear_model import LinearModel
from armillary.control.regulators import input_limits, lqr, weight_matrix
from armillary.errors import ArmillaryError, ParameterError
from armillary.model.description import Description
from armillary.model.reading.expressions import parse_text
from armillary.model.units import state_factor

_LARGEST = 400  # most unknown inputs of a problem that is written out


@dataclass(frozen=True, eq=False, repr=False)
class PredictiveRegulator:
    """Model predictive control of a discrete linear model, in the stated units of its states and inputs.

    ``input(x)`` gives the inputs at a state; ``expressions(system)`` writes the law into a description.
    ``passes`` is the number of passes of the solver, the same for every state.
    """

    linear: LinearModel
    horizon: int
    passes: int
    low: np.ndarray  # of the inputs
    high: np.ndarray
    H: np.ndarray
    G: np.ndarray
    rho: float
    offset: np.ndarray  # state at the operating point
    held: np.ndarray  # inputs at the operating point

    @property
    def states(self) -> tuple[str, ...]:
        """Names of the elements of a state."""
        return self.linear.states

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the inputs."""
        return self.linear.inputs

    @property
    def multiplications(self) -> int:
        """Multiplications of one evaluation: the bound on its time."""
        size = len(self.H)
        return size * len(self.states) * 2 + self.passes * size * (size + 1)

    def plan(self, state: object, passes: int | None = None) -> np.ndarray:
        """Return the inputs over the horizon from a state, a row for each step, by ``passes`` passes."""
        x = self._deviation(state)
        size = len(self.H)
        low, high = (np.tile(b - self.held, self.horizon) for b in (self.low, self.high))
        g = self.G @ x
        M = np.linalg.inv(self.H + self.rho * np.eye(size))
        W, Y = np.clip(-np.linalg.solve(self.H, g), low, high), np.zeros(size)
        for _ in range(self.passes if passes is None else count(passes, "passes")):
            Z = M @ (self.rho * (W - Y) - g)
            W = np.clip(Z + Y, low, high)
            Y = Y + Z - W
        return np.asarray(self.held + W.reshape(self.horizon, -1))

    def input(self, state: object) -> np.ndarray:
        """Return the inputs at a state: numbers in the order of ``states``, or a mapping by name.

        States that a mapping leaves out come from the operating point.
        """
        found: np.ndarray = self.plan(state)[0]
        return found

    def _deviation(self, state: object) -> np.ndarray:
        if isinstance(state, Mapping):
            checked_names(state, self.states, "there is no state", ParameterError)
            state = [state.get(n, o) for n, o in zip(self.states, self.offset, strict=True)]
        found = reals(state, "state", ParameterError)
        check_finite_elements(found, "state", ParameterError)
        if found.shape != (len(self.states),):
            raise ParameterError(f"a state has {len(self.states)} numbers: {', '.join(self.states)}")
        return np.asarray(found - self.offset)

    def expressions(self, system: Description, states: Sequence[str] | None = None) -> list[Expr]:
        """Return the inputs as expressions of the states of a description.

        By default the description must have states of the same names; else ``states`` gives an expression as
        text for each state, such as the name of a measured input. To hold an input constant over a step,
        store its expression in a memory, ``s.memory("F", update=…, every=step)``.
        """
        names = list(self.states if states is None else map(str, states))
        if len(names) != len(self.states):
            raise ParameterError(f"states= needs {len(self.states)} texts, for {', '.join(self.states)}")
        size, m = len(self.H), len(self.inputs)
        if size > _LARGEST:
            raise ArmillaryError(
                f"{size} inputs over the horizon are too many to be written out; give a shorter horizon="
            )
        x = [self._reading(system, n, o) for n, o in zip(names, self.offset, strict=True)]
        low, high = (np.tile(b - self.held, self.horizon) for b in (self.low, self.high))
        M = np.linalg.inv(self.H + self.rho * np.eye(size))
        pull = _products(self.G, x)
        W = _clip_values(_products(-np.linalg.solve(self.H, self.G), x), low, high)
        Y: list[Expr] = [ZERO] * size
        for k in range(self.passes):
            right = [
                _plain_product(self.rho, total([(1, w), (-1, y)])) - g
                for w, y, g in zip(W, Y, pull, strict=True)
            ]
            wanted = m if k == self.passes - 1 else size  # the last pass needs only the first inputs
            Z = _products(M[:wanted], right)
            moved = [total([(1, z), (1, y)]) for z, y in zip(Z, Y, strict=False)]
            W = _clip_values(moved, low, high)
            Y = [total([(1, a), (-1, w)]) for a, w in zip(moved, W, strict=True)]
        factors = [system.units.factor(parse_unit(u)) if u else 1.0 for u in self._input_units()]
        return [
            _plain_product(f, w) + number(f * v, None)
            for f, w, v in zip(factors, W[:m], self.held, strict=True)
        ]

    def _input_units(self) -> list[str]:
        return [self.linear.units.get(name, "") for name in self.inputs]

    def _reading(self, system: Description, name: str, offset: float) -> Expr:
        """Return a state's deviation from the operating point, a plain number in stated units."""
        node = parse_text(system, name, "the state of a predictive regulator", {}, checked=False)
        if not isinstance(node, Expr):
            raise ArmillaryError(f"'{name}' is no state of '{system.name}'")
        return _plain_product(1.0 / state_factor(node), node) + number(-float(offset), None)

    def __repr__(self) -> str:
        step = self.linear.step
        return (
            f"PredictiveRegulator of '{self.linear.system}': {', '.join(self.inputs)} over {self.horizon} "
            f"steps of {step:g} s, {self.passes} passes, {self.multiplications} multiplications"
        )


def _plain_product(factor: float, x: Expr) -> Expr:
    """Return a product without a dimension, since quantities of all kinds are added."""
    return number(float(factor), None) * x


def _products(matrix: np.ndarray, x: Sequence[Expr]) -> list[Expr]:
    return [total([(1, _plain_product(c, e)) for c, e in zip(row, x, strict=True) if c]) for row in matrix]


def _clip_values(values: Sequence[Expr], low: np.ndarray, high: np.ndarray) -> list[Expr]:
    found = []
    for value, a, b in zip(values, low, high, strict=False):
        lower = maximum(value, number(float(a), None)) if np.isfinite(a) else value
        found.append(minimum(lower, number(float(b), None)) if np.isfinite(b) else lower)
    return found


def mpc(
    linear: LinearModel,
    Q: object,
    R: object,
    horizon: int,
    limits: Mapping[str, object] | None = None,
    *,
    final: object = None,
    passes: int = 20,
) -> PredictiveRegulator:
    """Return model predictive control of a discrete linear model, ``linear.discretize(step)``.

    Q weighs states and R inputs at every step; ``final`` weighs the last state. Its default is the cost
    matrix of LQR, with which the law is the LQR law if no limit is active. ``limits`` are (low, high) of
    inputs by name, as values and not as deviations from the operating point. The solver makes ``passes``
    passes at every state.
    """
    linear.single("mpc")
    if linear.step is None:
        raise ArmillaryError("mpc takes a discrete model; call linear.discretize(step) first")
    N, passes = count(horizon, "horizon"), count(passes, "passes")
    Q_, R_ = weight_matrix(Q, linear.states, "Q"), weight_matrix(R, linear.inputs, "R", positive=True)
    S = lqr(linear, Q, R).cost if final is None else weight_matrix(final, linear.states, "final")
    n, m = len(linear.states), len(linear.inputs)
    checked_names(limits or {}, list(linear.inputs), "limits= there is no input", ParameterError)
    low, high = input_limits(limits or {}, linear.inputs)
    powers = [np.eye(n)]
    for _ in range(N):
        powers.append(linear.A @ powers[-1])
    from_state = np.vstack(powers[1:])
    from_input = np.zeros((N * n, N * m))
    for k in range(N):
        for j in range(k + 1):
            from_input[k * n : (k + 1) * n, j * m : (j + 1) * m] = powers[k - j] @ linear.B
    weights = np.kron(np.eye(N), Q_)
    weights[-n:, -n:] = S
    H = from_input.T @ weights @ from_input + np.kron(np.eye(N), R_)
    H = (H + H.T) / 2
    G = from_input.T @ weights @ from_state
    sizes = np.linalg.eigvalsh(H)
    point = linear.operating_point
    offset = np.array([float(point.get(name, 0.0)) for name in linear.states])
    held = np.array([float(linear.input_values.get(name, 0.0)) for name in linear.inputs])
    return PredictiveRegulator(
        linear, N, passes, read_only(low), read_only(high), read_only(H), read_only(G),
        float(np.sqrt(sizes[0] * sizes[-1])), read_only(offset), read_only(held),
    )  # fmt: skip
