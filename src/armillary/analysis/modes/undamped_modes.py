"""Undamped modes of a system at rest, from its mass matrix and stiffness.

    M π̈ + K π = 0          ω² M φ = K φ

π are small displacements along the independent speeds u. With u̇ = M⁻¹ f and f = 0 at equilibrium, the linear
model has ∂u̇/∂q = M⁻¹ ∂f/∂q, and q̇ = N u, so K = −∂f/∂q N = −M (∂u̇/∂q) N. K is symmetric if the loads have
a potential. The dependence of loads on the speeds is left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from armillary.analysis.linear.linearize import linearize
from armillary.analysis.modes.modes import Modes
from armillary.analysis.modes.shapes import LinearPlace, body_functions, by_share
from armillary.errors import ArmillaryError
from armillary.program.linearization import Variable
from armillary.runtime.models.compiled import CompiledModel

_STILL = 1e-6  # largest accelerations at rest, relative to those of a displacement by 1
_SYMMETRIC = 1e-8  # largest asymmetry of the stiffness, relative to its largest element
_ZERO = 1e-12  # a mode whose ω² is below this share of the largest counts as rigid


@dataclass(frozen=True, eq=False, repr=False)
class UndampedModes(Modes):
    """Undamped modes, with λ = iω; a mode with ω² < 0 grows, with λ = |ω|.

    ``mass`` and ``stiffness`` are M and K for the independent ``speeds`` in the model's units. ``vectors``
    has φ of each mode in a row, scaled to a displacement of 1 of the coordinate with the largest
    participation, and ``modal_masses`` are φᵀ M φ.
    """

    mass: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))
    stiffness: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))
    vectors: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))
    speeds: tuple[str, ...] = ()

    @property
    def modal_masses(self) -> np.ndarray:
        """φᵀ M φ of each mode."""
        found: np.ndarray = np.einsum("mi,ij,mj->m", self.vectors, self.mass, self.vectors)
        return found

    @property
    def modal_stiffnesses(self) -> np.ndarray:
        """φᵀ K φ of each mode."""
        found: np.ndarray = np.einsum("mi,ij,mj->m", self.vectors, self.stiffness, self.vectors)
        return found

    @property
    def orthogonality(self) -> float:
        """The largest |φ_iᵀ M φ_j| of two different modes of unit modal mass: a rounding error."""
        unit = self.vectors / np.sqrt(self.modal_masses)[:, None]
        products = unit @ self.mass @ unit.T
        return float(np.max(np.abs(products - np.eye(len(products))), initial=0.0))


def undamped_modes(
    model: CompiledModel, at: object = None, *, parameters: Mapping[str, object] | None = None
) -> UndampedModes:
    """Return the undamped modes at rest from mass matrix and stiffness: ω² M φ = K φ.

    ``at`` is an equilibrium, as for ``linearize``. Loads that depend on the speeds are left out; all of
    them count in ``linearize(…).modes()``.
    """
    lin = linearize(model, at, parameters=parameters)
    if lin.many or lin.linearization is None:
        raise ArmillaryError("undamped modes belong to one operating point; give a single one as at=")
    place = LinearPlace(lin.linearization, float(lin.time), lin.state, lin.memory, lin.parameters)
    first = len(model.equations.targets.coordinates)
    rates = model.derivatives(place.t, place.state, place.parameters, memory=place.memory)
    speeds = rates[first : first + len(model.equations.targets.speeds)]
    return of_matrices(lin.system, lin.A, lin.variables[0], place, speeds)


def of_matrices(
    system: str,
    A: np.ndarray,
    variables: Sequence[Variable],
    place: LinearPlace,
    rates: np.ndarray,
) -> UndampedModes:
    """Return the undamped modes of a linear model; ``rates`` are the accelerations at its operating point."""
    from scipy.linalg import eigh

    positions, speeds = _positions_and_speeds(system, variables)
    factors = np.array([v.factor for v in variables])
    inside = A * factors[:, None] / factors
    u_by_q, N = inside[np.ix_(speeds, positions)], inside[np.ix_(positions, speeds)]
    _check_rest(system, inside, variables, place, rates, speeds)
    first = len(place.linearization.equations.targets.coordinates)
    units = np.eye(len(speeds), len(place.state), first)
    bodies = body_functions(place.linearization).at(place, units)
    M = bodies.velocities.real @ bodies.momenta.real.T
    M = (M + M.T) / 2
    K = -M @ u_by_q @ N
    _check_symmetric(system, K, [variables[k].name for k in speeds])
    K = (K + K.T) / 2
    try:
        squares, vectors = eigh(K, M)
    except np.linalg.LinAlgError as error:
        raise ArmillaryError(
            f"the mass matrix of '{system}' is not positive definite: a joint moves nothing that has a mass"
        ) from error
    squares = np.where(np.abs(squares) <= _ZERO * np.max(np.abs(squares), initial=0.0), 0.0, squares)
    order = np.lexsort((squares, squares != 0))
    squares, phi = squares[order], vectors[:, order].T
    moved = phi @ N.T
    values = np.where(squares >= 0, 1j, 1.0) * np.sqrt(np.abs(squares))
    shares = np.abs(phi * (phi @ M))
    shares = shares / np.sum(shares, axis=1, keepdims=True)
    lead = np.array([by_share(share)[0] for share in shares])
    scale = moved[np.arange(len(moved)), lead] / factors[positions][lead]
    phi, moved = phi / scale[:, None], moved / scale[:, None]
    shapes = np.zeros((len(phi), len(variables)), dtype=complex)
    shapes[:, positions] = moved / factors[positions]
    shapes[:, speeds] = values[:, None] * phi / factors[speeds]
    names = tuple(v.name for v in variables)
    return UndampedModes(
        system, values, shapes, shares, names, tuple(names[k] for k in positions),
        {v.name: v.units for v in variables}, tuple(2 if x == 0 else 0 for x in squares),
        ("",) * len(values), place, None, M, K, phi, tuple(names[k] for k in speeds),
    )  # fmt: skip


def _positions_and_speeds(system: str, variables: Sequence[Variable]) -> tuple[list[int], list[int]]:
    """Return the indices of the positions and of the speeds; each freedom has one of each."""
    positions = [i for i, v in enumerate(variables) if v.role in ("coordinate", "rotation")]
    speeds = [i for i, v in enumerate(variables) if v.role == "speed"]
    if momenta := [v.name for v in variables if v.role == "momentum"]:
        raise ArmillaryError(
            f"'{system}' has the momentum '{momenta[0]}' in place of a speed; derive it with another "
            "formalism, such as 'kane', for undamped modes"
        )
    if len(positions) != len(speeds):
        raise ArmillaryError(
            f"'{system}' has {len(positions)} independent coordinates and {len(speeds)} independent speeds: "
            "constraints on its speeds, such as rolling, leave no mass matrix and stiffness of one size; use "
            "model.linearize(…).modes()"
        )
    if not speeds:
        raise ArmillaryError(f"nothing in '{system}' can move: constraints and locks leave it no modes")
    return positions, speeds


def _check_rest(
    system: str,
    A: np.ndarray,
    variables: Sequence[Variable],
    place: LinearPlace,
    rates: np.ndarray,
    speeds: Sequence[int],
) -> None:
    equations = place.linearization.equations
    start = len(equations.targets.coordinates)
    moving = np.flatnonzero(place.state[start : start + len(speeds)])
    if moving.size:
        name = variables[speeds[int(moving[0])]].name
        raise ArmillaryError(
            f"'{system}' moves there ('{name}' is not zero), so M and K do not give its modes; use "
            "model.linearize(…).modes()"
        )
    states = [i for i, v in enumerate(variables) if v.role == "state"]
    if (coupled := A[np.ix_(speeds, states)]).any():
        name = variables[states[int(np.flatnonzero(coupled.any(axis=0))[0])]].name
        raise ArmillaryError(
            f"the state '{name}' of '{system}' acts on its motion, so M and K do not give its modes; use "
            "model.linearize(…).modes()"
        )
    largest = np.max(np.abs(A[np.ix_(speeds, range(len(A)))]), initial=0.0) or 1.0
    worst = int(np.argmax(np.abs(rates)))
    if abs(rates[worst]) > _STILL * largest:
        name = variables[speeds[worst]].name
        raise ArmillaryError(
            f"'{system}' is not at rest there: '{name}' has the rate {rates[worst]:.3g}; find an equilibrium "
            "with model.equilibrium(…) and give it as at="
        )


def _check_symmetric(system: str, K: np.ndarray, names: Sequence[str]) -> None:
    gap = np.abs(K - K.T)
    i, j = (int(k) for k in np.unravel_index(int(np.argmax(gap)), gap.shape))
    if gap[i, j] > _SYMMETRIC * np.max(np.abs(K)):
        raise ArmillaryError(
            f"the stiffness of '{system}' is not symmetric: {K[i, j]:.6g} and {K[j, i]:.6g} between "
            f"'{names[i]}' and '{names[j]}'; a load has no potential (a follower force, a controller), so "
            "use model.linearize(…).modes()"
        )
