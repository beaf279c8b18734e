"""Flexible parts from nodes: positions, masses, inertias, and mode shapes or a stiffness between them."""

from __future__ import annotations

import numpy as np

from armillary.algebra.arguments import item_count
from armillary.algebra.triples import SIX
from armillary.errors import ModelError
from armillary.model.flexible.checks import (
    AXES,
    how_many,
    mode_shapes,
    node_places,
    node_records,
    numbers,
    per_node,
    semidefinite,
    symmetric,
    times,
)
from armillary.model.flexible.modal import modal_damping, modal_mass, modal_stiffness, reduced_mass
from armillary.model.flexible.part import Array, FlexiblePart, Lumps, MatrixLike
from armillary.model.flexible.reduction.bases import Structure, reduce_structure
from armillary.model.flexible.reduction.integrals import lumped, modal_integrals
from armillary.model.flexible.reduction.rounding import settle, shortening_size


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
    """A part of separate masses, n nodes moved by N modes.

    ``nodes``: positions by name, or in order (then named "1", "2", …). ``masses``: one per node, or one for
    all. ``inertias``: per node three moments, six elements (11, 22, 33, 12, 13, 23) or 3 × 3, about the node
    in body axes. ``shapes``: n × 3 × N, n × 6 × N with rotations, or the same stacked node after node
    (3n × N, 6n × N); ``rotations``: n × 3 × N. ``frequencies`` in rad/s, or ``stiffness``: modal (N × N) or
    between the nodes (6n × 6n, or 3n × 3n). Without shapes the modes are computed from that; ``modes`` is
    their number.
    ``total_mass``: frequencies and ratios are those of a free vehicle of that mass.
    ``shortening``: n × 3 × N × N, second-order displacements ½ η_p η_q G_pq, needed for ``stiffening``.
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
        squares, moved, nodal = _computed(where, names, positions, weights, tensors, stiffness, basis, modes)
        frequencies, stiffness = np.sqrt(squares), None
    else:
        moved = mode_shapes(shapes, rotations, names, where)
        if modes is not None:
            moved = _first(moved, modes, where)
    count = moved.shape[2]
    if stiffness is not None:
        stiffness, nodal = _modal(stiffness, moved, names, where)
    bend = _shortening(shortening, stiffening, names, count, where)
    found = modal_integrals(
        lumped(weights, tensors), positions, moved, second_order=second_order, shortening=bend
    )
    M = modal_mass(found["M"], where)
    if frequencies is not None and modes is not None:
        frequencies = np.atleast_1d(numbers(frequencies, where, "frequencies"))[:modes]
    own = reduced_mass(M, found["P"], total_mass, where)
    K = modal_stiffness(own, where, frequencies=frequencies, stiffness=stiffness)
    C = modal_damping(own, K, where, damping=damping, damping_matrix=damping_matrix)
    part = FlexiblePart(
        **found,
        K=K,
        C=C,
        nodes=node_records(names, positions, moved, bend),
        lumps=Lumps(weights, tensors, positions, moved.reshape(-1, count), nodal),
        total_mass=None if total_mass is None else float(total_mass),
    )
    return settle(part, shortening_size(weights, bend), given=shapes is not None)


def node_masses(value: object, names: list[str], where: str) -> Array:
    """Masses, n."""
    found = numbers(per_node(value, names, where, "masses"), where, "masses")
    if found.shape not in ((), (len(names),)):
        raise ModelError(f"{where}: {len(names)} nodes need {len(names)} masses, not {times(found.shape)}")
    found = np.broadcast_to(found, (len(names),)).copy()
    if np.any(found < 0):
        s = int(np.argmin(found))
        raise ModelError(f"{where}: the mass {found[s]:g} of node '{names[s]}' is negative")
    return found


def node_inertias(value: object, names: list[str], where: str) -> Array:
    """Inertia tensors, n × 3 × 3."""
    count = len(names)
    if value is None:
        return np.zeros((count, 3, 3))
    given = per_node(value, names, where, "inertias")
    if item_count(given) != count:
        raise ModelError(f"{where}: {count} nodes need {count} inertias, not {given!r}")
    tensors = np.zeros((count, 3, 3))
    for s, name in enumerate(names):
        what = f"the inertia of node '{name}'"
        own = numbers(given[s], where, what)
        if own.shape == (3, 3):
            tensors[s] = symmetric(own, where, what, AXES)
        elif own.shape in ((3,), (6,)):
            for (i, j), element in zip(SIX, own, strict=False):
                tensors[s, i, j] = tensors[s, j, i] = element
        elif own.shape != () or own != 0:
            raise ModelError(
                f"{where}: {what} must be 0, three moments, six elements (11, 22, 33, 12, 13, 23) or 3 × 3, "
                f"not {times(own.shape)}"
            )
        semidefinite(tensors[s], where, what, AXES)
    return tensors


def _first(shapes: Array, modes: int, where: str) -> Array:
    there = shapes.shape[2]
    if modes > there:
        raise ModelError(f"{where}: modes={modes} requested, but there are shapes of {there}")
    return shapes[:, :, :modes]


def _full(stiffness: object, count: int, where: str) -> Array | None:
    """A stiffness between the nodes as 6n × 6n, or None where it is not of that size."""
    found = numbers(stiffness, where, "stiffness")
    if found.shape == (6 * count, 6 * count):
        return found
    if found.shape == (3 * count, 3 * count):
        whole = np.zeros((count, 6, count, 6))
        whole[:, :3, :, :3] = found.reshape(count, 3, count, 3)
        return whole.reshape(6 * count, 6 * count)
    return None


def _computed(
    where: str,
    names: list[str],
    positions: Array,
    masses: Array,
    inertias: Array,
    stiffness: MatrixLike,
    basis: str,
    modes: int | None,
) -> tuple[Array, Array, Array]:
    """ω² and shapes of masses between which a stiffness acts, and that stiffness (6n × 6n)."""
    count = len(names)
    if stiffness is None:
        raise ModelError(f"{where}: shapes are missing; give shapes=, or the stiffness= between the nodes")
    whole = _full(stiffness, count, where)
    if whole is None:
        raise ModelError(
            f"{where}: without shapes the stiffness of {count} nodes must be {3 * count} × {3 * count} or "
            f"{6 * count} × {6 * count}, not {times(np.shape(stiffness))}"
        )
    labels = [f"node '{name}' {axis}" for name in names for axis in AXES]
    whole = symmetric(whole, where, "stiffness", labels)
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
    """The modal stiffness, and that between the nodes where it is what was given."""
    modes, flat = shapes.shape[2], shapes.reshape(-1, shapes.shape[2])
    found = numbers(stiffness, where, "stiffness")
    whole = _full(found, len(names), where)
    own = found.shape == (modes, modes)
    if own and whole is None:
        return found, None
    if whole is None:
        raise ModelError(
            f"{where}: stiffness must be modal ({modes} × {modes}) or between the nodes "
            f"({6 * len(names)} × {6 * len(names)}), not {times(found.shape)}"
        )
    labels = [f"node '{name}' {axis}" for name in names for axis in AXES]
    whole = symmetric(whole, where, "stiffness", labels)
    modal = flat.T @ whole @ flat
    if own and not np.allclose(modal, found):
        raise ModelError(
            f"{where}: with as many modes as freedoms, stiffness of {modes} × {modes} may be modal or "
            "between the nodes; leave out shapes= (modes are then computed), or give frequencies="
        )
    return modal, whole


def _shortening(value: object, asked: bool, names: list[str], modes: int, where: str) -> Array | None:
    """Foreshortening, n × 3 × N × N, symmetric in its modes."""
    if value is None:
        if asked:
            raise ModelError(
                f"{where}: stiffening needs shortening=, the second-order displacement of every node "
                f"({len(names)} × 3 × {modes} × {modes}): how the part shortens does "
                "not follow from masses and shapes"
            )
        return None
    if not asked:
        raise ModelError(f"{where}: shortening= acts only with stiffening=True; give both or none")
    found = numbers(per_node(value, names, where, "shortening"), where, "shortening")
    found = numbers(found, where, "shortening", (len(names), 3, modes, modes))
    result: Array | None = 0.5 * (found + np.swapaxes(found, 2, 3))
    return result
