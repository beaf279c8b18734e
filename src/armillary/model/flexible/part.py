"""The numbers of a flexible part: everything that the equations of motion need of its modes.

About the origin of the part's body, in its axes, with v and ω the origin's velocity and the body's angular
velocity, η and ξ the modal coordinates and their rates, the kinetic energy is

    T = ½ m v·v + v·(ω × c) + ½ ω·Jω + v·Pξ + ω·Hξ + ½ ξ·Mξ

    c(η) = c + Pη + ½ Σ η_p η_q g_pq              P_p(η) = P_p + Σ η_q g_pq
    J(η) = J + Σ η_p J1_p + ½ Σ η_p η_q J2_pq      H_p(η) = H_p + Σ η_q H1_qp

which is exact to second order in the deformation, and energy is conserved whether the second-order terms g,
J2 and H1 are there or not. With r a particle's undeformed place and ψ_p its shapes, P = ∫ψ, H = ∫r×ψ, M =
∫ψ·ψ, J1 = ∫(2 r·ψ 1 − rψᵀ − ψrᵀ) and so on (Stoneking 2010; corrected there by the second-order terms).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from armillary.errors import ModelError, nearest
from armillary.untyped import Given

Array = np.ndarray
MatrixLike: TypeAlias = Any  # an array or a sparse matrix of SciPy, which has no types

# Modes that are less coherent than this in M and K are orthogonal; what is left is rounding.
ORTHOGONAL = 1e-9


@dataclass(frozen=True, eq=False, repr=False)
class FlexibleNode:
    """A place of a flexible part: its undeformed position, and how the modes move and turn it.

    It stands at r + Ψη + ½ Σ η_p η_q G_pq; the last term, the foreshortening, is zero unless stiffening was
    requested.
    """

    name: str
    position: Array  # 3
    shape: Array  # Ψ, 3 × N
    rotation: Array  # Θ, 3 × N: rotation vector per unit of each mode
    shortening: Array | None = None  # G, 3 × N × N
    place: Given = None  # the station s or (x, y) by which it was requested; None for nodes with a name

    @property
    def key(self) -> Given:
        """The key of `FlexiblePart.node`: its place where it has one, else its name."""
        return self.name if self.place is None else self.place

    def __repr__(self) -> str:
        return f"Node('{self.name}' at ({', '.join(f'{x:g}' for x in self.position)}))"

    def truncated(self, modes: int) -> FlexibleNode:
        """The same place moved by the first modes only."""
        return replace(
            self,
            shape=self.shape[:, :modes],
            rotation=self.rotation[:, :modes],
            shortening=None if self.shortening is None else self.shortening[:, :modes, :modes],
        )


@dataclass(frozen=True, eq=False, repr=False)
class Lumps:
    """The masses behind a part, node by node, where it was made from such.

    ``stiffness`` couples the six displacements of each node (three translations, three rotations, node after
    node), and ``shapes`` are the modes in them. Of matrices the nodes that are fixed are left out here (their
    mass is in the part's own); of separate masses every node is here, whether the modes move it or not.
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
    """Complex modes that were given as data, about the part's spin on a free vehicle of its total mass.

    Shapes Ψ + iΓ are in the six displacements of each node. ``whole`` is whether they move in no more real
    shapes than there are modes, so that the stiffness follows from them.
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
    spin: Array | None = (
        None  # 3: angular velocity about which the part is meant to turn, where one was given
    )
    total_mass: float | None = None  # of the free vehicle whose modes these are; None: with the body held
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

        Where the part's modes are coupled through M or K, frequencies, damping and effective masses refer to
        the uncoupled modes Φ, K Φ = M Φ ω², lowest first.
        """
        return self._uncoupled[0]

    @property
    def damping(self) -> Array:
        """Damping ratio of each of these modes, φᵀCφ / 2ω with φᵀMφ = 1, or 0 without stiffness."""
        rates, modes = self._uncoupled
        own = np.diag(modes.T @ self.C @ modes)
        found: Array = np.divide(own, 2 * rates, out=np.zeros(self.modes), where=rates > 0)
        return found

    @property
    def effective_masses(self) -> Array:
        """Mass that each of these modes moves along x, y, z when the body is shaken: (Pφ)², N × 3.

        Over all modes of a clamped part they add up to its mass, so the missing mass is lost by truncation.
        """
        found: Array = ((self.P @ self._uncoupled[1]) ** 2).T
        return found

    def check_orthogonal(self) -> float:
        """The largest |A_pq| / √(A_pp A_qq) of two different modes, in M or in K: 0 when orthogonal."""
        return max(coherence(self.M)[0], coherence(self.K)[0])

    def node(self, where: object) -> FlexibleNode:
        """A node: a text is its name; on beams and plates anything else is a place, a station s or (x, y).

        Elsewhere a whole number n is the name "n", as nodes are called that were given without names.
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
        """The same part with its first modes only."""
        if not isinstance(modes, int | np.integer) or not 1 <= modes <= self.modes:
            raise ModelError(
                f"{modes} modes requested, but there are {self.modes}; request 1 to {self.modes}"
            )
        if self.complex_modes is not None and modes < self.modes:
            raise ModelError("complex modes that were given as data are not cut off here; give fewer")
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
        """Modes as text: frequency, damping ratio, and effective mass along x, y, z."""
        lines = ["mode   frequency [Hz]   damping   effective mass x, y, z"]
        rows = zip(self.frequencies / (2 * np.pi), self.damping, self.effective_masses, strict=True)
        least = 1e-9 * max(self.mass, float(self.effective_masses.max(initial=0.0)))  # below it is rounding
        for i, (hertz, ratio, masses) in enumerate(rows, 1):
            masses = np.where(masses > least, masses, 0.0)
            lines.append(f"{i:4d} {hertz:16.6g} {ratio:9.4g}   " + " ".join(f"{m:10.4g}" for m in masses))
        return "\n".join(lines)


def uncouple_modes(M: Array, K: Array) -> tuple[Array, Array]:
    """(ω, Φ) of K Φ = M Φ ω² with ΦᵀMΦ = 1: orthogonal modes unchanged, others uncoupled, lowest first."""
    scale = 1 / np.sqrt(np.diag(M))
    if max(coherence(M)[0], coherence(K)[0]) < ORTHOGONAL:
        return np.sqrt(np.maximum(np.diag(K), 0.0) / np.diag(M)), np.diag(scale)
    root = np.linalg.inv(np.linalg.cholesky(M * np.outer(scale, scale))) * scale
    squares, vectors = np.linalg.eigh(root @ K @ root.T)
    return np.sqrt(np.maximum(squares, 0.0)), root.T @ vectors


def coherence(matrix: Array) -> tuple[float, int, int]:
    """The largest |A_pq| / √(A_pp A_qq) off the diagonal of a symmetric matrix, with its p and q."""
    if len(matrix) < 2:
        return 0.0, 0, 0
    diagonal = np.abs(np.diag(matrix))
    scale = np.sqrt(np.outer(diagonal, diagonal))
    ratio = np.divide(np.abs(matrix), scale, out=(matrix != 0).astype(float), where=scale > 0)
    np.fill_diagonal(ratio, 0.0)
    p, q = np.unravel_index(np.argmax(ratio), ratio.shape)
    return float(ratio[p, q]), int(p), int(q)
