"""Tracking of the eigenvalues of a matrix over a parameter, by the similarity of their eigenvectors.

Each eigenvector at one value of the parameter is matched with an eigenvector at the next value by the modal
assurance criterion

    MAC = |v_iᴴ w_j|² / (v_iᴴ v_i · w_jᴴ w_j)

and by the relative distance of the eigenvalues, so that the sum of 1 − MAC and of the distances over all
pairs is least. If the MAC of a pair is too small, eigenvalues at values between are computed.

Where eigenvalues meet, their vectors are determined by rounding, so modes are matched from the last value
before this one to the first value after it. If a mode is equally similar to two modes of the value before,
``_preference`` decides.

Source: Allemang & Brown (1982), "A correlation coefficient for modal vector analysis", Proc. 1st Int. Modal
Analysis Conf.; the assignment is by the method of Kuhn and Munkres.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from armillary.algebra.arguments import reals, table
from armillary.analysis.linear.matrices import Linearization, linearization
from armillary.analysis.linear.points import OperatingPoints, operating_points
from armillary.analysis.modes.eigensystem import eigensystem
from armillary.analysis.operating.point import OperatingPoint
from armillary.analysis.operating.trim import trim
from armillary.errors import ArmillaryError, ParameterError, nearest, shown
from armillary.model.units import state_factor
from armillary.program.linearization import Variable
from armillary.runtime.models.compiled import CompiledModel, compiled_model
from armillary.untyped import AnyFunction, DataMapping, Given

_ALIKE = 0.9  # if the MAC of a pair is below this, values between are computed
_DEPTH = 8  # most bisections
_PARTS = (0.5, 0.45, 0.55)  # shares of a step, tried in turn if eigenvalues meet there
_TIE = 1e-6  # cost that decides between pairs that are equally alike
_MEET = 1e-4  # rounding may determine the vectors of eigenvalues with at most this relative distance
STILL = 1e-9  # real parts below this share of their eigenvalue count as zero
NO_SIZE = 1e-12  # share of the largest eigenvalue; smaller values are rounding if A is not ill-conditioned
_SLOW = 1e-5  # eigenvalues below this share of the largest may be zeros that rounding has moved


@dataclass(frozen=True, eq=False)
class Spectra:
    """Eigenvalues (points, n) at several values, and eigenvectors (points, n, n), one in each column."""

    values: np.ndarray
    eigenvalues: np.ndarray
    vectors: np.ndarray

    def __getitem__(self, k: int) -> Spectra:
        """Return the spectrum at one of the values."""
        return Spectra(self.values[k : k + 1], self.eigenvalues[k : k + 1], self.vectors[k : k + 1])

    def reorder(self, k: int, order: np.ndarray) -> None:
        """Change the order of the modes at one of the values."""
        self.eigenvalues[k], self.vectors[k] = self.eigenvalues[k, order], self.vectors[k][:, order]


class Tracker:
    """Eigenvalues over values of a parameter; ``matrices`` gives A at many of them, (points, n, n)."""

    def __init__(self, matrices: Callable[[np.ndarray], np.ndarray], values: np.ndarray) -> None:
        from scipy.linalg import matrix_balance

        self.values = values
        self._matrices = matrices
        self._known = matrices(values)
        self.others = influential(self._known)
        own = self._known[:, self.others][:, :, self.others]
        mean = np.mean(np.abs(own), axis=0)
        scale = matrix_balance(mean, permute=False, separate=True)[1][0] if self.others else np.ones(0)
        self._scale = np.asarray(scale)

    def follow(self) -> Spectra:
        """Return the spectra at the values, with one column for each mode."""
        found = self._spectra(self.values, self._known) if self.others else None
        if found is None or not np.any(found.eigenvalues):
            raise ArmillaryError(
                "all eigenvalues are zero at all values, so that there is no mode to follow; give at=… the "
                "operating point to linearise at"
            )
        apart = np.flatnonzero(~meetings(found.eigenvalues)).tolist()
        for k, before in zip(apart[1:], apart, strict=False):
            found.reorder(k, self._match_by_halving(found[before], found[k]))
        for k in range(len(self.values)):
            if k not in apart:
                known = max((j for j in apart if j < k), default=apart[0])
                found.reorder(k, match_modes(found[known], found[k])[0])
        return found

    def _match_by_halving(self, before: Spectra, after: Spectra, depth: int = 0) -> np.ndarray:
        """Return the indices in ``after`` of the modes of ``before``."""
        order, alike = match_modes(before, after)
        if alike > _ALIKE or depth >= _DEPTH:
            return order
        for part in _PARTS:
            value = before.values[0] + part * (after.values[0] - before.values[0])
            if value in (before.values[0], after.values[0]):
                return order
            between = self.at(value)
            around = (before.eigenvalues[0], between.eigenvalues[0], after.eigenvalues[0])
            if not meetings(np.stack(around))[1]:
                break
        first = self._match_by_halving(before, between, depth + 1)
        found: np.ndarray = self._match_by_halving(between, after, depth + 1)[first]
        return found

    def at(self, value: float, *, zeros: bool = True) -> Spectra:
        """Return the spectrum at one value, in LAPACK's order; with ``zeros``, eigenvalues that
        rounding has moved away from zero are zero.
        """
        values = np.array([value])
        return self._spectra(values, self._matrices(values), zeros=zeros)

    def _spectra(self, values: np.ndarray, A: np.ndarray, *, zeros: bool = True) -> Spectra:
        inner = A[:, self.others][:, :, self.others] * self._scale / self._scale[:, None]
        w, V = np.linalg.eig(inner)
        w = np.asarray(w, dtype=complex)
        w = _without_rounding(inner, w) if zeros else w
        return Spectra(values, w, np.asarray(V, dtype=complex))

    def matrix(self, k: int) -> np.ndarray:
        """Return A of the influential variables at one of the values."""
        return np.asarray(self._known[k][np.ix_(self.others, self.others)])

    def root(
        self, found: Spectra, branch: int, a: int, b: int, function: Callable[[complex, float], float]
    ) -> tuple[float, complex]:
        """Return the value between points a and b at which a function is zero on a branch, and the
        eigenvalue.

        The function has the eigenvalue and the value as arguments.
        """
        from scipy.optimize import brentq

        ends = [(found.values[k], found.eigenvalues[k, branch], found.vectors[k][:, branch]) for k in (a, b)]

        def eigenvalue(value: float) -> complex:
            for x, w, _ in ends:
                if value == x:
                    return complex(w)
            spectrum = self.at(value, zeros=False)  # the branch's eigenvalue may pass zero
            (x0, w0, v0), (x1, w1, v1) = ends
            expected = w0 + (w1 - w0) * (value - x0) / (x1 - x0)
            w, V = spectrum.eigenvalues[0], spectrum.vectors[0]
            alike = np.abs(v0.conj() @ V) ** 2 + np.abs(v1.conj() @ V) ** 2
            apart = np.abs(w - expected) / max(abs(w0) + abs(w1), 1e-300)
            return complex(w[np.argmax(alike - apart)])

        span = abs(ends[1][0] - ends[0][0])
        value = float(brentq(
            lambda x: function(eigenvalue(x), x), ends[0][0], ends[1][0],
            xtol=1e-15 * max(span, abs(ends[0][0]), abs(ends[1][0])), rtol=1e-15,
        ))  # fmt: skip
        return value, eigenvalue(value)

    def vectors_of_states(self, spectra: Spectra) -> np.ndarray:
        """Return eigenvectors (points, states, n) in the units of the states."""
        found: np.ndarray = spectra.vectors * self._scale[:, None]
        return found


def influential(A: np.ndarray) -> list[int]:
    """Return the indices of variables that act on the rate of another such variable or on their own.

    It is enough if a variable does so at one of the points. Each variable left out adds an eigenvalue zero.
    """
    used = np.any(A != 0, axis=0)
    others = list(range(A.shape[-1]))
    while found := [j for j in others if not used[np.ix_(others, [j])].any()]:
        others = [j for j in others if j not in found]
    return others


def _without_rounding(A: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Replace eigenvalues that rounding has spread about zero by exact zeros."""
    size = np.abs(w)
    for k in np.flatnonzero(np.min(size, axis=1) < _SLOW * np.max(size, axis=1)):
        count = sum(chain.shape[1] for chain in eigensystem(A[k]).chains)
        w[k, np.argsort(size[k], kind="stable")[:count]] = 0.0
    return w


def still(eigenvalues: np.ndarray) -> np.ndarray:
    """Return, for each eigenvalue, the largest real part that counts as zero.

    It is relative to the eigenvalue itself, so that a fast mode, such as a lag of 1e-8 s, does not hide
    the growth of a slow one.
    """
    sizes = np.abs(eigenvalues)
    return np.asarray(STILL * sizes + NO_SIZE * np.max(sizes, axis=-1, keepdims=True, initial=0.0))


def meetings(eigenvalues: np.ndarray) -> np.ndarray:
    """Return, for each point (row), whether more eigenvalues coincide there than at each point beside it."""
    sizes = np.abs(eigenvalues)
    apart = eigenvalues[:, :, None] - eigenvalues[:, None, :]
    least = np.max(sizes, axis=1)[:, None, None] * STILL
    near = np.abs(apart) <= _MEET * np.maximum(sizes[:, :, None], sizes[:, None, :]) + least
    count = np.sum(near, axis=(1, 2))
    if len(count) < 2:
        return np.zeros(len(count), dtype=bool)
    return np.asarray(count > np.maximum(np.r_[count[1], count[:-1]], np.r_[count[1:], count[-2]]))


def branch_order(eigenvalues: np.ndarray) -> np.ndarray:
    """Return the order of branches (points, branches) by |λ| at the first value, up to rounding.

    Branches of equal |λ| are ordered by the real part, then by the imaginary part, the larger first; if both
    are equal, the next values of the parameter decide.
    """
    w = eigenvalues / (np.max(np.abs(eigenvalues), initial=0.0) or 1.0)
    keys = [key for row in w for key in (np.abs(row), -row.real, -row.imag)]
    return np.lexsort(np.round(keys[::-1], 10)) if keys else np.arange(w.shape[1])


def _preference(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return small costs, which decide between pairs that are equally alike.

    If two real eigenvalues become a complex pair, or a pair becomes two, the larger real one is matched with
    Im λ > 0. If two undamped modes become one that grows and one that decays, or the reverse, the slower mode
    is matched with the growing one.
    """
    ranks = [np.argsort(np.argsort(x.real, axis=None, kind="stable")).reshape(x.shape) for x in (a, b)]
    joins, parts = (a.imag == 0) & (b.imag < 0), (a.imag < 0) & (b.imag == 0)
    pace = [np.unique(np.abs(x.imag), return_inverse=True)[1].reshape(x.shape) / x.size for x in (a, b)]
    growth = [np.where(np.abs(x.real) > STILL * np.max(np.abs(x)), np.sign(x.real), 0.0) for x in (a, b)]
    return np.asarray(
        _TIE * (ranks[0] * joins + ranks[1] * parts + pace[0] * growth[1] + pace[1] * growth[0])
    )


def match_modes(before: Spectra, after: Spectra) -> tuple[np.ndarray, float]:
    """Return the indices in ``after`` of the modes of ``before``, and the least MAC of these pairs."""
    from scipy.optimize import linear_sum_assignment

    mac = np.abs(before.vectors[0].conj().T @ after.vectors[0]) ** 2
    a, b = before.eigenvalues[0][:, None], after.eigenvalues[0][None, :]
    apart = np.abs(a - b) / np.maximum(np.abs(a) + np.abs(b), 1e-300)
    rows, columns = linear_sum_assignment(1.0 - mac + apart + _preference(a, b))
    order = columns[np.argsort(rows)]
    return order, float(np.min(mac[np.arange(len(order)), order], initial=1.0))


# The values of a parameter, a speed or an operating point along which modes are followed.


@dataclass(frozen=True, eq=False)
class OperatingSweep:
    """A model at operating points that depend on the value of one name."""

    model: CompiledModel
    name: str
    at: Given  # operating points as for ``linearize``, or a function from the value to one
    parameters: DataMapping

    @property
    def compiled(self) -> Linearization:
        """The linearised equations."""
        return linearization(self.model, (), ())

    @property
    def states(self) -> tuple[Variable, ...]:
        """The variables of the linear models."""
        return self.compiled.form.states

    def points(self, values: np.ndarray) -> OperatingPoints:
        """Return the operating points at these values."""
        if callable(self.at):
            return operating_points(self.model, [self.at(float(v)) for v in values], self.parameters or None)
        if self.name in self.model.equations.system.parameters:
            return operating_points(self.model, self.at, {**self.parameters, self.name: values})
        return operating_points(self.model, {**(self.at or {}), self.name: values}, self.parameters)

    def matrices(self, values: np.ndarray) -> np.ndarray:
        """Return A at these values in stated units, from one compiled loop."""
        points = self.points(values)
        A = self.compiled.rows(points.t, points.states, points.parameters, points.memory).A
        factors = np.array([v.factor for v in self.states])
        found: np.ndarray = A * factors / factors[:, None]
        if not np.all(np.isfinite(found)):
            k = int(np.flatnonzero(~np.isfinite(found).all(axis=(1, 2)))[0])
            raise ArmillaryError(
                f"'{self.model.equations.system.name}' has no linear model where '{self.name}' is "
                f"{values[k]:.6g}: an element of A is not a finite number there"
            )
        return found

    @property
    def units(self) -> str:
        """Units of the values."""
        system = self.model.equations.system
        symbols = {**system.parameters, **{s.data.name: s for s in system.moving()}}
        if self.name in system.memories:
            return system.memories[self.name].symbol.data.units or ""
        return (symbols[self.name].data.units or "") if self.name in symbols else ""


def operating_sweep(
    given_model: object, name: object, at: object, trimmed: object, parameters: Mapping[str, object] | None
) -> OperatingSweep:
    """Return a sweep from a user's arguments, after checking them."""
    model = compiled_model(given_model, "this sweep")
    if not isinstance(name, str):
        raise ArmillaryError(
            f"the name of a parameter, input, coordinate or speed is needed, not {shown(name)}"
        )
    system = model.equations.system
    known = [*system.parameters, *(s.data.name for s in system.moving()), *system.memories]
    given = table(parameters, "parameters=", ParameterError)
    if not callable(at) and not callable(trimmed) and name not in known:
        raise ParameterError(
            f"'{system.name}' has no parameter, input, coordinate or speed '{name}'{nearest(name, known)}; "
            "to vary anything else, give at= a function of the value"
        )
    if trimmed is not None:
        if at is not None:
            raise ArmillaryError("give the operating points by at= or by trim=, not by both")
        return OperatingSweep(model, name, _trim_function(model, name, trimmed, given), {})
    if name not in system.parameters and not (at is None or callable(at) or isinstance(at, Mapping)):
        raise ArmillaryError(
            f"to vary '{name}', give at= values by name, at={{…}}, or a function from the value of '{name}' "
            "to an operating point"
        )
    return OperatingSweep(model, name, at, given)


def _trim_function(
    model: CompiledModel, name: str, asked: object, parameters: Mapping[str, object]
) -> AnyFunction:
    """Return a function from a value to the requested operating point.

    Each search after the first starts from the operating point found before.
    """
    if callable(asked):
        return asked
    request = table(asked, "trim=")
    system = model.equations.system
    where = "parameters" if name in system.parameters else "memory" if name in system.memories else "fixed"
    last: dict[str, float] = {}

    def at(value: float) -> OperatingPoint:
        own = {"parameters": parameters, **({"starts": dict(last)} if last else {}), **request}
        own[where] = {**(own.get(where) or {}), name: value}
        found = trim(model, **own)
        last.update({key: found[key] for key in found if key != name})
        return found

    return at


def sorted_values(values: object) -> np.ndarray:
    """Return a user's values in ascending order; there must be at least two different ones."""
    found = np.unique(reals(values, "values"))
    if found.ndim != 1 or len(found) < 2 or not np.all(np.isfinite(found)):
        raise ArmillaryError("modes are followed over at least two different finite values")
    return found


def radians_per_value(sweep: OperatingSweep) -> float:
    """Return the factor from the values of a sweep over a spin to rad/s."""
    from armillary.algebra.units import parse_unit

    system = sweep.model.equations.system
    moving = {s.data.name: s for s in system.moving()}
    if sweep.name in moving:
        return state_factor(moving[sweep.name])
    return parse_unit(sweep.units).scale if sweep.units else 1.0
