"""Flexible parts from the mass and stiffness matrices of a finite-element program."""

from __future__ import annotations

import numpy as np

from armillary.errors import ModelError
from armillary.model.flexible.checks import node_places, node_records, positive, symmetric
from armillary.model.flexible.modal import modal_damping
from armillary.model.flexible.part import Array, FlexiblePart, Lumps, MatrixLike
from armillary.model.flexible.parts.files import read_matrix
from armillary.model.flexible.reduction.bases import Structure, reduce_structure
from armillary.model.flexible.reduction.eigenpairs import negative_row
from armillary.model.flexible.reduction.integrals import MassTimes, modal_integrals
from armillary.model.flexible.reduction.rounding import settle

# Nodal stiffness is kept beside the modes up to this many freedoms, as a full matrix.
_KEPT = 1200


def from_matrices(
    where: str,
    *,
    mass_matrix: object,
    stiffness_matrix: object,
    positions: object,
    basis: str = "fixed",
    fixed: object = (),
    interface: object = (),
    modes: int | None = None,
    frequency_limit: object = None,
    damping: object = None,
    damping_matrix: object = None,
    second_order: bool = True,
) -> FlexiblePart:
    """A part from matrices over n nodes with three freedoms each (x, y, z) or six (rx, ry, rz after them).

    Matrices are dense, SciPy sparse, or files (.npy, sparse .npz, Matrix Market .mtx). ``positions`` are the
    places of the nodes, by name or in order (then named "1", "2", …). ``fixed`` lists nodes ("root") or
    freedoms of nodes ("root.rz") that the body holds; ``interface`` those whose static modes a Craig-Bampton
    basis keeps. ``modes`` and ``frequency_limit`` (rad/s) say how many modes; see `bases.reduce_structure`.

    The mass matrix may be consistent: mass, centre, inertia and coupling of the modes come from it exactly;
    see `integrals` about second-order terms. Freedoms that are fixed still carry their mass.
    """
    names, places = node_places(positions, where, "positions")
    mass = read_matrix(mass_matrix, where, "mass_matrix")
    stiffness = read_matrix(stiffness_matrix, where, "stiffness_matrix")
    mass, stiffness = _alike(mass, stiffness)
    size = mass.shape[0]
    if stiffness.shape != mass.shape:
        raise ModelError(
            f"{where}: mass_matrix has {size} rows, stiffness_matrix {stiffness.shape[0]}; both need the same"
        )
    if size not in (3 * len(names), 6 * len(names)):
        raise ModelError(
            f"{where}: matrices of {size} rows do not fit {len(names)} nodes in positions=, which have "
            f"{3 * len(names)} or {6 * len(names)} freedoms (x, y, z, and rx, ry, rz)"
        )
    structure = _checked(Structure(where, names, places, mass, stiffness))
    limit = None if frequency_limit is None else positive(frequency_limit, where, "frequency_limit")
    squares, shapes = reduce_structure(
        structure, basis=basis, fixed=fixed, interface=interface, modes=modes, frequency_limit=limit
    )
    found = modal_integrals(_times(structure), places, shapes, second_order=second_order)
    K = np.diag(squares * np.diag(found["M"]))
    part = FlexiblePart(
        **found,
        K=K,
        C=modal_damping(found["M"], K, where, damping=damping, damping_matrix=damping_matrix),
        nodes=node_records(names, places, shapes),
        lumps=_lumps(structure, structure.chosen(fixed, "fixed"), shapes),
    )
    return settle(part)


def _times(structure: Structure) -> MassTimes:
    """The mass matrix at work on motions with six freedoms per node."""
    count, freedoms = len(structure.names), structure.freedoms

    def apply(motion: Array) -> Array:
        moved = motion[:, :freedoms].reshape(count * freedoms, -1)
        momentum = np.zeros_like(motion)
        momentum[:, :freedoms] = np.asarray(structure.mass @ moved).reshape(count, freedoms, -1)
        return momentum

    return apply


def _alike(mass: object, stiffness: object) -> tuple[MatrixLike, MatrixLike]:
    """Both sparse where one is."""
    from scipy import sparse

    if sparse.issparse(mass) == sparse.issparse(stiffness):
        return mass, stiffness
    return sparse.csc_matrix(mass), sparse.csc_matrix(stiffness)


def _checked(structure: Structure) -> Structure:
    """The structure with symmetric matrices, no negative diagonal, and one mass for all three directions."""
    where, clean = structure.where, {}
    for what in ("mass", "stiffness"):
        matrix = getattr(structure, what)
        diagonal = matrix.diagonal()
        if np.min(diagonal) < 0:
            worst = int(np.argmin(diagonal))
            raise ModelError(
                f"{where}: {what}_matrix is not positive: {diagonal[worst]:.6g} on its diagonal at "
                f"{structure.label(worst)}; check its signs"
            )
        clean[what] = _symmetric(structure, matrix, what)
    structure = Structure(where, structure.names, structure.positions, clean["mass"], clean["stiffness"])
    _positive_mass(structure)
    rigid = structure.rigid
    masses = np.sum(rigid[:, :3] * (structure.mass @ rigid[:, :3]), axis=0)
    if np.max(masses) <= 1e-9 * np.max(structure.mass.diagonal()):
        raise ModelError(
            f"{where}: mass_matrix moves no mass along x, y or z; are mass_matrix and stiffness_matrix "
            "exchanged?"
        )
    if np.ptp(masses) > 1e-6 * np.max(masses):
        raise ModelError(
            f"{where}: mass_matrix moves {masses[0]:.6g}, {masses[1]:.6g}, {masses[2]:.6g} of mass along x, "
            "y, z, but a body has one mass; check that its rows go node after node as positions= does, with "
            "x, y, z (and rx, ry, rz) of each, and that the rows of clamped nodes are there too (fixed= "
            "takes them out)"
        )
    return structure


def _symmetric(structure: Structure, matrix: MatrixLike, what: str) -> MatrixLike:
    if isinstance(matrix, np.ndarray):
        labels = [structure.label(i) for i in range(len(matrix))]
        return symmetric(matrix, structure.where, f"{what}_matrix", labels)
    difference = abs(matrix - matrix.T).tocoo()
    if difference.nnz and difference.data.max() > 1e-6 * abs(matrix).max():
        worst = int(np.argmax(difference.data))
        i, j = int(difference.row[worst]), int(difference.col[worst])
        raise ModelError(
            f"{structure.where}: {what}_matrix is not symmetric: ({structure.label(i)}, "
            f"{structure.label(j)}) is {matrix[i, j]:.6g}, but the other way round {matrix[j, i]:.6g}; a "
            "file with one triangle only must be marked (Matrix Market 'symmetric'), else add the other"
        )
    return (0.5 * (matrix + matrix.T)).tocsr()


def _positive_mass(structure: Structure) -> None:
    """No motion with negative kinetic energy: what makes one is named, an entry or else the freedom."""
    mass, scale = structure.mass, np.sqrt(structure.mass.diagonal())
    if isinstance(mass, np.ndarray):
        rows, columns = np.nonzero(mass)
        values = mass[rows, columns]
    else:
        entries = mass.tocoo()
        rows, columns, values = entries.row, entries.col, entries.data
    excess = np.abs(values) - (1 + 1e-9) * scale[rows] * scale[columns]
    excess[rows == columns] = 0
    if np.max(excess, initial=0.0) > 0:
        worst = int(np.argmax(excess))
        i, j = int(rows[worst]), int(columns[worst])
        raise ModelError(
            f"{structure.where}: mass_matrix is not positive: its entry {values[worst]:.6g} between "
            f"{structure.label(i)} and {structure.label(j)} is too large for {mass[i, i]:.6g} and "
            f"{mass[j, j]:.6g} on the diagonal"
        )
    row = negative_row(mass, 1e-9 * float(np.max(scale)) ** 2)
    if row is not None:
        raise ModelError(
            f"{structure.where}: mass_matrix is not positive: a motion that is large at "
            f"{structure.label(row)} has negative kinetic energy; check the signs in its row"
        )


def _lumps(structure: Structure, fixed: Array, shapes: Array) -> Lumps | None:
    """The nodes that move as separate masses, where the mass matrix is lumped and whole nodes are held."""
    count, freedoms = len(structure.names), structure.freedoms
    held = np.isin(np.arange(count * freedoms), fixed).reshape(count, freedoms)
    if count * freedoms > _KEPT or np.any(held.any(axis=1) != held.all(axis=1)):
        return None
    full = [m if isinstance(m, np.ndarray) else m.toarray() for m in (structure.mass, structure.stiffness)]
    blocks = np.zeros((2, count, 6, count, 6))
    for whole, own in zip(blocks, full, strict=True):
        whole[:, :freedoms, :, :freedoms] = own.reshape(count, freedoms, count, freedoms)
    own = np.stack([blocks[0, s, :, s] for s in range(count)])
    masses, inertias = own[:, 0, 0], own[:, 3:, 3:]
    rebuilt = np.zeros_like(blocks[0])
    for s in range(count):
        rebuilt[s, :3, s, :3], rebuilt[s, 3:, s, 3:] = masses[s] * np.eye(3), inertias[s]
    if np.max(np.abs(rebuilt - blocks[0])) > 1e-9 * np.max(np.abs(blocks[0])):
        return None
    moving = ~held.all(axis=1)
    nodes = int(np.count_nonzero(moving))
    return Lumps(
        masses[moving],
        inertias[moving],
        structure.positions[moving],
        shapes[moving].reshape(6 * nodes, -1),
        blocks[1][moving][:, :, moving].reshape(6 * nodes, 6 * nodes),
    )
