"""The system matrix of MBDYFR, MBDYFN and MBDYFL: blocks, modal rows and columns, and the solution."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from armillary.algebra.triples import (
    IDENTITY,
    SIX,
    ZERO_MATRIX,
    ZEROS,
    Matrix,
    Scalar,
    Triple,
    add,
    combined,
    cross_triples,
    double_cross,
    inner,
    joined,
    matrix_product,
    matrix_sum,
    matrix_vector,
    minus,
    named,
    named_matrix,
    negative,
    plus,
    scaled,
    scaled_matrix,
    skew,
    skew_product,
    times,
    total,
    transposed,
)
from armillary.mechanics.tree.mass_matrix import ImplicitEquations, uncouple
from armillary.mechanics.tree.tree import MatrixRotation, moment_inertia
from armillary.model.flexible.deformation import weighted_sum
from armillary.program.formalisms.jpl_vehicle import (
    Attitude,
    Barycentres,
    Modes,
    NodeLoad,
    SpinningAppendage,
    Square,
    Vehicle,
)

# The blocks of the system matrix that all three formulations share.
#
#     X_kr = Φ_kr + M_k [c_k][D_rk] + M_r [D_kr][c_r]      Φ_kk = K_k + J_k      Φ_kr = M [D_kr][D_rk]
#
#     A_00 = Σ_k Σ_r X_kr      A_0h = Σ_k Σ_r e(h,r) X_kr g_h      A_hj = g_h·Σ_k Σ_r e(h,k) e(j,r) X_kr g_j
#
# in the reference body's axes. jpl_vehicle.py explains D, K and J; g_h is the axis of hinge h; c_k is the
# vector from the true mass centre of substructure k to o_k; e(h,k) is 1 if hinge h lies between the reference
# body and k, else 0. The report's Def. 39 has superfluous rotations in Φ_kr.
#
# Source: Fleischer and Likins (1975), eqs. 42, 64 and 69.


class Blocks:
    """D, Φ and X of a vehicle in the reference axes at one state, and sums of X along the tree.

    ``shifts`` are the vectors c_k, and ``augmented`` the inertias Φ_kk, in the axes of their own bodies.
    """

    def __init__(
        self,
        vehicle: Vehicle,
        fixed: Barycentres,
        attitude: Attitude,
        shifts: Sequence[Triple],
        augmented: Sequence[Matrix] | None = None,
    ) -> None:
        self.vehicle, self.attitude, self.shifts = vehicle, attitude, shifts
        self.masses = [part.mass for part in vehicle.substructures]
        self.count = len(self.masses)
        names = [part.name for part in vehicle.substructures]
        self.c = [named(attitude.into(k, c), f"c_{names[k]}") for k, c in enumerate(shifts)]
        self.D = [
            [named(attitude.into(k, d), f"D_{names[k]}_{j}") for j, d in enumerate(row)]
            for k, row in enumerate(fixed.D)
        ]
        self.phi = [
            a
            if attitude.R[k] == IDENTITY
            else MatrixRotation(attitude.R[k]).symmetric_to_parent(a, f"Phi_{names[k]}")
            for k, a in enumerate(augmented or fixed.augmented)
        ]

    @cached_property
    def X(self) -> list[list[Matrix]]:
        """X_kr = X_rkᵀ."""
        found: list[list[Matrix]] = [[ZERO_MATRIX] * self.count for _ in range(self.count)]
        M, names = self.vehicle.mass, [part.name for part in self.vehicle.substructures]
        for k in range(self.count):
            for r in range(k, self.count):
                base = self.phi[k] if k == r else scaled_matrix(skew_product(self.D[k][r], self.D[r][k]), M)
                here = scaled_matrix(skew_product(self.c[k], self.D[r][k]), self.masses[k])
                there = scaled_matrix(skew_product(self.D[k][r], self.c[r]), self.masses[r])
                found[k][r] = named_matrix(matrix_sum(base, here, there), f"X_{names[k]}_{names[r]}")
                found[r][k] = transposed(found[k][r])
        return found

    @cached_property
    def sums(self) -> list[list[Matrix]]:
        """Σ X_kr as [a][b], over all bodies k carried by body a (a included) and r carried by b."""
        reach = [[r for r in range(self.count) if self.vehicle.beyond(k, r)] for k in range(self.count)]
        found: list[list[Matrix]] = [[ZERO_MATRIX] * self.count for _ in range(self.count)]
        for a in range(self.count):
            for b in range(a, self.count):
                terms = matrix_sum(*(self.X[k][r] for k in reach[a] for r in reach[b]))
                found[a][b] = named_matrix(terms, f"A_{a}_{b}")
                found[b][a] = transposed(found[a][b])
        return found

    def matrix(self) -> dict[tuple[int, int], Scalar]:
        """Return A for the reference body (0 to 2) and hinges (from 3), by (row, column), row ≤ column."""
        found = {(i, j): self.sums[0][0][i][j] for i in range(3) for j in range(i, 3)}
        hinges = self.vehicle.hinges
        for j, (b, hinge) in enumerate(hinges):
            column = matrix_vector(self.sums[0][b], self.attitude.g[j])
            found |= {(i, 3 + j): column[i] for i in range(3)}
            for h, (a, _) in enumerate(hinges[: j + 1]):
                column = matrix_vector(self.sums[a][b], self.attitude.g[j])
                found[3 + h, 3 + j] = inner(self.attitude.g[h], column)
            found[3 + j, 3 + j] = plus(found[3 + j, 3 + j], hinge.armature)
        return found

    def reach(self, k: int, connection: int) -> Triple:
        """Σ_r e(h,r) D_rk for the hinges h of body ``connection``; for the reference body, 0, over all r."""
        return add(*(self.D[r][k] for r in range(self.count) if self.vehicle.beyond(connection, r)))

    def gyration(self, k: int, gained: Sequence[Triple]) -> Triple:
        """Σ_r X_kr S_r, with S given by body."""
        return add(*(matrix_vector(self.X[k][r], s) for r, s in enumerate(gained)))

    def hinge_rows(self, E: Sequence[Triple]) -> dict[int, Scalar]:
        """Return the right sides B_0 = Σ E_k and B_h = g_h·Σ e(h,k) E_k + τ_h."""
        whole = add(*E)
        found: dict[int, Scalar] = dict(enumerate(whole))
        for h, (k, hinge) in enumerate(self.vehicle.hinges):
            beyond = add(*(E[r] for r in range(self.count) if self.vehicle.beyond(k, r)))
            found[3 + h] = plus(inner(self.attitude.g[h], beyond), hinge.torque)
        return found

    def spinning(self, k: int, r: int) -> Triple:
        """w_r × (w_r × D_rk)."""
        return double_cross(self.attitude.w[r], self.D[r][k])


@dataclass(frozen=True, eq=False)
class ReferenceLoads:
    """Forces F_k, their sum F, and moments about the true mass centres, in the reference axes."""

    forces: list[Triple]
    total: Triple
    moments: list[Triple]


def reference_loads(
    blocks: Blocks, deflections: Sequence[Sequence[tuple[NodeLoad, Triple]]]
) -> ReferenceLoads:
    """Return the loads of a vehicle; ``deflections`` are (load, displacement) of nodes by substructure.

        T_k = torque + Σ t_s + Σ (r_s + u_s) × f_s + c_k × F_k

    In the report's text the torque is about the true mass centre; in its programs, as here, the torque is
    about o and is then shifted. Cross products are made in the body's axes, since the first-order attitudes
    of MBDYFL do not preserve them.
    """
    forces, moments = [], []
    for k, part in enumerate(blocks.vehicle.substructures):
        force = add(part.force, *(load.force for load, _ in deflections[k]))
        torque = add(
            part.torque,
            *(load.torque for load, _ in deflections[k]),
            *(cross_triples(add(load.place, moved), load.force) for load, moved in deflections[k]),
        )
        forces.append(named(blocks.attitude.into(k, force), f"F_{part.name}"))
        torque = add(torque, cross_triples(blocks.shifts[k], force))
        moments.append(named(blocks.attitude.into(k, torque), f"T_{part.name}"))
    return ReferenceLoads(forces, named(add(*forces), "F"), moments)


def load_moment(blocks: Blocks, loads: ReferenceLoads, k: int) -> Triple:
    """T_k + Σ_r D_kr × F_r + c_k × (M_k/M F − F_k): the part of the loads in E_k."""
    shares = [cross_triples(blocks.D[k][r], f) for r, f in enumerate(loads.forces)]
    share = scaled(loads.total, blocks.masses[k] / blocks.vehicle.mass)
    shifted = cross_triples(blocks.c[k], add(share, negative(loads.forces[k])))
    return add(loads.moments[k], *shares, shifted)


# The assembled equations of a formulation: solution, momentum and hinge torques.
#
# The unknowns are ẇ_0 (0 to 2), the hinge accelerations, then the modal accelerations by appendage. The row
# of a prescribed hinge is dropped, and its column times γ̈ moves to the right side of all other rows, also of
# modal rows (where the original programs exchanged two subscripts).


@dataclass(frozen=True, eq=False)
class Assembled:
    """A x = b with the rows of all hinges.

    ``motion`` has the speeds whose rates are x: rows 0 to 2 of A times these speeds are the angular momentum.
    """

    matrix: dict[tuple[int, int], Scalar]
    force: dict[int, Scalar]
    given: dict[int, Scalar]  # accelerations of prescribed hinges
    names: dict[int, str]
    motion: list[Scalar]

    def element(self, i: int, j: int) -> Scalar:
        """A_ij."""
        return self.matrix.get((min(i, j), max(i, j)), 0)

    def row(self, i: int, values: Sequence[Scalar]) -> Scalar:
        """Σ_j A_ij value_j."""
        return total([times(self.element(i, j), v) for j, v in enumerate(values)])

    @property
    def momentum(self) -> Triple:
        """Angular momentum about the system's mass centre in the reference axes, without rotors."""
        return joined(self.row(i, self.motion) for i in range(3))

    def solve(self) -> list[Scalar]:
        """Return all accelerations, including given ones."""
        free = [i for i in range(len(self.motion)) if i not in self.given]
        force = {
            i: minus(self.force[i], total([times(self.element(i, j), a) for j, a in self.given.items()]))
            for i in free
        }
        matrix = {(i, j): a for (i, j), a in self.matrix.items() if i in force and j in force}
        x = uncouple(ImplicitEquations(matrix, force, self.names), "fewest neighbours")
        return [self.given[i] if i in self.given else x[i] for i in range(len(self.motion))]

    def hinge_torques(self, x: list[Scalar], applied: list[Scalar]) -> list[Scalar]:
        """Return the torques at the hinges.

        For a prescribed hinge, the torque that its motion needs is found from the dropped row and added to
        the applied torque.
        """
        found = []
        for h, torque in enumerate(applied, start=3):
            lacking = minus(self.row(h, x), self.force[h]) if h in self.given else 0
            found.append(plus(torque, lacking))
        return found


# The rows and columns of modes in the system matrix, which all three formulations share.
#
# A modal unknown gives its substructure k a momentum p and an angular momentum h about o_k. The effect
# on the bodies beyond hinge j (for j = 0 on all bodies) is Y_j = e(j,k) h + [Σ_r e(j,r) D_rk] p, and
#
#     A_0m = Y_0        A_jm = g_j·Y_j        A_ml = −p_m·p_l / M   for another appendage,
#
# since the vehicle is free in space: appendages are coupled through the motion of the mass centre.
#
# Source: Fleischer and Likins (1975), eqs. 42 and 69, with e(j,k) corrected as `connection_carries` says.


@dataclass(frozen=True, eq=False)
class ModalColumns:
    """The columns of an appendage's modes on substructure k, in its axes.

    ``momenta`` p and ``moments`` h are per unit of ``rates``; ``mass`` is A_mm.
    """

    k: int
    momenta: Modes
    moments: Modes
    mass: Square
    rates: Sequence[Scalar]


def connection_carries(
    vehicle: Vehicle, ends: Sequence[int], appendages: Sequence[ModalColumns], number: int
) -> list[bool]:
    """Return e(j,k) for the bodies ``ends``: whether each is, or carries, the body k of an appendage.

    The report's listings have the number of the appendage instead of k, which makes its Fig. 9 wrong.
    """
    return [vehicle.beyond(a, appendages[number].k) for a in ends]


def assemble_equations(
    blocks: Blocks,
    rows: dict[int, Scalar],
    appendages: Sequence[ModalColumns],
    forces: Sequence[Sequence[Scalar]],
) -> Assembled:
    """Return all equations, from the right sides of the hinge rows and the modal forces of each appendage.

    The terms −Σ_j Y_jᵀ s_j of hinge rates are added to the modal forces here.
    """
    vehicle, attitude = blocks.vehicle, blocks.attitude
    hinges = vehicle.hinges
    ends = [0, *(a for a, _ in hinges)]
    matrix, force = blocks.matrix(), dict(rows)
    names = {i: f"w_{'xyz'[i]}" for i in range(3)} | {i: h.name for i, (_, h) in enumerate(hinges, start=3)}
    motion = [*vehicle.spin, *(hinge.rate for _, hinge in hinges)]
    before: list[tuple[int, list[Triple]]] = []
    for number, (part, pushed) in enumerate(zip(appendages, forces, strict=True)):
        start, owner = len(motion), vehicle.substructures[part.k].name
        reach = [named(blocks.reach(part.k, a), f"r_{owner}_{a}") for a in ends]
        paths = connection_carries(vehicle, ends, appendages, number)
        momenta = [named(attitude.into(part.k, p), f"p_{owner}_{n}") for n, p in enumerate(part.momenta, 1)]
        moments = [named(attitude.into(part.k, h), f"h_{owner}_{n}") for n, h in enumerate(part.moments, 1)]
        for n, (p, h) in enumerate(zip(momenta, moments, strict=True)):
            i = start + n
            Y = [add(h if e else ZEROS, cross_triples(r, p)) for e, r in zip(paths, reach, strict=True)]
            Y = [named(y, f"Y_{owner}_{n + 1}_{j}") for j, y in enumerate(Y)]
            names[i] = f"mode {n + 1} of {owner}"
            matrix |= {(j, i): Y[0][j] for j in range(3)}
            matrix |= {(j, i): inner(g, y) for j, (g, y) in enumerate(zip(attitude.g, Y[1:], strict=True), 3)}
            matrix |= {(start + j, i): part.mass[j][n] for j in range(n + 1)}
            share = scaled(p, -1 / vehicle.mass)
            for first, others in before:
                matrix |= {(first + j, i): inner(other, share) for j, other in enumerate(others)}
            dragged = total([inner(y, s) for y, s in zip(Y[1:], attitude.s, strict=True)])
            force[i] = minus(pushed[n], dragged)
        motion += part.rates
        before.append((start, momenta))
    given = {i: h.acceleration for i, (_, h) in enumerate(hinges, start=3) if h.acceleration is not None}
    return Assembled(matrix, force, given, names, motion)


# Integrals of complex modes over an appendage's nodal bodies, and its deformed inertia.
#
# For a shape of displacements φ and rotations θ, in the axes of the body and with r from o,
#
#     p = Σ m φ        h = Σ (m r × φ + I θ)        J' = Σ (m (2 r·φ 1 − r φᵀ − φ rᵀ) + [θ] I − I [θ])
#
# are constants, and the equations need no other data of the nodes. J' is the change of inertia by the shape,
# and ½ w·J' w is the work that the inertia forces −m w × (w × r) and −w × I w do on the shape.


@dataclass(frozen=True, eq=False)
class ShapeIntegrals:
    """p (``momenta``), h (``moments``) and J' (``slopes``) of each shape."""

    momenta: list[Triple]
    moments: list[Triple]
    slopes: list[Matrix]


@dataclass(frozen=True, eq=False)
class AppendageDeformation:
    """An appendage's M_k c, M_k ċ, change of inertia and its rate, and angular momentum of deformation."""

    shift: Triple
    shift_rate: Triple
    inertia: Matrix
    inertia_rate: Matrix
    spin: Triple


def shape_integrals(part: SpinningAppendage) -> tuple[ShapeIntegrals, ShapeIntegrals]:
    """Return the shape integrals of Γ, for the equations of δ, then of Ψ, for the equations of η."""
    count = range(len(part.frequencies))
    sides = []
    for shapes in (
        [(s, s.gamma, s.gamma_turn) for s in part.particles],
        [(s, s.psi, s.psi_turn) for s in part.particles],
    ):
        found = ShapeIntegrals([], [], [])
        for n in count:
            own = [scaled(moved[n], s.mass) for s, moved, _ in shapes]
            spins = [matrix_vector(s.inertia, turned[n]) for s, _, turned in shapes]
            spins += [cross_triples(s.place, p) for (s, _, _), p in zip(shapes, own, strict=True)]
            slopes = [moment_inertia(p, s.place) for (s, _, _), p in zip(shapes, own, strict=True)]
            slopes += [_commutator(turned[n], s.inertia) for s, _, turned in shapes]
            found.momenta.append(add(*own))
            found.moments.append(add(*spins))
            found.slopes.append(matrix_sum(*slopes))
        sides.append(found)
    return sides[0], sides[1]


def coupling(k: int, part: SpinningAppendage) -> ModalColumns:
    """Return the columns of an appendage: −2σ p and −2σ h, from the shapes Γ for δ and from Ψ for η."""
    momenta: list[Triple] = []
    moments: list[Triple] = []
    for side in shape_integrals(part):
        momenta += [scaled(p, times(-2, s)) for p, s in zip(side.momenta, part.frequencies, strict=True)]
        moments += [scaled(h, times(-2, s)) for h, s in zip(side.moments, part.frequencies, strict=True)]
    count = len(momenta)
    twice = [[2 if i == j else 0 for j in range(count)] for i in range(count)]
    return ModalColumns(k, momenta, moments, twice, (*part.delta, *part.eta))


def appendage_deformation(part: SpinningAppendage, columns: ModalColumns, name: str) -> AppendageDeformation:
    """Return the effects of an appendage's deformation q = 2 (Ψ δ − Γ η), q̇ = −2 (Γ σ δ + Ψ σ η)."""
    gamma, psi = shape_integrals(part)
    moved = add(combined(psi.momenta, part.delta), negative(combined(gamma.momenta, part.eta)))
    states = (*part.delta, *part.eta)
    rates = [times(s, x) for s, x in zip((*part.frequencies, *part.frequencies), states, strict=True)]
    bent = [*psi.slopes, *(scaled_matrix(m, -1) for m in gamma.slopes)]
    return AppendageDeformation(
        scaled(moved, -2),
        negative(combined(columns.momenta, states)),
        weighted_sum(bent, [times(2, x) for x in states], f"dJ_{name}"),
        weighted_sum([*gamma.slopes, *psi.slopes], [times(-2, x) for x in rates], f"Jd_{name}"),
        named(combined(columns.moments, states), f"h_{name}"),
    )


def inertia_work(slope: Matrix, squares: Sequence[Scalar], nominal: Triple) -> Scalar:
    """½ (w·J' w − Ω·J' Ω): the work of the inertia forces less their work at the nominal spin Ω.

    ``squares`` are ``squares_of(w)``.
    """
    half = [slope[i][j] if i != j else times(0.5, slope[i][i]) for i, j in SIX]
    return inner(half, [minus(x, y) for x, y in zip(squares, squares_of(nominal), strict=True)])


def squares_of(w: Triple) -> list[Scalar]:
    """w_i w_j, in the order of SIX."""
    return [times(w[i], w[j]) for i, j in SIX]


def _commutator(b: Triple, inertia: Matrix) -> Matrix:
    """[b] I − I [b]."""
    turn = skew(b)
    return matrix_sum(matrix_product(turn, inertia), scaled_matrix(matrix_product(inertia, turn), -1))
