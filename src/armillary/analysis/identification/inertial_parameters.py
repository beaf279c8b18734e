"""Inertial parameters of the links of a regrouped tree, and efforts as linear functions of them.

Each link has a mass m, first moment h = m c and inertia matrix J about its origin, in the link's axes, and
the armatures of its joint. Regrouping (``mechanics/tree/regroup.py``) collects at one link the parts of these
numbers that a joint cannot distinguish. κ are the numbers that are not zero afterwards. Efforts are linear,

    e = Y(q, u, u̇) κ + e₀(q, u, t)

with e₀ the efforts against all loads except gravity.

A joint of several axes has links without bodies, and regrouping moves numbers of the joint's body to them:
κ = G π, where π are the bodies' own numbers. If there are fewer π than κ, only independent κ_k are kept,
from which the dependent κ_d follow,

    κ_d = W κ_k,     Y κ = (Y_k + Y_d W) κ_k
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from armillary.algebra.arguments import index_of_name
from armillary.algebra.calculus import directional_derivatives, evaluate_all
from armillary.algebra.expression import UNIT, ZERO, Expr, as_expr, scale, symbol, total
from armillary.algebra.triples import (
    ZERO_MATRIX,
    ZEROS,
    Matrix,
    Scalar,
    add,
    is_zero,
    joined,
    matrix_sum,
    matrix_vector,
    scaled,
)
from armillary.algebra.units import INERTIA, LENGTH, MASS, SPEED, Dimension
from armillary.algebra.walk import Undimensioned, substitute
from armillary.analysis.effort_equations import (
    InverseEquations,
    described_equations,
    moving_tree,
    neglect_as_in_derivation,
)
from armillary.errors import ArmillaryError
from armillary.mechanics.tree.inverse_dynamics import efforts
from armillary.mechanics.tree.kinematics import applied_loads
from armillary.mechanics.tree.regroup import regroup
from armillary.mechanics.tree.tree import (
    Freedom,
    Link,
    Tree,
    moment_inertia,
    point_mass_inertia,
    with_inertia,
)
from armillary.model.description import Description
from armillary.model.space.attraction import all_loads
from armillary.model.units import default_value
from armillary.program.equations import DerivedEquations
from armillary.program.formalisms.formalism import derivation
from armillary.results.record import label_units
from armillary.text_tables import aligned, counted, html_table
from armillary.untyped import DataTable

DEPENDENT = 1e-8  # a column is dependent if its remainder after projection is below this share of its length
ENTRIES = ("m", "hx", "hy", "hz", "Jxx", "Jyy", "Jzz", "Jxy", "Jxz", "Jyz")
ELEMENTS = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))


@dataclass(frozen=True, eq=False)
class LinkParameter:
    """One inertial number of a link, or the armature of one of its speeds.

    ``value`` expresses it by the description's parameters, ``of_bodies`` by the bodies' numbers π.
    """

    name: str
    symbol: Expr
    value: Expr
    of_bodies: Expr
    dimension: Dimension


@dataclass(frozen=True, eq=False)
class LinearEfforts:
    """The efforts e = Y κ + e₀ along independent speeds, then along prescribed and locked ones.

    ``bodies`` has symbols for the ten inertial numbers of each rigid body: mass, first moment and inertia
    about its origin, in its own axes.
    """

    expressions: InverseEquations
    parameters: tuple[LinkParameter, ...]
    rows: tuple[tuple[Expr, ...], ...]  # Y
    rest: tuple[Expr, ...]  # e₀
    bodies: dict[str, tuple[Expr, ...]]


def linear_efforts(equations: DerivedEquations, *, every: bool = False) -> LinearEfforts:
    """Return the efforts in terms of the link parameters that are not zero in the description.

    With ``every``, the result has all link parameters that are not zero for bodies of arbitrary inertia.
    """
    with derivation(), neglect_as_in_derivation(equations):
        described = described_equations(equations)
        system, reduction = described.system, described.reduction
        free = {system.speeds.index(u) for u in reduction.independent(system)}
        rates = {i: reduction.plain(system.accelerations[system.speeds[i]]) for i in sorted(free)}
        tree = moving_tree(system, reduction, rates)
        bodies = _body_symbols(system, tree)
        # "first" makes the same choice for both trees; "sparsest" would depend on which numbers are equal.
        known, general = regroup(tree, "first"), regroup(_with_bodies(tree, bodies), "first")
        parameters, symbolic = _tree_of_parameters(system, known, general, every)
        tau = efforts(symbolic, applied_loads(system, symbolic, reduction.plain))
        found = InverseEquations(described, tuple(rates.values()), tuple(all_loads(system)), {}, tau)
        whole = [*found.along_independent, *found.along_given]
        columns = [directional_derivatives(whole, {p.symbol: UNIT}) for p in parameters]
        none = dict.fromkeys((p.symbol for p in parameters), ZERO)
        rest = tuple(substitute(e, none) for e in whole)
        kept, W = _independent_parameters(system, reduction.plain, parameters, bodies)
        columns = [
            [
                total([(1, column[i]), *((1, scale(columns[d][i], w)) for d, w in shares)])
                for i in range(len(whole))
            ]
            for column, shares in ((columns[k], W[k]) for k in kept)
        ]
    rows = tuple(tuple(column[i] for column in columns) for i in range(len(whole)))
    return LinearEfforts(found, tuple(parameters[k] for k in kept), rows, rest, bodies)


def _independent_parameters(
    system: Description,
    plain: Undimensioned,
    parameters: Sequence[LinkParameter],
    bodies: Mapping[str, tuple[Expr, ...]],
) -> tuple[list[int], dict[int, list[tuple[int, float]]]]:
    """Return the indices of parameters that are independent functions of the bodies' inertial numbers.

    Among parameters that depend on each other the first ones are chosen. Also return, for each chosen
    parameter, the dependent parameters to which it contributes, as pairs (index, share).
    """
    own = [s for ten in bodies.values() for s in ten]
    wanted = [p.of_bodies for p in parameters]
    slopes = [directional_derivatives(wanted, {s: UNIT}) for s in own]
    # The last row of G has what does not come from rigid bodies: armatures, flexible bodies.
    slopes.append([substitute(e, dict.fromkeys(own, ZERO)) for e in wanted])
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
    """Split the columns of a matrix into independent and dependent ones: others = independent @ shares.

    Return the indices of the independent columns, chosen from the left, the indices of the others, and the
    shares (independent, others).
    """
    sizes = np.linalg.norm(columns, axis=0)
    basis: list[np.ndarray] = []
    chosen, rest = [], []
    for k in range(columns.shape[1]):
        if k in left_out:
            continue
        left = columns[:, k] / (sizes[k] or 1.0)
        for _ in range(2):  # a second projection removes the rounding errors of the first (Kahan)
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
    """Return the tree with symbols for the inertia of its rigid bodies."""
    links = [
        link if link.modes is not None else replace(link, mass=0, first=ZEROS, inertia=ZERO_MATRIX)
        for link in tree.links
    ]
    for name, (m, hx, hy, hz, *J) in bodies.items():
        place = tree.placements[name]
        h, r = matrix_vector(place.rotation, (hx, hy, hz)), place.origin
        inertia = place.turned_inertia(_symmetric_matrix(J))
        shift = matrix_sum(moment_inertia(h, r), point_mass_inertia(m, r))
        first = add(h, scaled(r, m))
        links[place.link] = with_inertia(links[place.link], m, first, matrix_sum(inertia, shift))
    return replace(tree, links=tuple(links))


def _tree_of_parameters(
    system: Description, known: Tree, general: Tree, every: bool
) -> tuple[tuple[LinkParameter, ...], Tree]:
    """Return the parameters of links, and the tree with their symbols as inertial numbers."""
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
        for (entry, value), (_, of_bodies) in zip(
            _inertial_entries(own), _inertial_entries(link), strict=True
        ):
            wanted = not is_zero(of_bodies) if every else not is_zero(value)
            name = f"{link.name}.{entry}"
            new[entry] = parameter(name, value, of_bodies, _dimension(entry)) if wanted else 0
        first = (new["hx"], new["hy"], new["hz"])
        inertia = _symmetric_matrix([new[e] for e in ENTRIES[4:]])
        moved = replace(link if every else own, mass=new["m"], first=first, inertia=inertia)
        links.append(moved.with_degrees(freedom))
    return tuple(made), replace(general if every else known, links=tuple(links))


def _symmetric_matrix(six: Sequence[Scalar]) -> Matrix:
    J = dict(zip(ELEMENTS, six, strict=True))
    return joined(joined(J[min(i, j), max(i, j)] for j in range(3)) for i in range(3))


def _inertial_entries(link: Link) -> Iterator[tuple[str, Scalar]]:
    numbers = (link.mass, *link.first, *(link.inertia[i][j] for i, j in ELEMENTS))
    return zip(ENTRIES, numbers, strict=True)


def _dimension(entry: str) -> Dimension:
    return MASS if entry == "m" else MASS * LENGTH if entry.startswith("h") else INERTIA


# Base parameters: the fewest combinations of inertial parameters on which the motion depends.
#
# Regrouping (``mechanics/tree/regroup.py``) collects at one link the parameters that a joint cannot
# distinguish. The result may still have parameters without effect, or with linearly dependent effects,
# because of parallel axes, planes, or a joint on the ground along gravity. The columns of Y at random states
# show both. The parameter of a column that depends linearly on other columns is added to their parameters,
#
#     Y κ = Y_i (κ_i + C κ_d),     Y_d = Y_i C
#
# Source: Gautier (1991), Numerical calculation of the base inertial parameters of robots. Here, numbers of
# regrouped links take the place of the bodies' own numbers.

_PLACES = 4  # rows of Y at random states, per parameter
_LONG = re.compile(r"\d+\.\d{13,}(?:e[-+]?\d+)?")  # numbers of so many digits are printed with fewer
_WIDTH = 72  # most characters of an expression in a table


@dataclass(frozen=True, eq=False)
class BaseParameter:
    """One base parameter, in terms of the description's parameters and of the bodies' inertial numbers.

    ``value`` is its value for the parameters' defaults; NaN if one of these parameters has no default.
    """

    name: str
    expression: Expr
    of_bodies: Expr
    value: float
    units: str

    def __str__(self) -> str:
        text = str(self.of_bodies if self.expression.kind == "number" else self.expression)
        return _LONG.sub(lambda m: f"{float(m[0]):.12g}", text)  # prints 0.4² as 0.16


@dataclass(frozen=True, eq=False, repr=False)
class BaseParameters:
    """The base parameters of a system, in the order of the columns of its regressor.

        base = eom.base_parameters()
        base["A.Jzz"].expression, base["A.Jzz"].value
        base.names, base.values

    ``without_effect`` names inertial parameters of links on which no effort depends.
    """

    system: str
    parameters: tuple[BaseParameter, ...]
    without_effect: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Names, such as A.Jzz."""
        return tuple(p.name for p in self.parameters)

    @property
    def values(self) -> np.ndarray:
        """Values with the parameters' defaults."""
        return np.array([p.value for p in self.parameters])

    def __len__(self) -> int:
        return len(self.parameters)

    def __iter__(self) -> Iterator[BaseParameter]:
        return iter(self.parameters)

    def __getitem__(self, name: str) -> BaseParameter:
        return self.parameters[index_of_name(name, self.names, f"base parameters of '{self.system}' have no")]

    def _rows(self) -> list[list[str]]:
        def short(text: str) -> str:
            return text if len(text) <= _WIDTH else text[: _WIDTH - 1] + "…"

        return [
            [p.name, "" if np.isnan(p.value) else f"{p.value:.6g}", label_units(p.units), short(str(p))]
            for p in self.parameters
        ]

    def __repr__(self) -> str:
        lines = [f"{counted(len(self), 'base parameter')} of '{self.system}':"]
        lines += [f"  {line}" for line in aligned(self._rows(), "<><<")]
        if self.without_effect:
            lines.append(f"  without effect: {', '.join(self.without_effect)}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        title = f"{counted(len(self), 'base parameter')} of '{self.system}'"
        return html_table(["", "value", "units", "grouping"], self._rows(), "<><<", caption=title)


@dataclass(frozen=True, eq=False)
class Grouping:
    """Indices of independent and dependent columns of Y, and the shares C."""

    independent: tuple[int, ...]
    dependent: tuple[int, ...]
    shares: np.ndarray  # (independent, dependent)
    without_effect: tuple[int, ...]


def base_parameters(equations: DerivedEquations) -> BaseParameters:
    """Return the fewest combinations of inertial parameters on which the motion depends, as expressions."""
    efforts = linear_efforts(equations)
    if has_loops(equations):
        raise ArmillaryError(
            f"base parameters of '{equations.system.name}' need positions that close its loops; use the "
            "compiled model: model.regressor(q).parameters"
        )
    return grouped_parameters(efforts, grouping(random_regressor(efforts)))


def has_loops(equations: DerivedEquations) -> bool:
    """Return whether constraints on positions exist."""
    return any(c.position is not None for c in equations.system.constraints.values())


def count_of_places(efforts: LinearEfforts) -> int:
    """Return the number of random states that suffice to find the independent columns of Y."""
    return 1 + _PLACES * len(efforts.parameters) // max(len(efforts.rows), 1)


def grouped_parameters(efforts: LinearEfforts, groups: Grouping) -> BaseParameters:
    """Return the base parameters for independent columns and their shares."""
    system, given = efforts.expressions.equations.system, efforts.parameters
    plain = efforts.expressions.reduction.plain
    known = {plain(p): default_value(p) for p in system.parameters.values()}
    values = {p: float("nan") if value is None else value for p, value in known.items()}
    made = []
    for row, i in enumerate(groups.independent):
        shares = zip(groups.dependent, groups.shares[row], strict=True)
        terms = [(1.0, given[i])] + [(float(c), given[d]) for d, c in shares if c]
        expression, of_bodies = (
            total([(1, scale(getattr(p, which), c)) for c, p in terms]) for which in ("value", "of_bodies")
        )
        (value,) = evaluate_all([expression], values)
        units = system.units.unit_text(given[i].dimension)
        made.append(BaseParameter(given[i].name, expression, of_bodies, float(value), units))
    return BaseParameters(system.name, tuple(made), tuple(given[k].name for k in groups.without_effect))


def grouping(columns: np.ndarray) -> Grouping:
    """Return the grouping of the columns of Y at many states, independent columns chosen from the left."""
    sizes = np.linalg.norm(columns, axis=0)
    largest = float(np.max(sizes, initial=0.0))
    nothing = [k for k in range(columns.shape[1]) if sizes[k] <= DEPENDENT * largest]
    chosen, rest, shares = independent_columns(columns, nothing)
    return Grouping(chosen, rest, shares, tuple(nothing))


def random_regressor(
    efforts: LinearEfforts, states: np.ndarray | None = None, times: np.ndarray | None = None
) -> np.ndarray:
    """Return Y at random states, or at given states and times, with random rates; rows are stacked.

    Parameters without a default are random too. Times matter only if motion is prescribed.
    """
    equations = efforts.expressions.equations
    system, targets, plain = equations.system, equations.targets, equations.reduction.plain
    rng = np.random.default_rng(0)
    count = count_of_places(efforts) if states is None else len(states)
    values: dict[Expr, np.ndarray | float] = {}
    for s in (*targets.coordinates, *targets.speeds, *targets.states, *efforts.expressions.rates):
        values[s] = rng.uniform(-1.0, 1.0, count)
    if states is not None:
        values |= dict(zip(targets.integrated, states.T, strict=True))
    for body in system.bodies.values():
        for start in body.assembly.quaternions:
            four = [plain(q) for q in body.coordinates[start : start + 4]]
            length = np.sqrt(sum(values[q] ** 2 for q in four if q in values))
            values |= {q: values[q] / length for q in four if q in values}
    for m in system.memories.values():
        values[plain(m.symbol)] = m.initial
    for p in system.parameters.values():
        value = default_value(p)
        values[plain(p)] = rng.uniform(0.5, 1.5) if value is None else value
    values[targets.time] = rng.uniform(0.0, 1.0, count) if times is None else times
    flat = [e for row in efforts.rows for e in row]
    found = [np.broadcast_to(np.asarray(x, dtype=float), count) for x in evaluate_all(flat, values)]
    shape = (len(efforts.rows), len(efforts.parameters), count)
    return np.moveaxis(np.reshape(found, shape), 2, 0).reshape(-1, len(efforts.parameters))
