"""Flexible parts from modal data of other programs: integrals, couplings and complex modes.

Modal integrals are those of Stoneking, couplings those of JPL; complex modes are JPL's data ER, EI, SR and
WF. `flexible_part` calls these readers or those of `structures.py`.

Complex modes have shapes φ = Ψ + iΓ and frequencies σ, with the normalisation φ* K' φ + σ² φ* M' φ = 1 of
``ComplexModes``. With it the vectors (φ, iσφ) and their conjugates are orthonormal in diag(K', M'). So in the
space that the real shapes Ψ and Γ of all modes span

    K'⁻¹ = 2 Σ (Ψ Ψᵀ + Γ Γᵀ)        M'⁻¹ = 2 Σ σ² (Ψ Ψᵀ + Γ Γᵀ)

The first equation gives K', and K' gives the stiffness without spin, which every formalism needs. The second
is compared with the masses. Both hold if N modes span N real shapes. If some modes were left out, the others
span more real shapes. Then only the formalism MBDYFR accepts the part, and expressions of the description use
the N real shapes with most of the motion.

Source: Fleischer and Likins (1975), section III.B (the data) and eqs. 20 to 26 (orthogonality).

The real and complex modes of an appendage on a free vehicle are computed from masses, stiffness and nominal
spin Ω. The unknowns q are six displacements of each node, three translations and three rotations, node after
node. With the mass matrix Mn of the nodes and the mass M of the whole vehicle,

    M' q̈ + G' q̇ + K' q = load          M' = Mn (1 − S Sᵀ Mn / M)

    G' = 2 Mn ((SΩ)~ − S [Ω] Sᵀ Mn / M) + Mn (TΩ)~ + (TΩ)~ Mn − (Mn TΩ)~
    K' = K + (TΩ)~ Mn (TΩ)~ + Mn ((SΩ)~(SΩ)~ − S [Ω][Ω] Sᵀ Mn / M) − (TΩ)~ (Mn TΩ)~

Sᵀ sums the translations of all nodes, Tᵀ their rotations. [Ω] is the cross-product matrix of Ω, and ( )~ the
block-diagonal matrix of the cross-product matrices of a vector's triples. K includes the geometric stiffness
of a preload by spin, if there is one. The last term of K' is the separate matrix A' of the report; it is
symmetric if Ω is a principal direction of every node.

Source: Fleischer and Likins (1975), eqs. 16 to 26.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from armillary.algebra.arguments import flag
from armillary.errors import ModelError, nearest, shown
from armillary.model.flexible.part import (
    Array,
    FlexibleNode,
    FlexiblePart,
    GivenModes,
    Lumps,
    MatrixLike,
    cross_matrix,
    lumped_mass,
    modal_integrals,
)
from armillary.model.flexible.part_input import (
    AXES,
    check_symmetric,
    modal_damping,
    modal_mass,
    modal_stiffness,
    mode_names,
    mode_shapes,
    node_places,
    node_records,
    read_array,
    read_positive,
    reduced_mass,
    semidefinite,
    shape_text,
)
from armillary.model.flexible.structures import from_matrices, from_nodes, node_inertias, node_masses
from armillary.untyped import DataTable, Given


def from_integrals(
    where: str,
    *,
    m: object,
    c: object,
    J: object,
    P: object,
    H: object,
    M: MatrixLike,
    Q: object = None,
    R: object = None,
    S: object = None,
    K: object = None,
    C: object = None,
    frequencies: object = None,
    damping: object = None,
    nodes: object = None,
    shapes: object = None,
    rotations: object = None,
    second_order: bool = True,
) -> FlexiblePart:
    """Return a part from Stoneking's integrals over its mass, about the body's origin in body axes.

        m, c = ∫r, J = −∫r̃r̃, P = ∫ψ (3 × N), H = ∫r̃ψ (3 × N), M = ∫ψᵀψ (N × N),
        Q[:, p, q] = ∫ψ_q × ψ_p (3 × N × N), R_p = ∫ψ̃_p r̃ (N × 3 × 3), S_pq = ∫ψ̃_p ψ̃_q (N × N × 3 × 3)

    Thus J(η) = J − Σ η_p (R_p + R_pᵀ) − Σ η_p η_q S_pq and H(η) = H + Qη. Stoneking (2010) does not have S.
    If S or Q is left out, its term is dropped. The stiffness is given by K or by frequencies (rad/s), the
    damping by C or by the ratios ``damping``.
    """
    modal = check_symmetric(_modal_matrix(M, where, "M"), where, "M", mode_names(np.shape(M)[0]))
    count = len(modal)
    inertia = check_symmetric(read_array(J, where, "J", (3, 3)), where, "J", AXES)
    semidefinite(inertia, where, "J", AXES)
    momentum = read_array(P, where, "P", (3, count))
    modal = modal_mass(modal, where)
    K_matrix = modal_stiffness(modal, where, frequencies=frequencies, stiffness=K)
    first = np.zeros((count, 3, 3)) if R is None else read_array(R, where, "R", (count, 3, 3))
    J2 = H1 = None
    if second_order and S is not None:
        second = read_array(S, where, "S", (count, count, 3, 3))
        second = -(second + np.swapaxes(second, 0, 1))
        J2 = 0.5 * (second + np.swapaxes(second, 2, 3))
    if second_order and Q is not None:
        H1 = np.transpose(read_array(Q, where, "Q", (3, count, count)), (2, 0, 1))
    return FlexiblePart(
        mass=read_positive(m, where, "m", zero=True),
        first=read_array(c, where, "c", (3,)),
        inertia=inertia,
        P=momentum,
        H=read_array(H, where, "H", (3, count)),
        M=modal,
        K=K_matrix,
        C=modal_damping(modal, K_matrix, where, damping=damping, damping_matrix=C),
        J1=-(first + np.swapaxes(first, 1, 2)),
        J2=J2,
        H1=H1,
        nodes=_nodes(nodes, shapes, rotations, count, where),
    )


def from_coupling(
    where: str,
    *,
    coupling: object,
    frequencies: object,
    damping: object = None,
    damping_matrix: object = None,
    about: object = (0.0, 0.0, 0.0),
    total_mass: MatrixLike = None,
    nodes: object = None,
    shapes: object = None,
    rotations: object = None,
) -> FlexiblePart:
    """Return an appendage that is given by its rigid-elastic coupling alone: JPL TR 32-1598, eqs. 62-63.

    ``coupling`` = (P, Δᵀ), both 3 × N: the linear momentum, and the angular momentum about the point
    ``about``, per unit of each modal rate. The mass of the rigid body includes the appendage, so the part
    adds no mass; inertia does not change with the deformation. Modes have unit modal mass φᵀMφ = 1. With
    ``total_mass`` m, JPL's reduced modal mass φᵀ(M − MΣΣᵀM/m)φ is 1 instead, so the modal mass matrix is 1 +
    PᵀP/m.
    """
    if not isinstance(coupling, list | tuple) or len(coupling) != 2:
        raise ModelError(f"{where}: coupling is the pair (P, Delta), each 3 × N for N modes")
    P = read_array(coupling[0], where, "P of the coupling")
    if P.ndim != 2 or P.shape[0] != 3 or P.shape[1] < 1:
        raise ModelError(f"{where}: P of the coupling must be 3 × N for N modes, not {np.shape(P)}")
    count = P.shape[1]
    delta = read_array(coupling[1], where, "Delta of the coupling", (3, count))
    M = unit = np.eye(count)
    if total_mass is not None:
        M = unit + P.T @ P / read_positive(total_mass, where, "total_mass")
    K = modal_stiffness(unit, where, frequencies=frequencies, stiffness=None)
    return FlexiblePart(
        mass=0.0,
        first=np.zeros(3),
        inertia=np.zeros((3, 3)),
        P=P,
        H=delta + np.cross(read_array(about, where, "about", (3,)), P, axisb=0, axisc=0),
        M=M,
        K=K,
        # damping ratios refer to the reduced modal mass, which is 1
        C=modal_damping(unit, K, where, damping=damping, damping_matrix=damping_matrix),
        J1=np.zeros((count, 3, 3)),
        nodes=_nodes(nodes, shapes, rotations, count, where),
        total_mass=None if total_mass is None else float(total_mass),
    )


def _modal_matrix(value: MatrixLike, where: str, what: str) -> Array:
    found = read_array(value, where, what)
    if found.ndim != 2 or found.shape[0] != found.shape[1] or not len(found):
        raise ModelError(f"{where}: {what} must be N × N for N modes, not {np.shape(value)}")
    return found


def _nodes(
    nodes: object, shapes: object, rotations: object, modes: int, where: str
) -> dict[str, FlexibleNode]:
    if nodes is None:
        if shapes is not None or rotations is not None:
            raise ModelError(f"{where}: shapes are given without nodes=; give the nodes' positions too")
        return {}
    names, positions = node_places(nodes, where)
    if shapes is None:
        raise ModelError(f"{where}: nodes of given integrals need shapes= ({len(names)} × 3 × {modes})")
    moved = mode_shapes(shapes, rotations, names, where)
    if moved.shape[2] != modes:
        raise ModelError(f"{where}: the nodes have shapes of {moved.shape[2]} modes, but there are {modes}")
    return node_records(names, positions, moved)


@dataclass(frozen=True, eq=False)
class ComplexModes:
    """Frequencies σ in rad/s and shapes φ = Ψ + iΓ, a column for each mode, with φ* K' φ + σ² φ* M' φ = 1."""

    frequencies: Array
    psi: Array
    gamma: Array


@dataclass(frozen=True, eq=False)
class SpinningMatrices:
    """The matrices M', G' and K' of an appendage that vibrates about a nominal spin."""

    mass: Array
    gyroscopic: Array
    stiffness: Array

    def project_onto(self, basis: Array) -> SpinningMatrices:
        """Return the matrices projected onto a basis of displacements."""
        return SpinningMatrices(*(basis.T @ a @ basis for a in (self.mass, self.gyroscopic, self.stiffness)))


def nodal_mass(masses: MatrixLike, inertias: MatrixLike) -> Array:
    """Return Mn, the mass matrix of the nodes."""
    found = np.zeros((6 * len(masses), 6 * len(masses)))
    for s, (m, inertia) in enumerate(zip(masses, inertias, strict=True)):
        found[6 * s : 6 * s + 3, 6 * s : 6 * s + 3] = m * np.eye(3)
        found[6 * s + 3 : 6 * s + 6, 6 * s + 3 : 6 * s + 6] = inertia
    return found


def free_vehicle_mass(Mn: Array, total: float) -> Array:
    """Return M' = Mn (1 − S Sᵀ Mn / M) with the mass M of the whole vehicle, ``total``."""
    S = _sums(len(Mn) // 6, 0)
    found: Array = Mn - Mn @ S @ S.T @ Mn / total
    return found


def spinning_matrices(
    masses: MatrixLike, inertias: MatrixLike, stiffness: Array, spin: MatrixLike, total: float
) -> SpinningMatrices:
    """Return M', G' and K' for nodes, the stiffness between them, the nominal spin and the vehicle's mass."""
    n, spin = len(masses), np.asarray(spin, dtype=float)
    Mn, S, W = nodal_mass(masses, inertias), _sums(n, 0), cross_matrix(spin)
    moved = _diagonal([W if i % 2 == 0 else np.zeros((3, 3)) for i in range(2 * n)])
    turned = _diagonal([W if i % 2 == 1 else np.zeros((3, 3)) for i in range(2 * n)])
    spins = _diagonal(
        [
            np.zeros((3, 3)) if i % 2 == 0 else cross_matrix(np.asarray(inertias[i // 2]) @ spin)
            for i in range(2 * n)
        ]
    )
    G = 2 * Mn @ (moved - S @ W @ S.T @ Mn / total) + Mn @ turned + turned @ Mn - spins
    K = (
        stiffness
        + turned @ Mn @ turned
        + Mn @ (moved @ moved - S @ W @ W @ S.T @ Mn / total)
        - turned @ spins
    )
    return SpinningMatrices(free_vehicle_mass(Mn, total), G, K)


def real_modes(mass: Array, stiffness: Array, where: str) -> tuple[Array, Array]:
    """Return (σ, φ) of K φ = σ² M φ, lowest first.

    φᵀ M φ = 1, and the largest displacement of each mode is positive.
    """
    factor = _cholesky(mass, f"{where}: its mass matrix is not positive: every displacement needs mass")
    inverse = np.linalg.inv(factor)
    squares, vectors = np.linalg.eigh(inverse @ _symmetric_part(stiffness) @ inverse.T)
    if squares[0] <= 0:
        raise ModelError(
            f"{where}: its stiffness is not positive (σ² = {squares[0]:.3g} of its lowest mode); connect it "
            "to its body by more springs"
        )
    shapes = inverse.T @ vectors
    largest = np.argmax(np.abs(shapes), axis=0)
    return np.sqrt(squares), shapes * np.sign(shapes[largest, np.arange(len(squares))])


def complex_modes(matrices: SpinningMatrices, where: str) -> ComplexModes:
    """Return the modes of M' q̈ + G' q̇ + K' q = 0, lowest first.

    The largest displacement of each shape (the last one of several equal) is real and positive.

    With z = (q, q̇) the equations are [K' 0; 0 M'] ż = [0 K'; −K' −G'] z. The first matrix is symmetric, the
    second skew-symmetric. So a Hermitian eigenvalue problem gives all λ = ±iσ to rounding (Meirovitch 1974).
    """
    M, G, K = matrices.mass, matrices.gyroscopic, matrices.stiffness
    scale = max(float(np.abs(K).max()), 1e-300)
    if np.abs(K - K.T).max() > 1e-9 * scale:
        raise ModelError(
            f"{where}: its spin is not along a principal axis of the inertia of all its nodes, so that there "
            "is no steady state to vibrate about; rotate the spin or the nodes"
        )
    if not G.any():  # the modes are real, also for equal frequencies
        frequencies, shapes = real_modes(M, K, where)
        return ComplexModes(frequencies, shapes / (frequencies * np.sqrt(2)), np.zeros_like(shapes))
    L = _cholesky(M, f"{where}: its mass matrix is not positive: every displacement needs mass")
    U = _cholesky(
        _symmetric_part(K),
        f"{where}: at the nominal spin its stiffness is not positive; it has no state to vibrate about",
    )
    coupling = U.T @ np.linalg.inv(L).T
    zero = np.zeros_like(M)
    skew = np.block([[zero, coupling], [-coupling.T, -np.linalg.solve(L, np.linalg.solve(L, G).T).T]])
    values, vectors = np.linalg.eigh(-1j * skew)
    n = len(M)
    frequencies, vectors = values[n:], vectors[:n, n:]
    shapes = np.linalg.solve(U.T, vectors)
    for column in shapes.T:
        sizes = np.abs(column)
        largest = np.flatnonzero(sizes > (1 - 1e-6) * sizes.max())[-1]
        column *= np.conj(column[largest]) / sizes[largest]
    return ComplexModes(frequencies, shapes.real, shapes.imag)


def _sums(n: int, kind: int) -> Array:
    """Return S (``kind`` 0) or T (``kind`` 1) for n nodes, 6n × 3."""
    found = np.zeros((6 * n, 3))
    for s in range(n):
        found[6 * s + 3 * kind : 6 * s + 3 * kind + 3] = np.eye(3)
    return found


def _diagonal(blocks: list[Array]) -> Array:
    found = np.zeros((3 * len(blocks), 3 * len(blocks)))
    for i, block in enumerate(blocks):
        found[3 * i : 3 * i + 3, 3 * i : 3 * i + 3] = block
    return found


def _symmetric_part(a: Array) -> Array:
    found: Array = 0.5 * (a + a.T)
    return found


def _cholesky(a: Array, message: str) -> Array:
    try:
        return np.linalg.cholesky(a)
    except np.linalg.LinAlgError:
        raise ModelError(message) from None


_SPANNED = 1e-3  # singular values below this share of the largest come from rounding in printed data
_NORMALISED = 0.02  # largest relative error of M' if modes are given to three digits


def from_complex_modes(
    where: str,
    *,
    nodes: object,
    masses: object,
    complex_shapes: object,
    frequencies: object,
    total_mass: object,
    inertias: object = None,
    damping: object = None,
    spin: object = None,
    second_order: bool = True,
) -> FlexiblePart:
    """Return a part of separate masses that is given by its complex modes about a nominal spin.

    ``complex_shapes`` = (Ψ, Γ), each in the form of the shapes of nodes; ``frequencies`` are σ in rad/s,
    ``damping`` ratios (one for all, or one per mode), and ``total_mass`` is the mass of the whole vehicle for
    which the modes were computed.
    """
    names, positions = node_places(nodes, where)
    weights, tensors = node_masses(masses, names, where), node_inertias(inertias, names, where)
    if not isinstance(complex_shapes, list | tuple) or len(complex_shapes) != 2:
        raise ModelError(f"{where}: complex_shapes is the pair (Ψ, Γ), the real and imaginary parts")
    psi, gamma = (
        mode_shapes(half, None, names, where).reshape(6 * len(names), -1) for half in complex_shapes
    )
    count = psi.shape[1]
    if gamma.shape != psi.shape:
        raise ModelError(
            f"{where}: Ψ is {shape_text(psi.shape)}, Γ {shape_text(gamma.shape)}; give both for all modes"
        )
    rates = np.atleast_1d(read_array(frequencies, where, "frequencies", (count,)))
    if np.any(rates <= 0):
        raise ModelError(f"{where}: frequency {rates.min():g} of a complex mode is not positive")
    total = read_positive(total_mass, where, "total_mass")
    turn = np.zeros(3) if spin is None else read_array(spin, where, "spin", (3,))
    Mn = nodal_mass(weights, tensors)
    shapes, whole = _real_shapes(np.hstack([psi, gamma]), Mn, count, where)
    real, imaginary = (shapes.T @ Mn @ half for half in (psi, gamma))
    stiffness = np.linalg.inv(_sum_products(real, imaginary, np.ones(count)))
    if whole:
        moving = spinning_matrices(weights, tensors, np.zeros_like(Mn), turn, total).project_onto(shapes)
        _check_normalised(moving.mass @ _sum_products(real, imaginary, rates**2), where)
        stiffness = stiffness - 0.5 * (moving.stiffness + moving.stiffness.T)
        semidefinite(stiffness, where, "the stiffness that the complex modes leave", mode_names(count))
    moved = shapes.reshape(len(names), 6, count)
    found = modal_integrals(lumped_mass(weights, tensors), positions, moved, second_order=second_order)
    own = reduced_mass(modal_mass(found["M"], where), found["P"], total, where)
    given = 0.0 if damping is None else read_array(damping, where, "damping")
    if np.shape(given) not in ((), (count,)):
        raise ModelError(f"{where}: {count} complex modes need {count} damping ratios or one for all")
    ratios = np.broadcast_to(np.asarray(given, dtype=float), (count,)).copy()
    return FlexiblePart(
        **found,
        K=stiffness,
        C=modal_damping(own, stiffness, where, damping=ratios[np.argsort(rates)], damping_matrix=None),
        nodes=node_records(names, positions, moved, None),
        lumps=Lumps(weights, tensors, positions, shapes),
        total_mass=total,
        complex_modes=GivenModes(rates, psi, gamma, ratios, whole),
    )


def _sum_products(real: Array, imaginary: Array, weights: Array) -> Array:
    """Return 2 Σ w (Ψ Ψᵀ + Γ Γᵀ) over the modes, with ``weights`` w."""
    found: Array = 2 * (real * weights @ real.T + imaginary * weights @ imaginary.T)
    return found


def _real_shapes(halves: Array, Mn: Array, count: int, where: str) -> tuple[Array, bool]:
    """Return ``count`` real shapes, orthonormal in Mn, that represent most of the motion of the modes, and
    whether they represent all of it. ``halves`` are Ψ and Γ side by side.
    """
    values, vectors = np.linalg.eigh(Mn)
    root = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    _, sizes, mix = np.linalg.svd(root @ halves, full_matrices=False)
    rank = int(np.sum(sizes > _SPANNED * sizes[0])) if sizes[0] > 0 else 0
    if rank < count:
        raise ModelError(
            f"{where}: {count} complex modes move the masses in {rank} independent shapes only; leave out "
            "modes that repeat others"
        )
    return halves @ mix[:count].T / sizes[:count], rank == count


def _check_normalised(product: Array, where: str) -> None:
    """Raise an error unless ``product``, M' from the masses times M'⁻¹ from the modes, is nearly 1."""
    error = float(np.abs(product - np.eye(len(product))).max())
    if not error <= _NORMALISED:
        raise ModelError(
            f"{where}: the complex modes do not fit the masses (M' from them is off by {error:.2g}); "
            "they are normalised by φ* K' φ + σ² φ* M' φ = 1, with M' of the vehicle of total_mass="
        )


# Readers of parts. The first of these options that the user gives selects the reader. Each option has the
# words by which error texts name this way of description, and the reader. The keywords of the reader are the
# options that are allowed with it.
READERS: dict[str, tuple[str, Callable[..., FlexiblePart]]] = {
    "coupling": ("rigid-elastic coupling", from_coupling),
    "P": ("modal integrals", from_integrals),
    "mass_matrix": ("matrices", from_matrices),
    "stiffness_matrix": ("matrices", from_matrices),
    "complex_shapes": ("complex modes", from_complex_modes),
    "nodes": ("nodes", from_nodes),
}


def flexible_part(where: str, source: object = None, **options: object) -> FlexiblePart:
    """Return a flexible part from a ``Beam``, a ``Plate`` or another part, or from options.

    ``where`` starts every error text. ``spin`` (rad/s, body axes), the steady rotation about which the modes
    are defined, is allowed with every description.
    """
    spin = options.pop("spin", None)
    for name in ("stiffening", "second_order"):
        if name in options:
            flag(options[name], f"{where}: {name}=", ModelError)
    if options.get("stiffening") and options.get("second_order") is False:
        raise ModelError(
            f"{where}: stiffening is of second order in the deformation; leave out second_order=False"
        )
    if isinstance(source, FlexiblePart):
        part = source
        for name in options:
            raise ModelError(f"{where}: {name}= does not go with a FlexiblePart; only spin= and held= do")
    elif source is not None:
        if not hasattr(source, "flexible_part"):  # as a Beam and a Plate have
            raise ModelError(
                f"{where}: {shown(source)} is not a Beam or Plate; give one, or name the options (nodes=, …)"
            )
        part = _call(source.flexible_part, f"a {type(source).__name__}", where, options)
    else:
        mark = next((mark for mark in READERS if mark in options), None)
        if mark is None:
            marks = ", ".join(f"{m}= ({kind})" for m, (kind, _) in READERS.items())
            _check_known(where, options)
            raise ModelError(
                f"{where}: the flexible part is not described; give a Beam or Plate, or one of: {marks}"
            )
        kind, reader = READERS[mark]
        if spin is not None and "spin" in inspect.signature(reader).parameters:
            options = options | {"spin": spin}
        part = _call(reader, kind, where, options)
    return part if spin is None else replace(part, spin=read_array(spin, where, "spin", (3,)))


def _call(reader: Callable[..., FlexiblePart], kind: str, where: str, options: DataTable) -> FlexiblePart:
    """Call a reader, after checking that it accepts all given options and that none is missing."""
    wanted = inspect.signature(reader).parameters
    for name in options:
        if name not in wanted:
            _check_known(where, [name], *wanted)
            remedy = "describe the part in one way only"
            if name not in READERS:
                takes = [f"{p.name}=" for p in wanted.values() if p.kind is p.KEYWORD_ONLY]
                remedy = f"possible are {', '.join(takes)}"
            raise ModelError(f"{where}: {name}= does not go with {kind}; {remedy}")
    needed = [p.name for p in wanted.values() if p.kind is p.KEYWORD_ONLY and p.default is p.empty]
    if missing := [name for name in needed if name not in options]:
        names = ", ".join(f"{name}=" for name in missing)
        raise ModelError(f"{where}: {names} must be given too, to make the part from {kind}")
    return reader(where, **options)


def _check_known(where: str, given: Given, *more: str) -> None:
    names = {"spin", "held", *more}
    for _, reader in READERS.values():
        names.update(p.name for p in inspect.signature(reader).parameters.values() if p.name != "where")
    for name in given:
        if name not in names:
            raise ModelError(f"{where}: flexible() has no option {name}={nearest(name, sorted(names))}")
