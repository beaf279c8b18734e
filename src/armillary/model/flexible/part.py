"""The numbers of a flexible part: all properties of its modes that the equations of motion need.

Let v be the velocity of the origin of the part's body, ω the body's angular velocity, η the modal coordinates
and ξ their rates. About this origin and in the body's axes, the kinetic energy is

    T = ½ m v·v + v·(ω × c) + ½ ω·Jω + v·Pξ + ω·Hξ + ½ ξ·Mξ

    c(η) = c + Pη + ½ Σ η_p η_q g_pq              P_p(η) = P_p + Σ η_q g_pq
    J(η) = J + Σ η_p J1_p + ½ Σ η_p η_q J2_pq      H_p(η) = H_p + Σ η_q H1_qp

which is exact to second order in the deformation. Energy is conserved with or without the second-order terms
g, J2 and H1. With a particle's undeformed position r and its shapes ψ_p, the integrals over the mass are
P = ∫ψ, H = ∫r×ψ, M = ∫ψ·ψ, J1 = ∫(2 r·ψ 1 − rψᵀ − ψrᵀ) and so on. They are those of Stoneking (2010), with
second-order terms added.

For computed modes, the integrals follow from a mass matrix, as products of rigid motions and modes. Every
node has six displacements, three translations and three rotations. The body's motion v, ω and the modal rates
ξ give the node the following velocities, that of rotation resolved in axes that rotate with the node:

    translation   v + ω × (r + ψη + ½ηGη) + (ψ + Gη)ξ
    rotation      Rᵀω + J_r θξ,      Rᵀ = 1 − b̃ + ½ b̃b̃,   J_r = 1 − ½ b̃,   b = θη

with the node's shapes ψ, θ and its foreshortening G. These velocities and the mass matrix give the kinetic
energy above; each array of `FlexiblePart` is a coefficient of this energy. For lumped nodes with masses m and
inertias I the arrays are the sums over particles and small bodies of Stoneking (2010), with the inertia of
each node rotated by RIRᵀ. For a consistent mass matrix of a finite-element program the arrays are exact if
the interpolation of the elements represents ω × u(x) whenever it represents u(x). This holds for solid
elements, whose mass matrix has the form m ⊗ 1₃, and for bending of beam elements. For other elements the
second-order terms are as accurate as the mesh.

The rounding errors of computed modes are removed: numbers that are zero, one or equal in exact arithmetic are
made so. These errors differ between processors and libraries of linear algebra, and would make the generated
program, and its count of operations, differ too: a coupling of 1e-17 instead of 0 costs a multiplication and
an addition, and two moments that differ in the last bit cannot share a product. The rule for every
coefficient x with its natural size s is

    |x| ≤ 1e-9 s              becomes 0
    ||x| − |y|| ≤ 1e-12 s     x and y of one array get the same magnitude
    ||x| − 1| ≤ 1e-12 s       becomes ±1

In the second line H and J1 count as one array, and so do M, ½ J2 and H1. The natural size is the bound of the
integral by the inequality of Cauchy and Schwarz. With the mass m, J_s = ½ tr J = ∫r·r and a_p = √M_pp it is

    c: √(m J_s)    J: J_s    P_p: √m a_p    H_p, J1_p: √J_s a_p    ½ J2_pq, H1_qp: a_p a_q
    A = M, K or C: √(A_pp A_qq)    displacements of nodes: a_p/√m    rotations of nodes: a_p/√J_s

With foreshortening G let b_pq² be ∫G_pq·G_pq, but at least b_pp b_qq. The sizes of ½ J2 and H1 are then
larger by √J_s b_pq, and the size of g is √m b_pq. Numbers given by the user (modal integrals, coupling,
shapes) are not changed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from armillary.errors import ModelError, nearest
from armillary.untyped import DataTable, Given

Array = np.ndarray
MatrixLike: TypeAlias = Any  # an array or a sparse matrix of SciPy, which has no types

# Modes whose ``coherence`` in M and K is smaller are orthogonal except for rounding errors. Coefficients up
# to this times their natural size are rounding errors, too.
ORTHOGONAL = 1e-9


@dataclass(frozen=True, eq=False, repr=False)
class FlexibleNode:
    """A node of a flexible part: its undeformed position r, and its displacement and rotation by each mode.

    The node moves to r + Ψη + ½ Σ η_p η_q G_pq; the last term, the foreshortening, is zero unless stiffening
    was requested.
    """

    name: str
    position: Array  # 3
    shape: Array  # Ψ, 3 × N
    rotation: Array  # Θ, 3 × N: rotation vector per unit of each mode
    shortening: Array | None = None  # G, 3 × N × N
    place: Given = None  # the station s or (x, y) by which it was requested; None for nodes with a name

    @property
    def key(self) -> Given:
        """The argument of `FlexiblePart.node`: the place of the node if it has one, else its name."""
        return self.name if self.place is None else self.place

    def __repr__(self) -> str:
        return f"Node('{self.name}' at ({', '.join(f'{x:g}' for x in self.position)}))"

    def truncated(self, modes: int) -> FlexibleNode:
        """Return the node with its first modes only."""
        return replace(
            self,
            shape=self.shape[:, :modes],
            rotation=self.rotation[:, :modes],
            shortening=None if self.shortening is None else self.shortening[:, :modes, :modes],
        )


@dataclass(frozen=True, eq=False, repr=False)
class Lumps:
    """The masses of a part that was made from separate masses or a lumped mass matrix, node by node.

    Rows of ``stiffness`` and ``shapes`` are displacements: three translations and three rotations of the
    first node, then of the second, and so on. For a part from matrices, nodes that are fixed are left out,
    although the part's mass includes theirs; for a part from separate masses, all nodes are included.
    """

    masses: Array  # n
    inertias: Array  # n × 3 × 3
    positions: Array  # n × 3
    shapes: Array  # 6n × N
    stiffness: Array | None = None  # 6n × 6n

    def __repr__(self) -> str:
        return f"Lumps({len(self.masses)} nodes, mass {self.masses.sum():g})"


@dataclass(frozen=True, eq=False, repr=False)
class GivenModes:
    """Complex modes given as data, for a spin of the part and for the total mass of a free vehicle.

    Rows of the shapes Ψ + iΓ are the six displacements of each node. ``whole`` states that the modes span no
    more real shapes than there are modes, so that the stiffness follows from the modes.
    """

    frequencies: Array  # N, rad/s
    psi: Array  # 6n × N
    gamma: Array  # 6n × N
    damping: Array  # N, ratios
    whole: bool = True


@dataclass(frozen=True, eq=False, repr=False)
class FlexiblePart:
    """Modal integrals of a flexible part with N modes, about its body's origin in the body's axes."""

    mass: float
    first: Array  # c, 3
    inertia: Array  # J, 3 × 3
    P: Array  # 3 × N
    H: Array  # 3 × N
    M: Array  # N × N
    K: Array  # N × N
    C: Array  # N × N
    J1: Array  # N × 3 × 3
    J2: Array | None = None  # N × N × 3 × 3
    H1: Array | None = None  # N × 3 × N: H1[q][:, p] = ∂H_p/∂η_q
    g: Array | None = None  # N × N × 3
    nodes: dict[str, FlexibleNode] = field(default_factory=dict)
    lumps: Lumps | None = None
    spin: Array | None = None  # 3: nominal angular velocity of the part, if one was given
    total_mass: float | None = None  # of the free vehicle with these modes; None: the body was held
    complex_modes: GivenModes | None = None
    anywhere: Callable[[Given], FlexibleNode] | None = (
        None  # a node at any station of a beam, any (x, y) of a plate
    )

    @property
    def modes(self) -> int:
        """The number of modes."""
        return len(self.M)

    def __repr__(self) -> str:
        hertz = self.frequencies / (2 * np.pi)
        span = f"{hertz.min():.4g} to {hertz.max():.4g} Hz"
        return f"FlexiblePart(modes={self.modes} of {span}, mass={self.mass:.6g}, nodes={len(self.nodes)})"

    @cached_property
    def _uncoupled(self) -> tuple[Array, Array]:
        return uncouple_modes(self.M, self.K)

    @property
    def frequencies(self) -> Array:
        """Angular frequencies in rad/s with the body held: √(K_pp / M_pp) mode by mode.

        If the part's modes are coupled by M or K, these frequencies, the damping and the effective masses
        belong to the uncoupled modes Φ with K Φ = M Φ ω², lowest first.
        """
        return self._uncoupled[0]

    @property
    def damping(self) -> Array:
        """Damping ratio of each mode of ``frequencies``: φᵀCφ / 2ω with φᵀMφ = 1, or 0 without stiffness."""
        rates, modes = self._uncoupled
        own = np.diag(modes.T @ self.C @ modes)
        found: Array = np.divide(own, 2 * rates, out=np.zeros(self.modes), where=rates > 0)
        return found

    @property
    def effective_masses(self) -> Array:
        """Mass that each mode of ``frequencies`` moves along x, y, z when the body is shaken: (Pφ)², N × 3.

        The sum over all modes of a clamped part is the mass of the part. So the part of the mass that is
        missing in the sum over some modes is lost by truncation.
        """
        found: Array = ((self.P @ self._uncoupled[1]) ** 2).T
        return found

    def check_orthogonal(self) -> float:
        """Return the largest |A_pq| / √(A_pp A_qq) of two different modes in M or K; 0 if orthogonal."""
        return max(coherence(self.M)[0], coherence(self.K)[0])

    def node(self, where: object) -> FlexibleNode:
        """Return a node by name, or on beams and plates by place: a station s or (x, y).

        On other parts a whole number n stands for the name "n", which nodes given without names have.
        """
        if self.anywhere is not None and not isinstance(where, str):
            return self.anywhere(where)
        if not isinstance(where, str | int | np.integer):
            raise ModelError(f"node {where!r}: only beams and plates have nodes by place; give a name")
        name = str(where)
        if name not in self.nodes:
            known = ", ".join(f"'{name}'" for name in list(self.nodes)[:8]) or "none"
            raise ModelError(f"there is no node '{name}'{nearest(name, self.nodes)}; known nodes: {known}")
        return self.nodes[name]

    def truncated(self, modes: int) -> FlexiblePart:
        """Return the part with its first modes only."""
        if not isinstance(modes, int | np.integer) or not 1 <= modes <= self.modes:
            raise ModelError(
                f"{modes} modes requested, but there are {self.modes}; request 1 to {self.modes}"
            )
        if self.complex_modes is not None and modes < self.modes:
            raise ModelError("complex modes given as data cannot be truncated; give fewer modes")
        few = slice(modes)
        lumps, anywhere = self.lumps, self.anywhere
        return replace(
            self,
            P=self.P[:, few],
            H=self.H[:, few],
            M=self.M[few, few],
            K=self.K[few, few],
            C=self.C[few, few],
            J1=self.J1[few],
            J2=None if self.J2 is None else self.J2[few, few],
            H1=None if self.H1 is None else self.H1[few, :, few],
            g=None if self.g is None else self.g[few, few],
            nodes={name: node.truncated(modes) for name, node in self.nodes.items()},
            lumps=lumps and replace(lumps, shapes=lumps.shapes[:, few]),
            anywhere=anywhere and (lambda place: anywhere(place).truncated(modes)),
        )

    def table(self) -> str:
        """Return the modes as text: frequency, damping ratio, and effective mass along x, y, z."""
        lines = ["mode   frequency [Hz]   damping   effective mass x, y, z"]
        rows = zip(self.frequencies / (2 * np.pi), self.damping, self.effective_masses, strict=True)
        least = 1e-9 * max(self.mass, float(self.effective_masses.max(initial=0.0)))  # below: rounding errors
        for i, (hertz, ratio, masses) in enumerate(rows, 1):
            masses = np.where(masses > least, masses, 0.0)
            lines.append(f"{i:4d} {hertz:16.6g} {ratio:9.4g}   " + " ".join(f"{m:10.4g}" for m in masses))
        return "\n".join(lines)


def uncouple_modes(M: Array, K: Array) -> tuple[Array, Array]:
    """Return (ω, Φ) with K Φ = M Φ ω² and ΦᵀMΦ = 1.

    Modes that are orthogonal already are only scaled; others are replaced by uncoupled modes, lowest first.
    """
    scale = 1 / np.sqrt(np.diag(M))
    if max(coherence(M)[0], coherence(K)[0]) < ORTHOGONAL:
        return np.sqrt(np.maximum(np.diag(K), 0.0) / np.diag(M)), np.diag(scale)
    root = np.linalg.inv(np.linalg.cholesky(M * np.outer(scale, scale))) * scale
    squares, vectors = np.linalg.eigh(root @ K @ root.T)
    return np.sqrt(np.maximum(squares, 0.0)), root.T @ vectors


def coherence(matrix: Array) -> tuple[float, int, int]:
    """Return the largest |A_pq| / √(A_pp A_qq) off the diagonal of a symmetric matrix, with p and q."""
    if len(matrix) < 2:
        return 0.0, 0, 0
    diagonal = np.abs(np.diag(matrix))
    scale = np.sqrt(np.outer(diagonal, diagonal))
    ratio = np.divide(np.abs(matrix), scale, out=(matrix != 0).astype(float), where=scale > 0)
    np.fill_diagonal(ratio, 0.0)
    p, q = np.unravel_index(np.argmax(ratio), ratio.shape)
    return float(ratio[p, q]), int(p), int(q)


# A mass matrix as a function: it maps k motions of all nodes (n × 6 × k) to their momenta (n × 6 × k).
MassTimes = Callable[[Array], Array]

_PERMUTATION = np.zeros((3, 3, 3))
for _i, _j, _k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
    _PERMUTATION[_i, _j, _k], _PERMUTATION[_i, _k, _j] = 1.0, -1.0


def cross_matrix(vectors: Array) -> Array:
    """Return the matrices ṽ with ṽw = v × w, for vectors v along the last axis."""
    found: Array = -np.einsum("abc,...c->...ab", _PERMUTATION, vectors)
    return found


def lumped_mass(masses: Array, inertias: Array) -> MassTimes:
    """Return the mass matrix of separate nodes with masses (n) and inertias (n × 3 × 3)."""

    def apply(motion: Array) -> Array:
        linear, angular = masses[:, None, None] * motion[:, :3], inertias @ motion[:, 3:]
        return np.concatenate([linear, angular], axis=1)

    return apply


def rigid_motions(positions: Array) -> Array:
    """Return the translations and rotations about the origin as motions of the nodes, n × 6 × 6."""
    motions = np.zeros((len(positions), 6, 6))
    motions[:, :3, :3] = motions[:, 3:, 3:] = np.eye(3)
    motions[:, :3, 3:] = -cross_matrix(positions)
    return motions


def modal_integrals(
    apply: MassTimes,
    positions: Array,
    shapes: Array,
    *,
    second_order: bool = True,
    shortening: Array | None = None,
) -> DataTable:
    """Return the fields mass, first, inertia, P, H, M, J1 (if requested, J2, H1, g) of a `FlexiblePart`.

    ``apply`` is the mass matrix, ``positions`` are n × 3, ``shapes`` n × 6 × N, and ``shortening`` G is
    n × 3 × N × N, for n nodes and N modes.
    """
    rigid = rigid_motions(positions)
    momentum = apply(rigid)
    gram = np.tensordot(rigid, momentum, ([0, 1], [0, 1]))
    coupling = np.tensordot(momentum, shapes, ([0, 1], [0, 1]))
    modal = np.tensordot(shapes, apply(shapes), ([0, 1], [0, 1]))
    turning = momentum[:, :, 3:]  # momenta of rotations of the part
    found: DataTable = {
        "mass": float(np.trace(gram[:3, :3]) / 3),
        "first": 0.5 * np.einsum("abc,bc->a", _PERMUTATION, gram[:3, 3:]),  # the block is −c̃
        "inertia": _twin(gram[3:, 3:]),
        "P": coupling[:3],
        "H": coupling[3:],
        "M": _twin(modal),
        "J1": 2 * _twin(_momentum_of_turned_shapes(turning, shapes)),
    }
    if second_order or shortening is not None:
        found["J2"], found["H1"] = _second_order(apply, turning, shapes)
    if shortening is not None:
        found["g"] = np.einsum("sai,sapq->pqi", momentum[:, :3, :3], shortening, optimize=True)
        found["H1"] = found["H1"] + np.einsum("sai,sapq->qip", turning[:, :3], shortening, optimize=True)
        moved = np.einsum("sai,sbpq->pqiab", turning[:, :3], shortening, optimize=True)
        found["J2"] = found["J2"] + 2 * _twin(np.einsum("pqiab,acb->pqic", moved, _PERMUTATION))
    return found


def _twin(matrices: Array) -> Array:
    """Return the symmetric parts of matrices in the last two axes."""
    found: Array = 0.5 * (matrices + np.swapaxes(matrices, -1, -2))
    return found


def _momentum_of_turned_shapes(momentum: Array, shapes: Array) -> Array:
    """Return Σ momentumᵀ S_p over the nodes, N × 3 × 3; S_p = (−ψ̃_p, −θ̃_p) is the change of shape p by
    rotations.
    """
    halves = ((momentum[:, half], shapes[:, half]) for half in (slice(3), slice(3, 6)))
    moved = sum(np.tensordot(p, psi, ([0], [0])) for p, psi in halves)
    found: Array = np.einsum("aibp,acb->pic", moved, _PERMUTATION)
    return found


def _second_order(apply: MassTimes, turning: Array, shapes: Array) -> tuple[Array, Array]:
    """Return J2 (N × N × 3 × 3) and H1 (N × 3 × N) without foreshortening; ``turning`` are the momenta of
    rigid rotations.
    """
    count = shapes.shape[2]
    second, rates = np.zeros((count, count, 3, 3)), np.zeros((count, 3, count))
    angles, spin = shapes[:, 3:], turning[:, 3:]
    turns = bool(np.any(angles)) and bool(np.any(spin))
    for p in range(count):
        turned = np.concatenate([-cross_matrix(shapes[:, :3, p]), -cross_matrix(angles[:, :, p])], axis=1)
        momentum = apply(turned)
        second[p] = 2 * _twin(_momentum_of_turned_shapes(momentum, shapes))
        rates[p] = np.tensordot(momentum, shapes, ([0, 1], [0, 1]))
        if turns:
            own = angles[:, :, p]
            between = np.einsum("abc,sb,scq->saq", _PERMUTATION, own, angles, optimize=True)
            rates[p] -= 0.5 * np.tensordot(spin, between, ([0, 1], [0, 1]))
            # the part of b̃b̃ = bbᵀ − b·b 1 that multiplies η_p η_q: ½(θ_p θ_qᵀ + θ_q θ_pᵀ) − θ_p·θ_q 1
            outer = np.einsum("sai,sa,scq->qic", spin, own, angles, optimize=True)
            outer += np.einsum("sai,saq,sc->qic", spin, angles, own, optimize=True)
            inner = np.einsum("sci,sa,saq->qic", spin, own, angles, optimize=True)
            second[p] += 2 * _twin(0.5 * outer - inner)
    return 0.5 * (second + np.swapaxes(second, 0, 1)), rates


EQUAL = 1e-12


def round_values(values: Array, size: Array | float) -> Array:
    """Return an array without rounding errors, by the rule at the top; ``size`` are the natural sizes."""
    return rounded_together((values, size))[0]


def rounded_together(*arrays: tuple[Array, Array | float]) -> list[Array]:
    """Return arrays without rounding errors, by the rule at the top applied to all elements together.

    Each argument is an array with its natural sizes.
    """
    sizes = [np.broadcast_to(np.asarray(size, dtype=float), values.shape) for values, size in arrays]
    whole = np.concatenate([values.ravel() for values, _ in arrays])
    size = np.concatenate([each.ravel() for each in sizes])
    whole[np.abs(whole) <= ORTHOGONAL * size] = 0.0
    there = np.flatnonzero(whole)
    if len(there):
        there = there[np.argsort(np.abs(whole[there]), kind="stable")]
        whole[there] = np.copysign(_common(np.abs(whole[there]), size[there]), whole[there])
    ends = np.cumsum([values.size for values, _ in arrays])
    return [
        part.reshape(values.shape)
        for part, (values, _) in zip(np.split(whole, ends[:-1]), arrays, strict=True)
    ]


def _common(magnitudes: Array, size: Array) -> Array:
    """Return magnitudes without rounding errors: those that differ by rounding get the same value, and those
    that are nearly 1 become 1. They are given in rising order.
    """
    below, above = size[:-1], size[1:]
    apart = np.diff(magnitudes) > EQUAL * np.minimum(above, below)
    group = np.concatenate([[0], np.cumsum(apart)])
    middle = np.searchsorted(group, np.arange(group[-1] + 1)) + (np.bincount(group) - 1) // 2
    common = magnitudes[middle]
    found: Array = np.where(np.abs(common - 1.0) <= EQUAL * size[middle], 1.0, common)[group]
    return found


def settle(part: FlexiblePart, shortening: Array | None = None, *, given: bool = False) -> FlexiblePart:
    """Return a part without rounding errors in its arrays and nodes; ``shortening`` is b_pq.

    ``given``: the modes are data of the user. Then only the integrals are changed, not the modes.
    """
    mass, polar = part.mass, 0.5 * float(np.trace(part.inertia))
    mode_sizes = np.sqrt(np.diag(part.M))
    pairs = np.outer(mode_sizes, mode_sizes)
    drawn = np.zeros_like(pairs)
    if shortening is not None:
        diagonal = np.sqrt(np.diag(shortening))
        drawn = np.maximum(shortening, np.outer(diagonal, diagonal))
    second = pairs + np.sqrt(polar) * drawn
    H, J1 = rounded_together(
        (part.H, np.sqrt(polar) * mode_sizes), (part.J1, np.sqrt(polar) * mode_sizes[:, None, None])
    )
    zero = np.zeros((0,))
    M, J2, H1 = rounded_together(
        (part.M, pairs),
        (zero, 0.0) if part.J2 is None else (0.5 * part.J2, second[:, :, None, None]),
        (zero, 0.0) if part.H1 is None else (part.H1, second[:, None, :]),
    )
    settled = replace(
        part,
        mass=float(round_values(np.array([mass]), mass)[0]),
        first=round_values(part.first, np.sqrt(mass * polar)),
        inertia=round_values(part.inertia, polar),
        P=round_values(part.P, np.sqrt(mass) * mode_sizes),
        H=H,
        M=M,
        J1=J1,
        J2=None if part.J2 is None else 2 * J2,
        H1=None if part.H1 is None else H1,
        g=None if part.g is None else round_values(part.g, np.sqrt(mass) * drawn[:, :, None]),
    )
    if given:
        return settled
    anywhere, lumps = part.anywhere, part.lumps

    def node(known: FlexibleNode) -> FlexibleNode:
        shapes = _shapes(np.concatenate([known.shape, known.rotation])[None], mass, polar, mode_sizes)[0]
        bent = known.shortening
        if bent is not None and mass > 0:
            bent = round_values(bent, drawn / np.sqrt(mass))
        return replace(known, shape=shapes[:3], rotation=shapes[3:], shortening=bent)

    if lumps is not None:
        moved = _shapes(lumps.shapes.reshape(-1, 6, part.modes), mass, polar, mode_sizes)
        lumps = replace(lumps, shapes=moved.reshape(lumps.shapes.shape))
    return replace(
        settled,
        K=round_values(part.K, _own_pairs(part.K)),
        C=round_values(part.C, _own_pairs(part.C)),
        nodes={name: node(known) for name, known in part.nodes.items()},
        lumps=lumps,
        anywhere=anywhere and (lambda place: node(anywhere(place))),
    )


def shortening_size(masses: Array, shortening: Array | None) -> Array | None:
    """Return b_pq = √∫G_pq·G_pq of the foreshortening G (n × 3 × N × N) of separate masses."""
    if shortening is None:
        return None
    found: Array | None = np.sqrt(np.einsum("s,sapq->pq", masses, shortening**2))
    return found


def _own_pairs(matrix: Array) -> Array:
    own = np.sqrt(np.abs(np.diag(matrix)))
    return np.outer(own, own)


def _shapes(shapes: Array, mass: float, polar: float, own: Array) -> Array:
    """Return shapes n × 6 × N without rounding errors; ``own`` are the sizes a_p of the modes, ``polar`` is
    J_s.
    """
    found = shapes.copy()
    for half, weight in ((slice(3), mass), (slice(3, 6), polar)):
        if weight > 0:
            found[:, half] = round_values(shapes[:, half], own / np.sqrt(weight))
    return found
