"""Inertial parameters of the links of a regrouped tree, and efforts as linear functions of them.

Of each link its mass m, first moment h = m c and inertia matrix J about its origin, in the link's axes, and
the armatures of its joint: what regrouping leaves of them, κ. Efforts are linear in these,

    e = Y(q, u, u̇) κ + e₀(q, u, t)

with e₀ the efforts against all loads but gravity.

Joints of several axes have links without bodies, to which regrouping brings numbers of one body: κ = G π, in
the numbers π of the bodies, with fewer π than κ. Of those κ that depend on each other one is kept,

    κ_d = W κ_k,     Y κ = (Y_k + Y_d W) κ_k
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from armillary.algebra.derivatives.calculus import directional_derivatives, evaluate_all
from armillary.algebra.expression import UNIT, ZERO, Expr, as_expr, scale, symbol, total
from armillary.algebra.units.dimension import INERTIA, LENGTH, MASS, SPEED, Dimension
from armillary.algebra.vectors.matrices import ZERO_MATRIX, Matrix, matrix_sum, matrix_vector
from armillary.algebra.vectors.scalars import Scalar, is_zero
from armillary.algebra.vectors.triples import ZEROS, add, joined, scaled
from armillary.algebra.walk import Undimensioned, substitute
from armillary.analysis.inverse.equations import (
    InverseEquations,
    described_equations,
    moving_tree,
    neglecting_as_derived,
)
from armillary.mechanics.tree.inertia.rigid_inertia import moment_inertia, point_mass_inertia
from armillary.mechanics.tree.inverse_dynamics import efforts
from armillary.mechanics.tree.loads import applied_loads
from armillary.mechanics.tree.structure.regroup import regroup
from armillary.mechanics.tree.tree import Freedom, Link, Tree, with_inertia
from armillary.model.description import Description
from armillary.model.space.attraction import all_loads
from armillary.model.units import default_value
from armillary.program.equations import DerivedEquations
from armillary.program.formalisms.derivation import derivation
from armillary.untyped import DataTable

DEPENDENT = 1e-8  # of a column's length: what may be left of one that depends on others
ENTRIES = ("m", "hx", "hy", "hz", "Jxx", "Jyy", "Jzz", "Jxy", "Jxz", "Jyz")
ELEMENTS = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))


@dataclass(frozen=True, eq=False)
class LinkParameter:
    """One inertial number of a link, or the armature of one of its speeds.

    ``value`` is in the parameters of the description, ``of_bodies`` in the numbers of its bodies.
    """

    name: str
    symbol: Expr
    value: Expr
    of_bodies: Expr
    dimension: Dimension


@dataclass(frozen=True, eq=False)
class LinearEfforts:
    """e = Y κ + e₀ along independent speeds, then along given ones, as expressions.

    ``bodies`` has symbols for the ten inertial numbers of each rigid body: mass, first moment and inertia
    about its origin, in its own axes.
    """

    expressions: InverseEquations
    parameters: tuple[LinkParameter, ...]
    rows: tuple[tuple[Expr, ...], ...]  # Y
    rest: tuple[Expr, ...]  # e₀
    bodies: dict[str, tuple[Expr, ...]]


def linear_efforts(equations: DerivedEquations, *, every: bool = False) -> LinearEfforts:
    """Efforts by the parameters of links that are not zero in the description, or by ``every`` one."""
    with derivation(), neglecting_as_derived(equations):
        described = described_equations(equations)
        system, reduction = described.system, described.reduction
        free = {system.speeds.index(u) for u in reduction.independent(system)}
        rates = {i: reduction.plain(system.accelerations[system.speeds[i]]) for i in sorted(free)}
        tree = moving_tree(system, reduction, rates)
        bodies = _body_symbols(system, tree)
        # One choice for both: "sparsest" would depend on which numbers are equal.
        known, general = regroup(tree, "first"), regroup(_with_bodies(tree, bodies), "first")
        parameters, symbolic = _parametrised(system, known, general, every)
        tau = efforts(symbolic, applied_loads(system, symbolic, reduction.plain))
        found = InverseEquations(described, tuple(rates.values()), tuple(all_loads(system)), {}, tau)
        whole = [*found.along_independent, *found.along_given]
        columns = [directional_derivatives(whole, {p.symbol: UNIT}) for p in parameters]
        none = dict.fromkeys((p.symbol for p in parameters), ZERO)
        rest = tuple(substitute(e, none) for e in whole)
        kept, W = _independent(system, reduction.plain, parameters, bodies)
        columns = [
            [
                total([(1, column[i]), *((1, scale(columns[d][i], w)) for d, w in shares)])
                for i in range(len(whole))
            ]
            for column, shares in ((columns[k], W[k]) for k in kept)
        ]
    rows = tuple(tuple(column[i] for column in columns) for i in range(len(whole)))
    return LinearEfforts(found, tuple(parameters[k] for k in kept), rows, rest, bodies)


def _independent(
    system: Description,
    plain: Undimensioned,
    parameters: Sequence[LinkParameter],
    bodies: Mapping[str, tuple[Expr, ...]],
) -> tuple[list[int], dict[int, list[tuple[int, float]]]]:
    """Places of parameters that are independent functions of the bodies' numbers, the first of those that
    depend on each other; and the others with their shares of each of them.
    """
    own = [s for ten in bodies.values() for s in ten]
    wanted = [p.of_bodies for p in parameters]
    slopes = [directional_derivatives(wanted, {s: UNIT}) for s in own]
    slopes.append([substitute(e, dict.fromkeys(own, ZERO)) for e in wanted])  # armatures, flexible bodies
    rng = np.random.default_rng(0)
    known = {plain(p): default_value(p) for p in system.parameters.values()}
    values = {p: rng.uniform(0.5, 1.5) if value is None else value for p, value in known.items()}
    flat = evaluate_all([e for column in slopes for e in column], values)
    G = np.array(flat, dtype=float).reshape(len(slopes), len(parameters))
    own_number = [k for k in range(len(parameters)) if not np.any(G[:-1, k])]
    G = np.vstack([G, np.eye(len(parameters))[own_number]]) if own_number else G
    G[len(slopes) - 1, own_number] = 0.0
    kept, rest, shares = independent_columns(G)
    found: dict[int, list[tuple[int, float]]] = {k: [] for k in kept}
    for row, k in enumerate(kept):
        found[k] = [(d, float(w)) for d, w in zip(rest, shares[row], strict=True) if w]
    return list(kept), found


def independent_columns(
    columns: np.ndarray, left_out: Collection[int] = ()
) -> tuple[tuple[int, ...], tuple[int, ...], np.ndarray]:
    """Places of independent columns of a matrix, the first of those that depend on each other; of the others;
    and the shares (independent, others) that make these of those.
    """
    sizes = np.linalg.norm(columns, axis=0)
    basis: list[np.ndarray] = []
    chosen, rest = [], []
    for k in range(columns.shape[1]):
        if k in left_out:
            continue
        left = columns[:, k] / (sizes[k] or 1.0)
        for _ in range(2):  # twice is enough: Kahan's rule for Gram and Schmidt
            for direction in basis:
                left = left - direction * (direction @ left)
        length = float(np.linalg.norm(left))
        if length > DEPENDENT:
            basis.append(left / length)
            chosen.append(k)
        else:
            rest.append(k)
    shares = np.linalg.lstsq(columns[:, chosen], columns[:, rest], rcond=None)[0]
    whole = np.round(shares)
    shares = np.where(np.abs(shares - whole) < DEPENDENT * 10, whole, shares)
    return tuple(chosen), tuple(rest), shares


def _body_symbols(system: Description, tree: Tree) -> dict[str, tuple[Expr, ...]]:
    rigid = {
        name: place
        for name, place in tree.placements.items()
        if place.link >= 0 and tree.links[place.link].modes is None
    }
    return {
        name: tuple(symbol(f"{entry}_{name}", owner=system.identity) for entry in ENTRIES) for name in rigid
    }


def _with_bodies(tree: Tree, bodies: Mapping[str, tuple[Expr, ...]]) -> Tree:
    """The tree with symbols for the inertia of its rigid bodies."""
    links = [
        link if link.modes is not None else replace(link, mass=0, first=ZEROS, inertia=ZERO_MATRIX)
        for link in tree.links
    ]
    for name, (m, hx, hy, hz, *J) in bodies.items():
        place = tree.placements[name]
        h, r = matrix_vector(place.rotation, (hx, hy, hz)), place.origin
        inertia = place.turned_inertia(_matrix(J))
        shift = matrix_sum(moment_inertia(h, r), point_mass_inertia(m, r))
        first = add(h, scaled(r, m))
        links[place.link] = with_inertia(links[place.link], m, first, matrix_sum(inertia, shift))
    return replace(tree, links=tuple(links))


def _parametrised(
    system: Description, known: Tree, general: Tree, every: bool
) -> tuple[tuple[LinkParameter, ...], Tree]:
    """Symbols for the numbers of links, with what they stand for, and the tree of these symbols."""
    made: list[LinkParameter] = []

    def parameter(name: str, value: object, of_bodies: object, dimension: Dimension) -> Expr:
        node = symbol(name, owner=system.identity)
        made.append(LinkParameter(name, node, as_expr(value), as_expr(of_bodies), dimension))
        return node

    def freedom(d: Freedom) -> Freedom:
        if is_zero(d.armature):
            return d
        speed = system.speeds[d.index].dimension or SPEED
        dimension = MASS * SPEED * SPEED / (speed * speed)
        return replace(d, armature=parameter(f"{d.name}.armature", d.armature, d.armature, dimension))

    links: list[Link] = []
    for own, link in zip(known.links, general.links, strict=True):
        new: DataTable = {}
        for (entry, value), (_, of_bodies) in zip(_entries(own), _entries(link), strict=True):
            wanted = not is_zero(of_bodies) if every else not is_zero(value)
            name = f"{link.name}.{entry}"
            new[entry] = parameter(name, value, of_bodies, _dimension(entry)) if wanted else 0
        first = (new["hx"], new["hy"], new["hz"])
        inertia = _matrix([new[e] for e in ENTRIES[4:]])
        moved = replace(link if every else own, mass=new["m"], first=first, inertia=inertia)
        links.append(moved.with_degrees(freedom))
    return tuple(made), replace(general if every else known, links=tuple(links))


def _matrix(six: Sequence[Scalar]) -> Matrix:
    J = dict(zip(ELEMENTS, six, strict=True))
    return joined(joined(J[min(i, j), max(i, j)] for j in range(3)) for i in range(3))


def _entries(link: Link) -> Iterator[tuple[str, Scalar]]:
    numbers = (link.mass, *link.first, *(link.inertia[i][j] for i, j in ELEMENTS))
    return zip(ENTRIES, numbers, strict=True)


def _dimension(entry: str) -> Dimension:
    return MASS if entry == "m" else MASS * LENGTH if entry.startswith("h") else INERTIA
