"""Flexible parts from nodes with mode shapes or a stiffness, or from finite-element matrices."""

from __future__ import annotations

import numpy as np

from armillary.algebra.arguments import item_count
from armillary.algebra.triples import SIX
from armillary.errors import ModelError
from armillary.model.flexible.part import (
    Array,
    FlexiblePart,
    Lumps,
    MassTimes,
    MatrixLike,
    lumped_mass,
    modal_integrals,
    settle,
    shortening_size,
)
from armillary.model.flexible.part_input import (
    AXES,
    check_symmetric,
    how_many,
    modal_damping,
    modal_mass,
    modal_stiffness,
    mode_shapes,
    node_places,
    node_records,
    per_node,
    read_array,
    read_matrix,
    read_positive,
    reduced_mass,
    semidefinite,
    shape_text,
)
from armillary.model.flexible.reduction import Structure, negative_row, reduce_structure


def from_nodes(
    where: str,
    *,
    nodes: object,
    masses: object,
    inertias: object = None,
    shapes: object = None,
    rotations: object = None,
    frequencies: object = None,
    stiffness: object = None,
    damping: object = None,
    damping_matrix: object = None,
    total_mass: MatrixLike = None,
    shortening: object = None,
    modes: int | None = None,
    basis: str = "fixed",
    second_order: bool = True,
    stiffening: bool = False,
) -> FlexiblePart:
    """Return a part of separate masses: n nodes that N modes move.

    ``nodes`` are positions by name, or in order (then named "1", "2", …). ``masses`` has one mass per node,
    or is one mass for all. ``inertias`` has for each node three moments, six elements (11, 22, 33, 12, 13,
    23) or 3 × 3, about the node in body axes. ``shapes`` are n × 3 × N, or n × 6 × N with rotations, or the
    same stacked node by node (3n × N, 6n × N); ``rotations`` are n × 3 × N. ``frequencies`` are in rad/s;
    instead, ``stiffness`` may be given, modal (N × N) or between the nodes (6n × 6n, or 3n × 3n). Without
    shapes, ``modes`` modes are computed from the stiffness between the nodes. With ``total_mass``,
    frequencies and ratios are those of a free vehicle of this mass. ``shortening``, n × 3 × N × N, has the
    G_pq of the second-order displacements ½ Σ η_p η_q G_pq, and is needed for ``stiffening``.
    """
    names, positions = node_places(nodes, where)
    modes = None if modes is None else how_many(modes, where)
    weights = node_masses(masses, names, where)
    tensors = node_inertias(inertias, names, where)
    nodal = None
    if shapes is None:
        for option, value in (("rotations", rotations), ("frequencies", frequencies)):
            if value is not None:
                raise ModelError(f"{where}: {option} are given without shapes=; give the mode shapes too")
        squares, node_shapes, nodal = _compute_modes(
            where, names, positions, weights, tensors, stiffness, basis, modes
        )
        frequencies, stiffness = np.sqrt(squares), None
    else:
        node_shapes = mode_shapes(shapes, rotations, names, where)
        if modes is not None:
            node_shapes = _first(node_shapes, modes, where)
    count = node_shapes.shape[2]
    if stiffness is not None:
        stiffness, nodal = _modal(stiffness, node_shapes, names, where)
    bend = _shortening(shortening, stiffening, names, count, where)
    found = modal_integrals(
        lumped_mass(weights, tensors), positions, node_shapes, second_order=second_order, shortening=bend
    )
    M = modal_mass(found["M"], where)
    if frequencies is not None and modes is not None:
        frequencies = np.atleast_1d(read_array(frequencies, where, "frequencies"))[:modes]
    own = reduced_mass(M, found["P"], total_mass, where)
    K = modal_stiffness(own, where, frequencies=frequencies, stiffness=stiffness)
    C = modal_damping(own, K, where, damping=damping, damping_matrix=damping_matrix)
    part = FlexiblePart(
        **found,
        K=K,
        C=C,
        nodes=node_records(names, positions, node_shapes, bend),
        lumps=Lumps(weights, tensors, positions, node_shapes.reshape(-1, count), nodal),
        total_mass=None if total_mass is None else float(total_mass),
    )
    return settle(part, shortening_size(weights, bend), given=shapes is not None)


def node_masses(value: object, names: list[str], where: str) -> Array:
    """Return the masses of the nodes, n numbers."""
    found = read_array(per_node(value, names, where, "masses"), where, "masses")
    if found.shape not in ((), (len(names),)):
        raise ModelError(
            f"{where}: {len(names)} nodes need {len(names)} masses, not {shape_text(found.shape)}"
        )
    found = np.broadcast_to(found, (len(names),)).copy()
    if np.any(found < 0):
        s = int(np.argmin(found))
        raise ModelError(f"{where}: the mass {found[s]:g} of node '{names[s]}' is negative")
    return found


def node_inertias(value: object, names: list[str], where: str) -> Array:
    """Return the inertia tensors of the nodes, n × 3 × 3."""
    count = len(names)
    if value is None:
        return np.zeros((count, 3, 3))
    given = per_node(value, names, where, "inertias")
    if item_count(given) != count:
        raise ModelError(f"{where}: {count} nodes need {count} inertias, not {given!r}")
    tensors = np.zeros((count, 3, 3))
    for s, name in enumerate(names):
        what = f"the inertia of node '{name}'"
        own = read_array(given[s], where, what)
        if own.shape == (3, 3):
            tensors[s] = check_symmetric(own, where, what, AXES)
        elif own.shape in ((3,), (6,)):
            for (i, j), element in zip(SIX, own, strict=False):
                tensors[s, i, j] = tensors[s, j, i] = element
        elif own.shape != () or own != 0:
            raise ModelError(
                f"{where}: {what} must be 0, three moments, six elements (11, 22, 33, 12, 13, 23) or 3 × 3, "
                f"not {shape_text(own.shape)}"
            )
        semidefinite(tensors[s], where, what, AXES)
    return tensors


def _first(shapes: Array, modes: int, where: str) -> Array:
    there = shapes.shape[2]
    if modes > there:
        raise ModelError(f"{where}: modes={modes} requested, but there are shapes of {there}")
    return shapes[:, :, :modes]


def _full(stiffness: object, count: int, where: str) -> Array | None:
    """Return a stiffness between the nodes, 6n × 6n or 3n × 3n, as 6n × 6n; `None` if it has another size."""
    found = read_array(stiffness, where, "stiffness")
    if found.shape == (6 * count, 6 * count):
        return found
    if found.shape == (3 * count, 3 * count):
        whole = np.zeros((count, 6, count, 6))
        whole[:, :3, :, :3] = found.reshape(count, 3, count, 3)
        return whole.reshape(6 * count, 6 * count)
    return None


def _compute_modes(
    where: str,
    names: list[str],
    positions: Array,
    masses: Array,
    inertias: Array,
    stiffness: MatrixLike,
    basis: str,
    modes: int | None,
) -> tuple[Array, Array, Array]:
    """Return ω² and shapes of the modes of masses with a stiffness between them, and this stiffness as
    6n × 6n.
    """
    count = len(names)
    if stiffness is None:
        raise ModelError(f"{where}: shapes are missing; give shapes=, or the stiffness= between the nodes")
    whole = _full(stiffness, count, where)
    if whole is None:
        raise ModelError(
            f"{where}: without shapes the stiffness of {count} nodes must be {3 * count} × {3 * count} or "
            f"{6 * count} × {6 * count}, not {shape_text(np.shape(stiffness))}"
        )
    labels = [f"node '{name}' {axis}" for name in names for axis in AXES]
    whole = check_symmetric(whole, where, "stiffness", labels)
    dofs = 3 if np.shape(stiffness)[0] == 3 * count else 6
    mass = np.zeros((count, dofs, count, dofs))
    for s in range(count):
        mass[s, :3, s, :3] = masses[s] * np.eye(3)
        if dofs == 6:
            mass[s, 3:, s, 3:] = inertias[s]
    size = dofs * count
    moving = whole.reshape(count, 6, count, 6)[:, :dofs, :, :dofs].reshape(size, size)
    structure = Structure(where, names, positions, mass.reshape(size, size), moving)
    return *reduce_structure(structure, basis=basis, modes=modes), whole


def _modal(stiffness: object, shapes: Array, names: list[str], where: str) -> tuple[Array, Array | None]:
    """Return the modal stiffness, and the stiffness between the nodes if it was given."""
    modes, flat = shapes.shape[2], shapes.reshape(-1, shapes.shape[2])
    found = read_array(stiffness, where, "stiffness")
    whole = _full(found, len(names), where)
    own = found.shape == (modes, modes)
    if own and whole is None:
        return found, None
    if whole is None:
        raise ModelError(
            f"{where}: stiffness must be modal ({modes} × {modes}) or between the nodes "
            f"({6 * len(names)} × {6 * len(names)}), not {shape_text(found.shape)}"
        )
    labels = [f"node '{name}' {axis}" for name in names for axis in AXES]
    whole = check_symmetric(whole, where, "stiffness", labels)
    modal = flat.T @ whole @ flat
    if own and not np.allclose(modal, found):
        raise ModelError(
            f"{where}: with as many modes as freedoms, stiffness of {modes} × {modes} may be modal or "
            "between the nodes; leave out shapes= (modes are then computed), or give frequencies="
        )
    return modal, whole


def _shortening(value: object, asked: bool, names: list[str], modes: int, where: str) -> Array | None:
    """Return the foreshortening G, n × 3 × N × N, which is made symmetric in its two modes."""
    if value is None:
        if asked:
            raise ModelError(
                f"{where}: stiffening needs shortening=, the second-order displacement of every node "
                f"({len(names)} × 3 × {modes} × {modes}): the shortening of the part does "
                "not follow from masses and shapes"
            )
        return None
    if not asked:
        raise ModelError(f"{where}: shortening= acts only with stiffening=True; give both or none")
    found = read_array(per_node(value, names, where, "shortening"), where, "shortening")
    found = read_array(found, where, "shortening", (len(names), 3, modes, modes))
    result: Array | None = 0.5 * (found + np.swapaxes(found, 2, 3))
    return result


# Most freedoms for which the nodal stiffness is kept with the modes, as a full matrix.
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
    """Return a part from matrices of n nodes with three freedoms each (x, y, z), or six (also rx, ry, rz).

    Matrices are dense, SciPy sparse, or files (.npy, sparse .npz, Matrix Market .mtx). ``positions`` are the
    positions of the nodes, by name or in order (then named "1", "2", …). ``fixed`` lists nodes ("root") or
    freedoms of nodes ("root.rz") that the body holds; ``interface`` lists, in the same way, those for which a
    Craig-Bampton basis has static modes. ``modes`` and ``frequency_limit`` (rad/s) limit the modes; see
    `reduction.reduce_structure`.

    The mass matrix may be consistent or lumped: mass, centre, inertia and coupling of the modes follow from
    it exactly; see `part` about second-order terms. The part's mass includes that of fixed freedoms.
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
    structure = _check_structure(Structure(where, names, places, mass, stiffness))
    limit = None if frequency_limit is None else read_positive(frequency_limit, where, "frequency_limit")
    squares, shapes = reduce_structure(
        structure, basis=basis, fixed=fixed, interface=interface, modes=modes, frequency_limit=limit
    )
    found = modal_integrals(_mass_times(structure), places, shapes, second_order=second_order)
    K = np.diag(squares * np.diag(found["M"]))
    part = FlexiblePart(
        **found,
        K=K,
        C=modal_damping(found["M"], K, where, damping=damping, damping_matrix=damping_matrix),
        nodes=node_records(names, places, shapes),
        lumps=_lumps(structure, structure.select_freedoms(fixed, "fixed"), shapes),
    )
    return settle(part)


def _mass_times(structure: Structure) -> MassTimes:
    """Return the mass matrix as a function of motions that have six freedoms per node."""
    count, freedoms = len(structure.names), structure.freedoms

    def apply(motion: Array) -> Array:
        moved = motion[:, :freedoms].reshape(count * freedoms, -1)
        momentum = np.zeros_like(motion)
        momentum[:, :freedoms] = np.asarray(structure.mass @ moved).reshape(count, freedoms, -1)
        return momentum

    return apply


def _alike(mass: object, stiffness: object) -> tuple[MatrixLike, MatrixLike]:
    """Return both matrices as sparse matrices if one of them is sparse."""
    from scipy import sparse

    if sparse.issparse(mass) == sparse.issparse(stiffness):
        return mass, stiffness
    return sparse.csc_matrix(mass), sparse.csc_matrix(stiffness)


def _check_structure(structure: Structure) -> Structure:
    """Return the structure with symmetrised matrices.

    Raise an error if a diagonal element is negative, or if the masses in the three directions differ.
    """
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
        clean[what] = _check_symmetric_matrix(structure, matrix, what)
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
            "y, z, but a body has one mass; check that its rows have the order of positions=, with x, y, z "
            "(and rx, ry, rz) of each node, and that the rows of clamped nodes are included (fixed= removes "
            "them)"
        )
    return structure


def _check_symmetric_matrix(structure: Structure, matrix: MatrixLike, what: str) -> MatrixLike:
    if isinstance(matrix, np.ndarray):
        labels = [structure.label(i) for i in range(len(matrix))]
        return check_symmetric(matrix, structure.where, f"{what}_matrix", labels)
    difference = abs(matrix - matrix.T).tocoo()
    if difference.nnz and difference.data.max() > 1e-6 * abs(matrix).max():
        worst = int(np.argmax(difference.data))
        i, j = int(difference.row[worst]), int(difference.col[worst])
        raise ModelError(
            f"{structure.where}: {what}_matrix is not symmetric: ({structure.label(i)}, "
            f"{structure.label(j)}) is {matrix[i, j]:.6g}, but the transposed element {matrix[j, i]:.6g}; a "
            "file with one triangle only must be marked (Matrix Market 'symmetric'), else add the other"
        )
    return (0.5 * (matrix + matrix.T)).tocsr()


def _positive_mass(structure: Structure) -> None:
    """Raise an error if some motion has negative kinetic energy; it names an element or a freedom."""
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
    """Return the nodes that are not fixed as separate masses.

    Return `None` if there are too many freedoms, if the mass matrix is not lumped, or if a node is partly
    fixed.
    """
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
