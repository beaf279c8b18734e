"""Numbers as users give them for flexible parts, read into arrays and checked with the user's names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from armillary.algebra.arguments import checked_names
from armillary.errors import ModelError, shown
from armillary.model.flexible.part import Array, FlexibleNode
from armillary.untyped import DataTable, Given

AXES = ("x", "y", "z", "rx", "ry", "rz")

# Matrices from finite-element programs carry five to seven digits; a wrong file is off by far more.
_ASYMMETRY = 1e-6


def numbers(value: object, where: str, what: str, shape: tuple[int, ...] | None = None) -> Array:
    """A copy of finite numbers as an array, of the shape requested."""
    if value is None:
        raise ModelError(f"{where}: {what} is missing; give a value")
    try:
        given = np.asarray(value)
        found = np.array(given.real if np.iscomplexobj(given) else value, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise ModelError(f"{where}: {what} must be numbers, not {shown(value)}") from None
    no_imaginary(given, where, what)
    if shape is not None and found.shape != shape:
        raise ModelError(f"{where}: {what} must have shape {times(shape)}, not {times(found.shape)}")
    bad = np.argwhere(~np.isfinite(found))
    if len(bad):
        place = f" at ({', '.join(str(i + 1) for i in bad[0])})" if found.ndim else ""
        raise ModelError(
            f"{where}: {what} holds {found[tuple(bad[0])]}{place}; every value must be a finite number"
        )
    return found


def no_imaginary(values: Array, where: str, what: str) -> None:
    """Complex numbers are refused unless all are real; dropping the rest would change the part."""
    if np.iscomplexobj(values) and np.any(values.imag != 0):
        raise ModelError(
            f"{where}: {what} holds complex numbers; only real ones are read: give structural damping with "
            "damping= or damping_matrix=, and take real modes"
        )


def times(shape: tuple[int, ...]) -> str:
    """A shape as people write it: 3 × 4."""
    return " × ".join(map(str, shape)) if shape else "of one number"


def positive(value: object, where: str, what: str, *, zero: bool = False) -> float:
    """One positive number (or zero where that is allowed)."""
    found = float(numbers(value, where, what, ()))
    if found < 0 or (found == 0 and not zero):
        raise ModelError(f"{where}: {what} = {found:g} must be {'zero or more' if zero else 'positive'}")
    return found


def one_or_more(value: object, count: int, where: str, what: str) -> Array:
    """``count`` numbers, of which one stands for all."""
    found = numbers(value, where, what)
    if found.shape not in ((), (count,)):
        raise ModelError(f"{where}: {what} must be one number or {count}, not {times(found.shape)}")
    return np.broadcast_to(found, (count,)).copy()


def poisson(value: object, where: str) -> float:
    """Poisson's ratio."""
    nu = float(numbers(value, where, "nu", ()))
    if not -1 < nu <= 0.5:
        raise ModelError(f"{where}: Poisson's ratio nu={nu:g} must lie between -1 and 0.5")
    return nu


def how_many(modes: object, where: str, least: int = 1) -> int:
    """A number of modes."""
    if isinstance(modes, bool) or not isinstance(modes, int | np.integer) or modes < least:
        raise ModelError(f"{where}: modes={modes!r} must be a whole number, {least} or more")
    return int(modes)


def station_names(stations: object, taken: Iterable[str], where: str) -> DataTable:
    """Stations by name; in a sequence they are named "1", "2", …"""
    if isinstance(stations, str) or not isinstance(stations, Iterable):
        raise ModelError(
            f"{where}: stations={shown(stations)} must be places by name, e.g. {{'middle': …}}, or a list"
        )
    if not isinstance(stations, Mapping):
        stations = {str(i + 1): place for i, place in enumerate(stations)}
    for name in stations:
        if name in taken:
            raise ModelError(f"{where}: station '{name}' is there already; choose another name")
    return {str(name): place for name, place in stations.items()}


def place_name(*coordinates: float) -> str:
    """A name for a place that a text can hold and no other place has: "at_0_5", "at_0_3_m0_1"."""
    texts = [repr(float(x)).replace(".", "_").replace("-", "m").replace("+", "") for x in coordinates]
    return "_".join(["at", *texts])


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
    found: Array = 0.5 * (matrix + matrix.T)
    return found


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


def node_places(value: object, where: str, what: str = "nodes") -> tuple[list[str], Array]:
    """Names and positions (n × 3) of nodes: a mapping by name, or a sequence named '1', '2', …"""
    if isinstance(value, Mapping):
        names = [str(name) for name in value]
        for name, place in value.items():
            numbers(place, where, f"the position of node '{name}'", (3,))
        places = list(value.values())
    else:
        places = list(value) if isinstance(value, Iterable) else [value]
        names = [str(i + 1) for i in range(len(places))]
    if value is None or isinstance(value, str):
        raise ModelError(f"{where}: {what}={value!r} must be positions (x, y, z), by name or in order")
    if not names:
        raise ModelError(f"{where}: {what} is empty; give at least one position (x, y, z)")
    return names, numbers(places, where, f"{what} (positions)", (len(names), 3))


def per_node(value: object, names: Sequence[str], where: str, what: str) -> Given:
    """Values in the order of the nodes; a mapping must have exactly their names."""
    if not isinstance(value, Mapping):
        return value
    found = _of_nodes(value, names, where, what)
    missing = [name for name in names if name not in found]
    if missing:
        raise ModelError(f"{where}: {what} has nothing for node '{missing[0]}'; give one for every node")
    return [found[name] for name in names]


def known_node(name: str, names: Sequence[str], where: str, what: str) -> int:
    """The number of a node among the names, or an error with the nearest one."""
    [known] = _of_nodes([name], names, where, what)
    return names.index(known)


def _of_nodes(given: Iterable[object], names: Sequence[str], where: str, what: str) -> DataTable:
    missing, after = f"{where}: {what} names node", ", which does not exist"
    return checked_names(given, names, missing, ModelError, after=after)


def node_records(
    names: Sequence[str], positions: Array, shapes: Array, shortening: Array | None = None
) -> dict[str, FlexibleNode]:
    """Nodes from positions (n × 3), shapes (n × 6 × N) and foreshortening (n × 3 × N × N)."""
    return {
        name: FlexibleNode(
            name, positions[s], shapes[s, :3], shapes[s, 3:], None if shortening is None else shortening[s]
        )
        for s, name in enumerate(names)
    }


def mode_shapes(value: object, rotations: object, names: Sequence[str], where: str) -> Array:
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
