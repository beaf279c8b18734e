"""Inertial parameters and friction from measured efforts.

Base parameters π and friction f (viscous f_v, Coulomb f_c, offset f_o) follow from weighted linear least
squares,

    e = Y π + u f_v + sign(u) f_c + f_o + e₀ + noise of standard deviation σ_j along speed j

where estimates of σ_j from the residuals alternate with solutions. The result x̂ = (π̂, f̂) may belong to no
physically possible bodies. The nearest possible bodies minimise

    |R (x(θ) − x̂)|² + |θ − θ₀|²/p²,     RᵀR = inverse of the covariance of x̂

over log-Cholesky parameters θ of the bodies (below). The second term keeps parameters that the data do not
determine near the description's values θ₀, which are assumed to be right within a factor of about e^p.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from armillary.algebra.arguments import checked_names, positive_number, several, table
from armillary.algebra.calculus import evaluate_all, gradient
from armillary.algebra.expression import Expr, as_expr
from armillary.algebra.triples import matrix_sum, scaled
from armillary.algebra.units import FORCE, SPEED
from armillary.algebra.walk import symbols
from armillary.analysis.efforts import SPLINE, run_places
from armillary.analysis.fitting.outcome import half_width, rounded_to_error
from armillary.analysis.fitting.outcome import inverse as covariance_of
from armillary.analysis.identification.excitation import (
    ExcitingTrajectory,
    RegressorModel,
    condition,
    regressor_model,
)
from armillary.analysis.identification.inertial_parameters import ELEMENTS
from armillary.analysis.places import Places
from armillary.analysis.result_files import SavedResult
from armillary.errors import ArmillaryError, shown
from armillary.mechanics.tree.tree import point_mass_inertia
from armillary.model.bodies.body import Body
from armillary.results import Run, load_run
from armillary.results.record import label_units
from armillary.runtime.models.compiled import CompiledModel, ModelHolder, compiled_model
from armillary.runtime.models.parameters import parameter_table
from armillary.text_tables import aligned, counted, html_table
from armillary.untyped import DataTable, Given

# Physically possible inertias, described by ten unbounded numbers for each body.
#
# The ten inertial numbers φ of a body (mass m, first moment h, inertia J about its origin) belong to some
# distribution of mass if and only if the pseudo-inertia P is positive definite:
#
#     P = [ Σ   h ]       Σ = ½ tr(J) 1 − J       P = e^{2α} U Uᵀ,    U = [ A  t ]
#         [ hᵀ  m ]                                                       [ 0  1 ]
#
# with A upper triangular, e^{d₁}, e^{d₂}, e^{d₃} on its diagonal and s₁₂, s₁₃, s₂₃ above it: the log-
# Cholesky parameters θ = (α, d, s, t), any real numbers.
#
# Source: Rucker and Wensing (2022), Smooth parameterization of rigid-body inertia.

# Least eigenvalue of Σ/m about the mass centre, for a body described without extent: a share of the largest
# eigenvalue, or of |t|² if that is larger.
_FLOOR = 1e-4


@dataclass(frozen=True, eq=False)
class BodyInertia:
    """Mass, mass centre from the body's origin, and inertia about the mass centre, in the body's axes."""

    mass: float
    com: np.ndarray
    inertia: np.ndarray

    def __repr__(self) -> str:
        com = ", ".join(f"{x:.4g}" for x in self.com)
        J = self.inertia
        six = ", ".join(f"{J[i, j]:.4g}" for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)))
        return f"mass {self.mass:.5g}, com ({com}), inertia ({six})"


def numbers_of(theta: np.ndarray) -> np.ndarray:
    """Return φ = (m, h, Jxx, Jyy, Jzz, Jxy, Jxz, Jyz) from θ = (α, d₁, d₂, d₃, s₁₂, s₁₃, s₂₃, t).

    The numbers of φ and θ are along the last axis.
    """
    alpha, d1, d2, d3, s12, s13, s23, x, y, z = np.moveaxis(theta, -1, 0)
    a11, a22, a33, m = np.exp(d1), np.exp(d2), np.exp(d3), np.exp(2 * alpha)
    xx = a11 * a11 + s12 * s12 + s13 * s13 + x * x  # elements of Σ/m
    yy, zz = a22 * a22 + s23 * s23 + y * y, a33 * a33 + z * z
    xy, xz, yz = s12 * a22 + s13 * s23 + x * y, s13 * a33 + x * z, s23 * a33 + y * z
    one = np.ones_like(m)
    found: np.ndarray = (
        np.stack([one, x, y, z, yy + zz, xx + zz, xx + yy, -xy, -xz, -yz], axis=-1) * m[..., None]
    )
    return found


def numbers_slopes(theta: np.ndarray) -> np.ndarray:
    """Return ∂φ/∂θ, shape (…, 10 of φ, 10 of θ), by complex steps, which are exact to rounding."""
    stepped = theta[..., None, :] + 1e-30j * np.eye(10)
    return np.swapaxes(numbers_of(stepped).imag / 1e-30, -1, -2)


def theta_of(numbers: np.ndarray) -> np.ndarray:
    """Return θ from φ. If Σ about the mass centre is not positive definite, raise its eigenvalues first."""
    m, h, J = float(numbers[0]), numbers[1:4], inertia_matrix(numbers)
    t = h / m
    S = (0.5 * np.trace(J) * np.eye(3) - J) / m - np.outer(t, t)
    sizes, axes = np.linalg.eigh(S)
    least = _FLOOR * max(float(sizes[-1]), float(t @ t), 1e-12)
    S = (axes * np.maximum(sizes, least)) @ axes.T
    A = np.linalg.cholesky(S[::-1, ::-1])[::-1, ::-1]  # S = A Aᵀ with A upper triangular
    d = np.log(np.diag(A))
    return np.array([0.5 * np.log(m), *d, A[0, 1], A[0, 2], A[1, 2], *t])


def inertia_matrix(numbers: np.ndarray) -> np.ndarray:
    """Return the inertia matrix J from φ."""
    xx, yy, zz, xy, xz, yz = numbers[4:10]
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def body_inertia(numbers: np.ndarray) -> BodyInertia:
    """Return φ as mass, mass centre and inertia about the mass centre."""
    m = float(numbers[0])
    c = numbers[1:4] / m
    return BodyInertia(m, c, inertia_matrix(numbers) - m * (c @ c * np.eye(3) - np.outer(c, c)))


def length_of(theta: np.ndarray) -> float:
    """Return a typical length of the body, √(mean of e^{2d} + |t|²)."""
    return float(np.sqrt(np.mean(np.exp(2 * theta[1:4])) + theta[7:] @ theta[7:]))


# The result of an identification: base parameters and friction with their uncertainty, and bodies.


@dataclass(frozen=True, eq=False, repr=False)
class Identification(SavedResult):
    """Inertial parameters and friction, identified from efforts.

        found.values["A.Jzz"], found.standard_errors["A.Jzz"]     and the interval found.intervals["A.Jzz"]
        found.bodies["A"]           mass, com and inertia of a physically possible body
        found.parameters            parameters of the description by name, for simulate
        found.friction["A.u1"]      {"viscous": …, "coulomb": …}

    ``values`` are base parameters and friction of physically possible bodies. ``unconstrained`` are the
    values by least squares alone, to which standard errors and intervals belong. ``sigma`` is the standard
    deviation of the noise of each effort.
    """

    _kind, _mark = "an identification", "armillary_identification"

    system: str
    names: tuple[str, ...]
    values: Mapping[str, float]
    unconstrained: Mapping[str, float]
    standard_errors: Mapping[str, float]
    intervals: Mapping[str, tuple[float, float]]
    units: Mapping[str, str]
    described: Mapping[str, float]  # values from the description, or NaN
    covariance: np.ndarray
    friction: Mapping[str, Mapping[str, float]]
    bodies: Mapping[str, BodyInertia]
    parameters: Mapping[str, float]
    sigma: Mapping[str, float]
    residuals: np.ndarray  # measured minus identified efforts, (rows, speeds)
    condition: float
    warnings: tuple[str, ...]

    def report(self) -> str:
        """Return values with standard errors and 95 % intervals, bodies, noise, and warnings as text."""
        rows = self.residuals.shape[0]
        lines = [
            f"Identification of '{self.system}': {counted(rows, 'row')} of "
            f"{counted(len(self.sigma), 'effort')}, {counted(len(self.names), 'unknown')}, "
            f"condition number {self.condition:.3g}"
        ]
        head = ["", "value", "standard error", "95 % interval", "", "described", ""]
        lines += [f"  {line}" for line in aligned([head, *self._rows()], "<>>>>><")]
        if self.bodies:
            lines += ["", *(f"  {name}: {body!r}" for name, body in self.bodies.items())]
        noise = ", ".join(f"{name} {value:.3g}" for name, value in self.sigma.items())
        lines += ["", f"  noise of the efforts: {noise}"]
        return "\n".join([*lines, *(f"  warning: {note}" for note in self.warnings)])

    def _rows(self) -> list[list[str]]:
        rows = []
        for n in self.names:
            error = self.standard_errors[n]
            value, low, high = (rounded_to_error(x, error) for x in (self.values[n], *self.intervals[n]))
            known = self.described.get(n, float("nan"))
            shown = "" if np.isnan(known) else f"{known:.6g}"
            rows.append([n, value, f"{error:.3g}", low, high, shown, label_units(self.units[n])])
        return rows

    def _file_data(self) -> DataTable:
        unknowns = {
            n: {
                "value": self.values[n], "standard_error": _finite_or_none(self.standard_errors[n]),
                "interval": [_finite_or_none(x) for x in self.intervals[n]], "units": self.units[n],
                "unconstrained": self.unconstrained[n],
                "described": _finite_or_none(self.described.get(n, np.nan)),
            }
            for n in self.names
        }  # fmt: skip
        bodies = {
            name: {"mass": b.mass, "com": b.com.tolist(), "inertia": b.inertia.tolist()}
            for name, b in self.bodies.items()
        }
        kept = {n: x for n, x in super()._file_data().items() if n not in _BY_UNKNOWN}
        return kept | {"unknowns": unknowns, "bodies": bodies}

    @classmethod
    def _from_file(cls, data: DataTable) -> Self:
        unknowns = data["unknowns"].items()

        def column(key: str, missing: float = np.nan) -> dict[str, float]:
            return {n: missing if entry[key] is None else float(entry[key]) for n, entry in unknowns}

        # Unknowns that the data do not determine have an infinite variance, and an interval without ends.
        return super()._from_file(data | {
            "names": tuple(data["unknowns"]), "values": column("value"),
            "unconstrained": column("unconstrained"), "standard_errors": column("standard_error", np.inf),
            "intervals": {
                n: tuple(end if x is None else float(x) for x, end in zip(e["interval"], _ENDS, strict=True))
                for n, e in unknowns
            },
            "units": {n: str(entry["units"]) for n, entry in unknowns}, "described": column("described"),
            "covariance": np.where(np.isnan(data["covariance"]), np.inf, data["covariance"]),
            "bodies": {
                name: BodyInertia(float(b["mass"]), np.array(b["com"], float), np.array(b["inertia"], float))
                for name, b in data["bodies"].items()
            },
        })  # fmt: skip

    def __repr__(self) -> str:
        return self.report()

    def _repr_html_(self) -> str:
        head = ["", "value", "standard error", "95 % interval", "", "described", "units"]
        return html_table(head, self._rows(), "<>>>>><", caption=f"Identification of '{self.system}'")


_ENDS = (-np.inf, np.inf)
# Fields that a file stores in an entry of its own for each unknown.
_BY_UNKNOWN = (
    "names", "values", "unconstrained", "standard_errors", "intervals", "units", "described"
)  # fmt: skip


def _finite_or_none(x: float) -> float | None:
    return float(x) if np.isfinite(x) else None


FRICTION = ("viscous", "coulomb", "offset")
_ROUNDS = 5  # estimates of σ
_EVALUATIONS = 100  # most evaluations in the search for the nearest possible bodies


def identify(
    model: ModelHolder,
    motion: object,
    efforts: object,
    *,
    friction: Sequence[str] | Mapping[str, Sequence[str]] = (),
    udot: object = None,
    parameters: Mapping[str, object] | None = None,
    sigma: object = None,
    prior: float = 1.0,
    consistent: bool = True,
) -> Identification:
    """Identify inertial parameters of all bodies, and friction, from a motion and its efforts.

    ``motion`` is (q, u, udot), an ``ExcitingTrajectory``, a run, or the path of a run's file. For a run,
    ``udot`` gives the rates of its speeds; by default they are slopes of splines. ``efforts`` has a column
    for each of ``model.speed_names``, or columns by the names of speeds, as arrays or names of the run's
    columns. ``friction`` lists "viscous", "coulomb" and "offset", for all speeds or by speed. ``parameters``
    has values that the description lacks: geometry, and estimates of masses and inertias, which should be
    right within a factor of about e^``prior``. ``sigma`` is the standard deviation of efforts, one number or
    by speed; by default it is estimated. If ``consistent``, the bodies of the result are physically possible.
    """
    core = compiled_model(model, "identify()")
    prior = positive_number(prior, "prior")
    parameters = table(parameters, "parameters=")
    made = regressor_model(core, every=True)
    places, run = _places_of_motion(core, made, motion, udot)
    measured = _efforts(made.names, efforts, run, len(places.states))
    Y, rest = made.at(places, parameters)
    speeds = places.states[:, len(made.equations.coordinates) :][:, : len(made.equations.speeds)]
    terms = _friction_terms(made.equations.speeds, friction)
    columns = np.concatenate([Y, _friction_columns(made, speeds, terms)], axis=2)
    if not (np.isfinite(columns).all() and np.isfinite(measured).all() and np.isfinite(rest).all()):
        raise ArmillaryError("identify(): motion, rates or efforts are not all finite; leave those rows out")
    given = _sigma(made.names, sigma)
    x, weights, covariance, unseen = _solve_weighted_least_squares(columns, measured - rest, given)
    labels = [*made.parameters.names, *(f"{kind} friction {name}" for name, kind in terms)]
    bodies: dict[str, BodyInertia] = {}
    chosen = x
    if consistent:
        rows = (columns * weights[:, None]).reshape(-1, columns.shape[2])
        bodies, chosen = _nearest_possible_bodies(made, parameters, rows, x, prior)
    dof = columns.shape[0] * columns.shape[1] - len(x)
    errors = np.sqrt(np.diag(covariance))
    reach = half_width(dof) * errors
    base, units = made.parameters, {p.name: p.units for p in made.parameters}
    described = evaluate_all([p.expression for p in base], parameter_values(made, parameters))
    return Identification(
        system=made.equations.system.name,
        names=tuple(labels),
        values=_by_label(labels, chosen),
        unconstrained=_by_label(labels, x),
        standard_errors=_by_label(labels, errors),
        intervals={n: (float(v - r), float(v + r)) for n, v, r in zip(labels, x, reach, strict=True)},
        units=units | _friction_units(made, labels[len(base) :], terms),
        described=_by_label(base.names, described),
        covariance=covariance,
        friction={
            speed: {
                kind: float(v) for (s, kind), v in zip(terms, chosen[len(base) :], strict=True) if s == speed
            }
            for speed, _ in terms
        },
        bodies=bodies,
        parameters=_named_parameters(made, bodies),
        sigma=_by_label(made.names, 1.0 / weights),
        residuals=measured - rest - columns @ chosen,
        condition=condition(columns.reshape(-1, columns.shape[2])),
        warnings=tuple(f"the motion does not determine {labels[k]}" for k in unseen),
    )


def _by_label(labels: Sequence[str], values: Given) -> dict[str, float]:
    return {n: float(v) for n, v in zip(labels, values, strict=True)}


def _friction_units(
    made: RegressorModel, labels: Sequence[str], terms: Sequence[tuple[str, str]]
) -> dict[str, str]:
    """Return the units of friction: those of efforts; for viscous friction, efforts per unit of the speed."""
    system = made.equations.system
    speeds = {u.data.name: u.dimension or SPEED for u in system.speeds}
    found = {}
    for label, (name, kind) in zip(labels, terms, strict=True):
        effort = FORCE * SPEED / speeds[name]
        found[label] = system.units.unit_text(effort / speeds[name] if kind == "viscous" else effort)
    return found


def _places_of_motion(
    model: CompiledModel, made: RegressorModel, motion: Given, udot: object
) -> tuple[Places, Run | None]:
    """Return the samples of a motion, and the run if a run or its file was given."""
    if isinstance(motion, ExcitingTrajectory):
        motion = (motion.model_coordinates(motion.time), motion.u, motion.udot)
    if isinstance(motion, tuple | list) and len(motion) == 3:
        q, u, rates = motion
        return made.reader.read(model.base, q, u, rates, 0.0, None, None), None
    run = motion if isinstance(motion, Run) else load_run(motion)
    return run_places(made.equations, run, SPLINE if udot is None else udot, lambda at: at.rates), run


def _efforts(names: tuple[str, ...], efforts: object, run: Run | None, rows: int) -> np.ndarray:
    """Return the measured efforts, a column for each speed."""
    if isinstance(efforts, Mapping):
        given = checked_names(efforts, names, "identify(): efforts= names")
        if missing := [name for name in names if name not in given]:
            raise ArmillaryError(
                f"identify(): efforts= has no column for '{missing[0]}'; give the efforts along all speeds"
            )
        found = [given[name] for name in names]
        if run is not None:
            found = [run[column] if isinstance(column, str) else column for column in found]
        efforts = np.column_stack(found)
    try:
        values = np.asarray(efforts, dtype=float)
    except (TypeError, ValueError):
        raise ArmillaryError(f"identify(): efforts must be numbers, not {shown(efforts)}") from None
    if values.shape != (rows, len(names)):
        raise ArmillaryError(
            f"identify(): efforts have the shape {values.shape}, but the motion has {rows} rows and there "
            f"are {len(names)} speeds: {', '.join(names)}"
        )
    return values


def _friction_terms(
    speeds: tuple[str, ...], friction: Sequence[str] | Mapping[str, Sequence[str]]
) -> list[tuple[str, str]]:
    """Return the pairs (speed, kind of friction) that are identified."""
    if isinstance(friction, str):
        friction = (friction,)
    wanted = friction if isinstance(friction, Mapping) else dict.fromkeys(speeds, friction)
    found = []
    for speed, kinds in checked_names(wanted, speeds, "identify(): friction= names").items():
        chosen = several(kinds, "identify(): friction")
        known = checked_names(chosen, FRICTION, "identify(): no friction", listed=True)
        found += [(speed, kind) for kind in known]
    return found


def _friction_columns(made: RegressorModel, speeds: np.ndarray, terms: list[tuple[str, str]]) -> np.ndarray:
    found = np.zeros((len(speeds), len(made.names), len(terms)))
    for k, (name, kind) in enumerate(terms):
        u = speeds[:, made.equations.speeds.index(name)]
        shapes = {"viscous": u, "coulomb": np.sign(u), "offset": np.ones_like(u)}
        found[:, made.names.index(name), k] = shapes[kind]
    return found


def _sigma(names: tuple[str, ...], sigma: object) -> np.ndarray | None:
    if sigma is None:
        return None
    if isinstance(sigma, Mapping) and (missing := [n for n in names if n not in sigma]):
        raise ArmillaryError(f"identify(): sigma= has no value for '{missing[0]}'; give one for every speed")
    each = [sigma[n] if isinstance(sigma, Mapping) else sigma for n in names]
    return np.array([positive_number(x, "identify(): sigma") for x in each])


def _solve_weighted_least_squares(
    columns: np.ndarray, right: np.ndarray, sigma: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[int]]:
    """Return x, 1/σ of each speed, the covariance of x, and the indices of undetermined unknowns."""
    rows, speeds, unknowns = columns.shape
    if rows * speeds <= unknowns:
        raise ArmillaryError(
            f"identify(): {rows} rows of {speeds} efforts cannot determine {unknowns} unknowns"
        )
    weights = np.ones(speeds) if sigma is None else 1.0 / sigma
    sizes = np.linalg.norm(columns.reshape(-1, unknowns), axis=0)
    sizes[sizes == 0] = 1.0
    for _ in range(1 if sigma is not None else _ROUNDS):
        W = (columns * weights[:, None]).reshape(-1, unknowns)
        x = np.linalg.lstsq(W / sizes, (right * weights).ravel(), rcond=1e-10)[0] / sizes
        if sigma is None:
            left = right - columns @ x
            spread = np.sqrt(np.sum(left**2, axis=0) / max(rows - unknowns / speeds, 1.0))
            weights = 1.0 / np.maximum(spread, 1e-12 * np.max(np.abs(right), initial=1e-300))
    W = (columns * weights[:, None]).reshape(-1, unknowns)
    covariance, groups = covariance_of(W)
    return x, weights, covariance, sorted({k for group in groups for k in group})


def _nearest_possible_bodies(
    made: RegressorModel,
    parameters: Mapping[str, object] | None,
    rows: np.ndarray,
    x: np.ndarray,
    prior: float,
) -> tuple[dict[str, BodyInertia], np.ndarray]:
    """Return the physically possible bodies nearest to x in the metric RᵀR, and x of these bodies."""
    from scipy.optimize import least_squares

    names, matrix, offset, start = _body_map(made, parameters)
    R = np.linalg.qr(rows, mode="r")
    free, count = len(x) - len(made.parameters), 10 * len(names)
    nominal = np.concatenate([theta_of(phi) for phi in start]) if names else np.empty(0)
    scale = np.ones((len(names), 10))
    for k in range(len(names)):
        scale[k, 4:] = length_of(nominal[10 * k : 10 * k + 10])
    scale = prior * scale.ravel()

    def theta(z: np.ndarray) -> np.ndarray:
        found: np.ndarray = (nominal + scale * z[:count]).reshape(-1, 10)
        return found

    def base(z: np.ndarray) -> np.ndarray:
        return np.concatenate(
            [matrix @ numbers_of(theta(z)).ravel() + offset, z[count:] + x[len(x) - free :]]
        )

    def residuals(z: np.ndarray) -> np.ndarray:
        return np.concatenate([R @ (base(z) - x), z[:count]])

    def slopes(z: np.ndarray) -> np.ndarray:
        found = np.zeros((len(x), count + free))
        for k, own in enumerate(numbers_slopes(theta(z))):
            place = slice(10 * k, 10 * k + 10)
            found[: len(matrix), place] = matrix[:, place] @ (own * scale[place])
        found[len(matrix) :, count:] = np.eye(free)
        return np.vstack([R @ found, np.eye(count, count + free)])

    found = least_squares(residuals, np.zeros(count + free), slopes, max_nfev=_EVALUATIONS)
    numbers = dict(zip(names, numbers_of(theta(found.x)), strict=True))
    return {name: body_inertia(phi) for name, phi in numbers.items()}, base(found.x)


def _body_map(
    made: RegressorModel, parameters: Mapping[str, object] | None
) -> tuple[list[str], np.ndarray, np.ndarray, list[np.ndarray]]:
    """Return the names of the bodies that have mass, B and b in π = B φ + b, and the bodies' described φ."""
    linear, groups = made.linear, made.groups
    equations = made.equations
    values = parameter_values(made, parameters)
    start: dict[str, np.ndarray] = {}
    for name in linear.bodies:
        body = equations.system.bodies[name]
        plain = equations.reduction.plain
        found = evaluate_all([plain(e) for e in _inertial_expressions(body)], values)
        phi = np.array([float(v) for v in found])
        if np.any(np.isnan(phi)):
            raise ArmillaryError(
                f"identify(): the description has no values of the mass, mass centre or inertia of '{name}' "
                "to start from; give rough ones in parameters=, or defaults"
            )
        if phi[0] > 0:
            start[name] = phi
    names = list(start)
    own = [s for name in names for s in linear.bodies[name]]
    zero = {s: 0.0 for six in linear.bodies.values() for s in six}
    wanted = [linear.parameters[k].of_bodies for k in (*groups.independent, *groups.dependent)]
    slopes = [gradient(e, own) for e in wanted]
    flat = evaluate_all([e for row in slopes for e in row], {**values, **zero})
    G = np.array([float(v) for v in flat]).reshape(len(wanted), len(own))
    g = np.array([float(v) for v in evaluate_all(wanted, {**values, **zero})])
    n = len(groups.independent)
    return names, G[:n] + groups.shares @ G[n:], g[:n] + groups.shares @ g[n:], list(start.values())


def parameter_values(made: RegressorModel, parameters: Mapping[str, object] | None) -> dict[Expr, float]:
    """Return the values of all parameters in the model's units; NaN for a parameter without a value."""
    table, plain = parameter_table(made.functions.equations), made.equations.reduction.plain
    known = table.values(parameters)
    return {
        plain(made.equations.system.parameters[name]): known.get(name, float("nan")) * factor
        for name, factor in zip(table.names, table.factors, strict=True)
    }


def _inertial_expressions(body: Body) -> list[Expr]:
    """Return φ of a body as expressions, about its origin and in its axes."""
    c = body.com_coordinates
    J = matrix_sum(body.inertia, point_mass_inertia(body.mass, c))
    return [as_expr(x) for x in (body.mass, *scaled(c, body.mass), *(J[i][j] for i, j in ELEMENTS))]


def _named_parameters(made: RegressorModel, bodies: Mapping[str, BodyInertia]) -> dict[str, float]:
    """Return the identified values of parameters of the description that are a mass, a coordinate of a mass
    centre or an inertia, and do not enter the geometry.
    """
    everywhere = [as_expr(x) for body in made.equations.system.bodies.values() for x in body.at]
    geometry = {s.data.name for s in symbols(*everywhere)}
    table = parameter_table(made.functions.equations)
    factors = dict(zip(table.names, table.factors, strict=True))
    found: dict[str, float] = {}
    for name, inertia in bodies.items():
        body = made.equations.system.bodies[name]
        pairs = [(body.mass, inertia.mass), *zip(body.com_coordinates, inertia.com, strict=True)]
        pairs += [(body.inertia[i][j], inertia.inertia[i, j]) for i, j in ELEMENTS]
        for node, value in pairs:
            own = isinstance(node, Expr) and node.kind == "symbol" and node.data.name not in geometry
            if own and node.data.name in factors:
                found.setdefault(node.data.name, float(value) / factors[node.data.name])
    return found
