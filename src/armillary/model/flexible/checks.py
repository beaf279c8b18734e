"""Numbers as users give them for flexible parts, read into arrays and checked with the user's names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from armillary.errors import ModelError, nearest
from armillary.model.flexible.part import Array, Node

AXES = ("x", "y", "z", "rx", "ry", "rz")

# Matrices from finite-element programs carry five to seven digits; a wrong file is off by far more.
_ASYMMETRY = 1e-6


def numbers(value: Any, where: str, what: str, shape: tuple[int, ...] | None = None) -> Array:
    """A copy of finite numbers as an array, of the shape asked for."""
    try:
        found = np.array(value, dtype=float)
    except (TypeError, ValueError):
        raise ModelError(f"{where}: {what} must be numbers, not {_short(value)}") from None
    if shape is not None and found.shape != shape:
        raise ModelError(f"{where}: {what} must have shape {times(shape)}, not {times(found.shape)}")
    bad = np.argwhere(~np.isfinite(found))
    if len(bad):
        place = ", ".join(str(i + 1) for i in bad[0])
        raise ModelError(
            f"{where}: {what} holds {found[tuple(bad[0])]} at ({place}); every value must be a finite number"
        )
    return found


def times(shape: tuple[int, ...]) -> str:
    """A shape as people write it: 3 × 4."""
    return " × ".join(map(str, shape)) if shape else "of one number"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "…"


def positive(value: Any, where: str, what: str, *, zero: bool = False) -> float:
    """One positive number (or zero where that is allowed)."""
    found = float(numbers(value, where, what, ()))
    if found < 0 or (found == 0 and not zero):
        raise ModelError(f"{where}: {what} = {found:g} must be {'zero or more' if zero else 'positive'}")
    return found


def symmetric(matrix: Array, where: str, what: str, names: Sequence[str]) -> Array:
    """A square matrix freed of its rounding asymmetry; the worst pair is named when there is more."""
    difference = np.abs(matrix - matrix.T)
    limit = _ASYMMETRY * max(float(np.max(np.abs(matrix), initial=0.0)), np.finfo(float).tiny)
    if np.max(difference, initial=0.0) > limit:
        i, j = (int(k) for k in np.unravel_index(np.argmax(difference), difference.shape))
        raise ModelError(
            f"{where}: {what} is not symmetric: ({names[i]}, {names[j]}) is {matrix[i, j]:.6g}, but "
            f"({names[j]}, {names[i]}) is {matrix[j, i]:.6g}; check the order of its rows, or symmetrise it"
        )
    return 0.5 * (matrix + matrix.T)


def semidefinite(matrix: Array, where: str, what: str, names: Sequence[str]) -> None:
    """A symmetric matrix without negative eigenvalues; if it has one, the direction is named."""
    values, vectors = np.linalg.eigh(matrix)
    if values[0] < -1e-9 * max(abs(values[-1]), abs(values[0])):
        worst = int(np.argmax(np.abs(vectors[:, 0])))
        raise ModelError(
            f"{where}: {what} is not positive: eigenvalue {values[0]:.6g}, most of it along {names[worst]}; "
            "check signs and the order of its rows"
        )


def mode_names(count: int) -> list[str]:
    """Names of modes for messages."""
    return [f"mode {i + 1}" for i in range(count)]


def node_places(value: Any, where: str, what: str = "nodes") -> tuple[list[str], Array]:
    """Names and positions (n × 3) of nodes: a mapping by name, or a sequence named '1', '2', …"""
    if isinstance(value, Mapping):
        names = [str(name) for name in value]
        for name, place in value.items():
            numbers(place, where, f"the position of node '{name}'", (3,))
        places = list(value.values())
    else:
        places = list(value) if hasattr(value, "__iter__") else [value]
        names = [str(i + 1) for i in range(len(places))]
    if not names:
        raise ModelError(f"{where}: {what} is empty; give at least one position (x, y, z)")
    return names, numbers(places, where, f"{what} (positions)", (len(names), 3))


def per_node(value: Any, names: Sequence[str], where: str, what: str) -> Any:
    """Values in the order of the nodes; a mapping must have exactly their names."""
    if not isinstance(value, Mapping):
        return value
    for name in value:
        known_node(str(name), names, where, what)
    missing = [name for name in names if name not in value]
    if missing:
        raise ModelError(f"{where}: {what} has nothing for node '{missing[0]}'; give one for every node")
    return [value[name] for name in names]


def known_node(name: str, names: Sequence[str], where: str, what: str) -> int:
    """The number of a node among the names, or an error with the nearest one."""
    if name not in names:
        raise ModelError(f"{where}: {what} names node '{name}', which does not exist{nearest(name, names)}")
    return names.index(name)


def node_records(
    names: Sequence[str], positions: Array, shapes: Array, shortening: Array | None = None
) -> dict[str, Node]:
    """Nodes from positions (n × 3), shapes (n × 6 × N) and foreshortening (n × 3 × N × N)."""
    return {
        name: Node(
            name, positions[s], shapes[s, :3], shapes[s, 3:], None if shortening is None else shortening[s]
        )
        for s, name in enumerate(names)
    }


def mode_shapes(value: Any, rotations: Any, names: Sequence[str], where: str) -> Array:
    """Shapes with rotations, n × 6 × N."""
    count = len(names)
    found = numbers(per_node(value, names, where, "shapes"), where, "shapes")
    if found.ndim == 2 and found.shape[0] in (3 * count, 6 * count):
        found = found.reshape(count, -1, found.shape[1])
    if found.ndim != 3 or found.shape[0] != count or found.shape[1] not in (3, 6) or found.shape[2] < 1:
        raise ModelError(
            f"{where}: shapes of {count} nodes must be {count} × 3 × N, {count} × 6 × N, {3 * count} × N or "
            f"{6 * count} × N for N modes, not {times(found.shape)}"
        )
    if rotations is None:
        turned = np.zeros((count, 3, found.shape[2])) if found.shape[1] == 3 else found[:, 3:]
    elif found.shape[1] == 6:
        raise ModelError(f"{where}: shapes hold rotations already (6 per node); leave out rotations=")
    else:
        turned = numbers(per_node(rotations, names, where, "rotations"), where, "rotations")
        if turned.ndim == 2 and turned.shape[0] == 3 * count:
            turned = turned.reshape(count, 3, -1)
        turned = numbers(turned, where, "rotations", found.shape)
    return np.concatenate([found[:, :3], turned], axis=1)
