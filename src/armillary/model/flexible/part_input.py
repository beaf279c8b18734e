"""Readers that convert the input of flexible parts to checked arrays; errors use the user's names.

Matrices are arrays, sparse matrices or files: .npy, sparse .npz and Matrix Market .mtx. The axes of a beam or
plate in its body follow from a direction along it and a direction across it. Modal stiffness and damping are
given by frequencies and ratios, or by matrices.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated

import numpy as np

from armillary.algebra.arguments import checked_names
from armillary.errors import ModelError, shown
from armillary.model.flexible.part import (
    ORTHOGONAL,
    Array,
    FlexibleNode,
    MatrixLike,
    coherence,
    uncouple_modes,
)
from armillary.model.reading.kinds import NUMBERS, WORDS, Either
from armillary.untyped import DataTable, Given

AXES = ("x", "y", "z", "rx", "ry", "rz")

# Largest asymmetry of a matrix, as a share of its largest element. Matrices from finite-element programs have
# five to seven digits; a wrong file has a far larger asymmetry.
_ASYMMETRY = 1e-6


def read_array(value: object, where: str, what: str, shape: tuple[int, ...] | None = None) -> Array:
    """Return finite numbers as a new array; raise an error if its shape is not ``shape``."""
    if value is None:
        raise ModelError(f"{where}: {what} is missing; give a value")
    try:
        given = np.asarray(value)
        found = np.array(given.real if np.iscomplexobj(given) else value, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise ModelError(f"{where}: {what} must be numbers, not {shown(value)}") from None
    no_imaginary(given, where, what)
    if shape is not None and found.shape != shape:
        raise ModelError(
            f"{where}: {what} must have shape {shape_text(shape)}, not {shape_text(found.shape)}"
        )
    bad = np.argwhere(~np.isfinite(found))
    if len(bad):
        place = f" at ({', '.join(str(i + 1) for i in bad[0])})" if found.ndim else ""
        raise ModelError(
            f"{where}: {what} holds {found[tuple(bad[0])]}{place}; every value must be a finite number"
        )
    return found


def no_imaginary(values: Array, where: str, what: str) -> None:
    """Raise an error for nonzero imaginary parts, which must not be dropped silently."""
    if np.iscomplexobj(values) and np.any(values.imag != 0):
        raise ModelError(
            f"{where}: {what} holds complex numbers, but must be real: give structural damping with "
            "damping= or damping_matrix=, and use real modes"
        )


def shape_text(shape: tuple[int, ...]) -> str:
    """Return a shape as people write it: 3 × 4."""
    return " × ".join(map(str, shape)) if shape else "of one number"


def read_positive(value: object, where: str, what: str, *, zero: bool = False) -> float:
    """Return one positive number; zero is allowed, too, if ``zero`` is true."""
    found = float(read_array(value, where, what, ()))
    if found < 0 or (found == 0 and not zero):
        raise ModelError(f"{where}: {what} = {found:g} must be {'zero or more' if zero else 'positive'}")
    return found


def one_or_more(value: object, count: int, where: str, what: str) -> Array:
    """Return ``count`` numbers; a single number is used for all."""
    found = read_array(value, where, what)
    if found.shape not in ((), (count,)):
        raise ModelError(f"{where}: {what} must be one number or {count}, not {shape_text(found.shape)}")
    return np.broadcast_to(found, (count,)).copy()


def poisson(value: object, where: str) -> float:
    """Return Poisson's ratio, between −1 and ½."""
    nu = float(read_array(value, where, "nu", ()))
    if not -1 < nu <= 0.5:
        raise ModelError(f"{where}: Poisson's ratio nu={nu:g} must lie between -1 and 0.5")
    return nu


def how_many(modes: object, where: str, least: int = 1) -> int:
    """Return a checked number of modes."""
    if isinstance(modes, bool) or not isinstance(modes, int | np.integer) or modes < least:
        raise ModelError(f"{where}: modes={modes!r} must be a whole number, {least} or more")
    return int(modes)


def station_names(stations: object, taken: Iterable[str], where: str) -> DataTable:
    """Return the places of stations by name; those in a sequence get the names "1", "2", …

    Names in ``taken`` cannot be used.
    """
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
    """Return an identifier that is unique to a place: "at_0_5", "at_0_3_m0_1"."""
    texts = [repr(float(x)).replace(".", "_").replace("-", "m").replace("+", "") for x in coordinates]
    return "_".join(["at", *texts])


def check_symmetric(matrix: Array, where: str, what: str, names: Sequence[str]) -> Array:
    """Return the symmetric part of a matrix.

    If the matrix differs from it by more than rounding, raise an error that names the worst pair of elements.
    """
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
    """Raise an error if a symmetric matrix has a negative eigenvalue.

    The error names the row in which the eigenvector is largest, from ``names``.
    """
    values, vectors = np.linalg.eigh(matrix)
    if values[0] < -1e-9 * max(abs(values[-1]), abs(values[0])):
        worst = int(np.argmax(np.abs(vectors[:, 0])))
        raise ModelError(
            f"{where}: {what} is not positive: eigenvalue {values[0]:.6g}, most of it along {names[worst]}; "
            "check signs and the order of its rows"
        )


def mode_names(count: int) -> list[str]:
    """Return names of modes for messages."""
    return [f"mode {i + 1}" for i in range(count)]


def node_places(value: object, where: str, what: str = "nodes") -> tuple[list[str], Array]:
    """Return the names and positions (n × 3) of nodes, which are a mapping by name or a sequence.

    Nodes in a sequence get the names "1", "2", …
    """
    if isinstance(value, Mapping):
        names = [str(name) for name in value]
        for name, place in value.items():
            read_array(place, where, f"the position of node '{name}'", (3,))
        places = list(value.values())
    else:
        places = list(value) if isinstance(value, Iterable) else [value]
        names = [str(i + 1) for i in range(len(places))]
    if value is None or isinstance(value, str):
        raise ModelError(f"{where}: {what}={value!r} must be positions (x, y, z), by name or in order")
    if not names:
        raise ModelError(f"{where}: {what} is empty; give at least one position (x, y, z)")
    return names, read_array(places, where, f"{what} (positions)", (len(names), 3))


def per_node(value: object, names: Sequence[str], where: str, what: str) -> Given:
    """Return values in the order of the nodes; a mapping must have exactly their names."""
    if not isinstance(value, Mapping):
        return value
    found = _of_nodes(value, names, where, what)
    missing = [name for name in names if name not in found]
    if missing:
        raise ModelError(f"{where}: {what} has no value for node '{missing[0]}'; give one for every node")
    return [found[name] for name in names]


def known_node(name: str, names: Sequence[str], where: str, what: str) -> int:
    """Return the index of a node among the names; raise an error with the nearest name if it is missing."""
    [known] = _of_nodes([name], names, where, what)
    return names.index(known)


def _of_nodes(given: Iterable[object], names: Sequence[str], where: str, what: str) -> DataTable:
    missing, after = f"{where}: {what} names node", ", which does not exist"
    return checked_names(given, names, missing, ModelError, after=after)


def node_records(
    names: Sequence[str], positions: Array, shapes: Array, shortening: Array | None = None
) -> dict[str, FlexibleNode]:
    """Return nodes by name, with positions (n × 3), shapes (n × 6 × N) and foreshortening (n × 3 × N × N)."""
    return {
        name: FlexibleNode(
            name, positions[s], shapes[s, :3], shapes[s, 3:], None if shortening is None else shortening[s]
        )
        for s, name in enumerate(names)
    }


def mode_shapes(value: object, rotations: object, names: Sequence[str], where: str) -> Array:
    """Return the shapes, with rotations, as n × 6 × N; they may be given in any form named in the errors."""
    count = len(names)
    found = read_array(per_node(value, names, where, "shapes"), where, "shapes")
    if found.ndim == 2 and found.shape[0] in (3 * count, 6 * count):
        found = found.reshape(count, -1, found.shape[1])
    if found.ndim != 3 or found.shape[0] != count or found.shape[1] not in (3, 6) or found.shape[2] < 1:
        raise ModelError(
            f"{where}: shapes of {count} nodes must be {count} × 3 × N, {count} × 6 × N, {3 * count} × N or "
            f"{6 * count} × N for N modes, not {shape_text(found.shape)}"
        )
    if rotations is None:
        turned = np.zeros((count, 3, found.shape[2])) if found.shape[1] == 3 else found[:, 3:]
    elif found.shape[1] == 6:
        raise ModelError(f"{where}: shapes include rotations already (6 per node); leave out rotations=")
    else:
        turned = read_array(per_node(rotations, names, where, "rotations"), where, "rotations")
        if turned.ndim == 2 and turned.shape[0] == 3 * count:
            turned = turned.reshape(count, 3, -1)
        turned = read_array(turned, where, "rotations", found.shape)
    return np.concatenate([found[:, :3], turned], axis=1)


def read_matrix(value: object, where: str, what: str) -> MatrixLike:
    """Return a square matrix of finite numbers: a dense array, or sparse in rows (CSR)."""
    import scipy.sparse

    if isinstance(value, str | Path):
        value = _from_file(Path(value), where, what)
        what = f"{what} of file"
    if not scipy.sparse.issparse(value):
        found = read_array(value, where, what)
        _square(found.shape, where, what)
        return found
    given = scipy.sparse.csr_matrix(value)
    no_imaginary(given.data, where, what)
    matrix = scipy.sparse.csr_matrix(given.real, dtype=float)
    _square(matrix.shape, where, what)
    bad = np.flatnonzero(~np.isfinite(matrix.data))
    if len(bad):
        row = int(np.searchsorted(matrix.indptr, bad[0], side="right"))
        raise ModelError(
            f"{where}: {what} holds {matrix.data[bad[0]]} at ({row}, {matrix.indices[bad[0]] + 1}); every "
            "value must be a finite number"
        )
    return matrix


def _square(shape: tuple[int, ...], where: str, what: str) -> None:
    if len(shape) != 2 or shape[0] != shape[1] or not shape[0]:
        raise ModelError(f"{where}: {what} must be square, not {shape_text(shape)}")


def _from_file(path: Path, where: str, what: str) -> MatrixLike:
    import scipy.io
    import scipy.sparse

    # A pickle in a file could run any code, so pickles are refused.
    readers = {
        ".npy": lambda: np.load(path, allow_pickle=False),
        ".npz": lambda: scipy.sparse.load_npz(path),
        ".mtx": lambda: scipy.io.mmread(path),
    }
    if path.suffix not in readers:
        raise ModelError(
            f"{where}: {what} is in file '{path}', but only {', '.join(readers)} files can be read; save it "
            "as one of these"
        )
    if not path.is_file():
        raise ModelError(f"{where}: {what}: there is no file '{path}'; check its name and folder")
    try:
        with warnings.catch_warnings():
            # SciPy 1.18 warns that it will return sparse arrays; the caller converts arrays and matrices.
            warnings.simplefilter("ignore", DeprecationWarning)
            return readers[path.suffix]()
    except Exception as error:  # each reader raises its own kinds of exception
        raise ModelError(f"{where}: {what}: file '{path}' cannot be read ({error})") from error


Direction = Annotated[Given, Either((WORDS, NUMBERS))]  # "x", "-y", …, or three components
_NAMED = {name: np.eye(3)[i] for i, name in enumerate("xyz")}


def read_direction(value: object, where: str, what: str) -> Array:
    """Return a unit vector: "x", "-y", …, or three components."""
    if isinstance(value, str):
        axis = _NAMED.get(value[1:] if value[:1] in ("+", "-") else value)
        if axis is None:
            raise ModelError(f"{where}: {what}={value!r} is not an axis; give x, y, z, -x, … or a vector")
        found: Array = -axis if value.startswith("-") else axis
        return found
    vector = read_array(value, where, what, (3,))
    size = float(np.linalg.norm(vector))
    if size == 0:
        raise ModelError(f"{where}: {what} is the zero vector and has no direction")
    return vector / size


def local_axes(along: object, across: object, where: str) -> Array:
    """Return axes as columns: x is ``along``, y the part of ``across`` perpendicular to x, and z = x × y.

    Without ``across``, the first of the body's axes y, z and x that is not nearly parallel to ``along`` takes
    its place.
    """
    first = read_direction(along, where, "along")
    if across is None:
        second = next(_NAMED[name] for name in "yzx" if abs(_NAMED[name] @ first) < 0.9)
    else:
        second = read_direction(across, where, "across")
    second = second - first * (first @ second)
    size = float(np.linalg.norm(second))
    if size < 1e-9:
        raise ModelError(f"{where}: across is parallel to along; give another direction")
    second = second / size
    return np.column_stack([first, second, np.cross(first, second)])


def turn_shapes(axes: Array, shapes: Array) -> Array:
    """Convert shapes n × 6 × N (or displacements n × 3 × …) from local to body axes."""
    whole = [np.tensordot(shapes[:, half], axes, ([1], [1])) for half in (slice(3), slice(3, 6))]
    return np.concatenate([np.moveaxis(part, -1, 1) for part in whole if part.size], axis=1)


# Largest coherence of orthogonal modes that are given with three digits; with a wrong mass model it is
# larger.
_THREE_DIGITS = 1e-2


def modal_mass(M: Array, where: str) -> Array:
    """Return a modal mass matrix; raise an error that names a mode if it is not positive definite."""
    for p, own in enumerate(np.diag(M)):
        if own <= 0:
            raise ModelError(
                f"{where}: mode {p + 1} moves no mass (modal mass {own:g}); leave it out, or give masses to "
                "the nodes that it moves"
            )
    scale = 1 / np.sqrt(np.diag(M))
    values, vectors = np.linalg.eigh(M * np.outer(scale, scale))
    if values[0] < 1e-12 * values[-1]:
        p, q = np.argsort(-np.abs(vectors[:, 0]))[:2] + 1
        raise ModelError(
            f"{where}: the modal mass matrix is singular: modes {min(p, q)} and {max(p, q)} (or more) move "
            "the masses in the same way; leave one out"
        )
    return M


def reduced_mass(M: Array, P: Array, total_mass: object, where: str) -> Array:
    """Return M − PᵀP/m, in which the modes of a free vehicle of total mass m are orthogonal.

    Without ``total_mass`` the modes are those of the part on a fixed body, and the result is M. Source: JPL
    TR 32-1598, sect. II.
    """
    if total_mass is None:
        return M
    mass = read_positive(total_mass, where, "total_mass")
    reduced: Array = M - P.T @ P / mass
    p = int(np.argmin(np.diag(reduced) / np.diag(M)))
    if reduced[p, p] <= 1e-12 * M[p, p]:
        raise ModelError(
            f"{where}: total_mass = {mass:g} is too small: mode {p + 1} has the modal mass {M[p, p]:.6g}, "
            f"but its momentum would reduce it by {P[:, p] @ P[:, p] / mass:.6g}; give the mass of the whole "
            "vehicle, this part included"
        )
    return reduced


def modal_stiffness(M: Array, where: str, *, frequencies: object, stiffness: object) -> Array:
    """Return the modal stiffness K, from angular frequencies or from a given matrix.

    Frequencies give K_pp = M_pp ω_p², for orthogonal modes only. ``M`` is the mass matrix in which the modes
    are orthogonal: see `reduced_mass`.
    """
    if (frequencies is None) == (stiffness is None):
        what = "both given" if stiffness is not None else "missing"
        raise ModelError(f"{where}: frequencies (rad/s) and stiffness are {what}; give exactly one of them")
    count = len(M)
    if stiffness is not None:
        matrix = read_array(stiffness, where, "the modal stiffness", (count, count))
        matrix = check_symmetric(matrix, where, "the modal stiffness", mode_names(count))
        semidefinite(matrix, where, "the modal stiffness", mode_names(count))
        return matrix
    rates = np.atleast_1d(read_array(frequencies, where, "frequencies"))
    if rates.shape != (count,):
        raise ModelError(f"{where}: {count} modes need {count} frequencies, not {shape_text(rates.shape)}")
    if np.any(rates <= 0):
        p = int(np.argmin(rates))
        raise ModelError(
            f"{where}: frequency {rates[p]:g} of mode {p + 1} is not positive; a mode without stiffness is "
            "rigid motion, which the body has already: leave it out"
        )
    worst, p, q = coherence(M)
    if worst > _THREE_DIGITS:
        raise ModelError(
            f"{where}: modes {p + 1} and {q + 1} are not orthogonal (coherence {worst:.3g} in the modal mass "
            "matrix), so frequencies do not suffice; check masses and shapes, or give the modal stiffness="
        )
    return np.diag(np.diag(M) * rates**2)


def modal_damping(M: Array, K: Array, where: str, *, damping: object, damping_matrix: object) -> Array:
    """Return the modal damping C, from damping ratios ζ (one for all modes, or one each) or from a matrix.

    Orthogonal modes have C_pp = 2 ζ_p ω_p M_pp. For coupled modes with one ratio, C = M Φ 2ζω Φᵀ M with the
    uncoupled modes Φ. Different ratios are allowed only for orthogonal modes.
    """
    count = len(M)
    if damping is not None and damping_matrix is not None:
        raise ModelError(f"{where}: damping (ratios) and damping_matrix are both given; give one of them")
    if damping_matrix is not None:
        matrix = read_array(damping_matrix, where, "damping_matrix", (count, count))
        matrix = check_symmetric(matrix, where, "damping_matrix", mode_names(count))
        semidefinite(matrix, where, "damping_matrix", mode_names(count))
        return matrix
    ratios = read_array(0.0 if damping is None else damping, where, "damping")
    if ratios.shape not in ((), (count,)):
        raise ModelError(
            f"{where}: damping is one ratio or {count}, one per mode, not {shape_text(ratios.shape)}"
        )
    if np.any(ratios < 0):
        p = int(np.argmin(ratios)) if ratios.ndim else 0
        raise ModelError(
            f"{where}: the damping ratio {np.min(ratios):g} of mode {p + 1} is negative; give zero or more"
        )
    worst, p, q = max(coherence(M), coherence(K))
    differ = bool(ratios.ndim) and np.ptp(ratios) > 0
    if differ and worst > _THREE_DIGITS:
        raise ModelError(
            f"{where}: modes {p + 1} and {q + 1} are coupled (coherence {worst:.3g} in mass or stiffness), "
            "so ratios per mode have no meaning; give one ratio for all, or damping_matrix="
        )
    if differ or worst < ORTHOGONAL:
        return np.diag(2 * ratios * np.sqrt(np.diag(K) * np.diag(M)))
    rates, modes = uncouple_modes(M, K)
    momenta = M @ modes
    found: Array = (momenta * (2 * np.max(ratios) * rates)) @ momenta.T
    return found
