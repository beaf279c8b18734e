"""The conditions of an operating point and their exact derivatives, as machine code.

The rows of c(x) are the rates of all states y = [q, u, z], the gaps of closed loops, the lengths of Euler
parameters e, the gaps and slips of rigid contacts with their velocities, and the requested outputs. The
columns of its Jacobian C are for the states (coordinates q, speeds u, further states z) and for the inputs to
be found:

    c(x) = [ ẏ ; Φ(q) ; eᵀe − 1 ; contacts ; outputs ]        x = [ q, u, z, inputs ]        C = ∂c/∂x

A problem selects rows and columns of these, so the code is compiled once for a model and the names of its
outputs and inputs, and kept as long as the model lives. For large systems, and with rigid contacts, C is not
written out: one function gives C d for a direction d, and columns of C without a common nonzero row are found
with one direction (Curtis, Powell & Reid 1974, J. Inst. Math. Appl. 13, 117–119). The code for a box with 8
corners is compiled in a sixth of the time. If such a system rests, u = 0 is inserted into c and C d, which
halves the time.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from armillary.algebra.calculus import tangents
from armillary.algebra.expression import UNIT, ZERO, Expr, as_expr, symbol
from armillary.algebra.units import ONE
from armillary.algebra.walk import held_indices, symbols, transform
from armillary.cache import kept_per_object
from armillary.mechanics.constraints.loop_closing import speed_kind, unit_sizes
from armillary.model.units import state_factor
from armillary.numerics.scatter import ScatterNumbers
from armillary.program import linearization
from armillary.program.equations import DerivedEquations
from armillary.program.formalisms.formalism import derivation
from armillary.runtime.models.compiled_program import ModelFunctions
from armillary.untyped import DataTable

if TYPE_CHECKING:
    from armillary.runtime.models.compiled import CompiledModel


# Numbers of the conditions of an operating point and of their derivatives, from compiled functions.

VALUES, SLOPES = "conditions", "slopes"
_SIGNS = 3  # directions with random signs from which sizes of conditions are found


@cache
def scatter(reach: float, rows: int, columns: int) -> np.ndarray:
    """Return random numbers between −reach and reach, the same in every call."""
    found = ScatterNumbers().spread(reach, rows * columns).reshape(rows, columns)
    found.setflags(write=False)
    return found


class Directions(NamedTuple):
    """Directions d along which products C d give columns of C.

    Direction k is 1 at ``columns[ends[k-1]:ends[k]]`` and 0 elsewhere. Its product contains elements of C,
    whose rows and flat indices in C are in ``rows`` and ``places`` from ``element_ends[k-1]`` to
    ``element_ends[k]``.
    """

    columns: np.ndarray
    ends: np.ndarray
    rows: np.ndarray
    places: np.ndarray
    element_ends: np.ndarray


@dataclass(frozen=True, eq=False)
class ConditionCode:
    """Compiled functions of c and of its derivatives.

    The derivatives are the entries of C with the flat indices ``flat``, or a product C d if ``flat`` is None.
    """

    functions: ModelFunctions
    pattern: np.ndarray  # true for elements of C that are not always zero
    flat: np.ndarray | None = None
    _known: dict[bytes, Directions] = field(default_factory=dict)

    @cached_property
    def addresses(self) -> tuple[int, int]:
        """The addresses of the functions of c and of its derivatives, for compiled loops."""
        return self.functions.address(VALUES), self.functions.address(SLOPES)

    def directions(self, columns: np.ndarray) -> Directions:
        """Return directions that give these columns; columns without a common nonzero row share one."""
        key = columns.tobytes()
        if key not in self._known:
            self._known[key] = _directions(self.pattern, columns.tolist())
        return self._known[key]


def _directions(pattern: np.ndarray, columns: Sequence[int]) -> Directions:
    """Return directions d such that each element of C d is at most one element of C."""
    taken: list[np.ndarray] = []  # rows, by direction
    members: list[list[int]] = []
    for j in columns:
        own = pattern[:, j]
        k = next((k for k, rows in enumerate(taken) if not (rows & own).any()), len(taken))
        if k == len(taken):
            taken.append(own.copy())
            members.append([])
        taken[k] |= own
        members[k].append(j)
    found = [np.nonzero(pattern[:, group]) for group in members]
    places = [
        rows * pattern.shape[1] + np.array(group)[at]
        for group, (rows, at) in zip(members, found, strict=True)
    ]
    return Directions(
        *(
            np.array(x, dtype=np.int64)
            for x in (
                [j for group in members for j in group],
                np.cumsum([len(group) for group in members]),
                np.concatenate([rows for rows, _ in found]),
                np.concatenate(places),
                np.cumsum([len(rows) for rows, _ in found]),
            )
        )
    )


@dataclass(frozen=True, eq=False)
class ConditionValues:
    """The conditions of a model at one time, with one set of parameters."""

    of: Conditions
    code: ConditionCode
    t: float
    constants: np.ndarray
    memory: np.ndarray
    still: bool = False  # whether all speeds are zero

    @property
    def _given(self) -> DataTable:
        return {"memory": self.memory, "constants": self.constants}

    def without_contacts(self) -> ConditionValues:
        """Return these values with all contacts open."""
        memory = self.memory.copy()
        memory[[c.status for c in self.of.contacts]] = 0.0
        return replace(self, memory=memory)

    def with_contact(self, status: int) -> ConditionValues:
        """Return these values with one more closed contact; ``status`` is its index in the memory."""
        memory = self.memory.copy()
        memory[status] = 1.0
        return replace(self, memory=memory)

    def values(self, x: np.ndarray) -> np.ndarray:
        """Return c at x = [state, inputs], in the model's units; outputs in their stated units."""
        y = np.concatenate([x, np.zeros(len(x))]) if self.of.by_columns else x
        return self.code.functions(VALUES, self.t, y, **self._given)

    def jacobian(self, x: np.ndarray) -> np.ndarray:
        """Return C = ∂c/∂x."""
        if self.of.by_columns:
            d = self.code.directions(np.arange(len(x)))
            along = np.zeros((len(d.ends), len(x)))
            along[np.repeat(np.arange(len(d.ends)), np.diff(d.ends, prepend=0)), d.columns] = 1.0
            owner = np.repeat(np.arange(len(d.ends)), np.diff(d.element_ends, prepend=0))
            found = np.zeros(self.code.pattern.shape)
            found.reshape(-1)[d.places] = self._along(x, along)[owner, d.rows]
            return found
        return self._dense(self.code.functions(SLOPES, self.t, x, **self._given))

    def _along(self, x: np.ndarray, directions: np.ndarray) -> np.ndarray:
        """Return C d for each row d of a matrix, at one x for all rows or at one x for each row."""
        return self.code.functions.rows(SLOPES, self.t, x, inputs=directions, **self._given)

    def changes(self, xs: np.ndarray, sizes: np.ndarray, first: int) -> tuple[np.ndarray, np.ndarray]:
        """Return how much the conditions change if the unknowns change by their sizes, and the slopes.

        Both are magnitudes for each row of ``xs``. The change of condition i is Σ_j |C_ij| s_j over the
        columns before ``first``, with their ``sizes`` s. For large systems it is (Σ_j (C_ij s_j)²)^½,
        estimated from a few directions with random signs. The slopes are for the columns from ``first`` on.
        Elements that are not finite count as zero.
        """
        if self.of.by_columns:
            return self._changes_by_random_signs(xs, sizes, first)
        slopes = _magnitudes(self.slopes(xs))
        by_unknowns = slopes[:, :, :first] * sizes[:first]
        return np.sum(by_unknowns, axis=2), slopes[:, :, first:]

    def slopes(self, xs: np.ndarray) -> np.ndarray:
        """Return C at each row of ``xs``; only for derivatives that are written out."""
        n, given = len(self.of.states), self._given
        if xs.shape[1] > n:
            given["inputs"] = xs[:, n:]
        entries = self.code.functions.rows(SLOPES, self.t, xs[:, :n], **given)
        found = np.zeros((len(xs), *self.code.pattern.shape))
        found.reshape(len(xs), -1)[:, self.code.flat] = entries
        return found

    def _changes_by_random_signs(
        self, xs: np.ndarray, sizes: np.ndarray, first: int
    ) -> tuple[np.ndarray, np.ndarray]:
        count, m = xs.shape
        signs = np.sign(scatter(1.0, _SIGNS, first))
        each = _SIGNS + m - first
        directions = np.zeros((count, each, m))
        directions[:, :_SIGNS, :first] = signs * sizes[:first]
        directions[:, np.arange(_SIGNS, each), np.arange(first, m)] = 1.0
        found = self._along(np.repeat(xs, each, axis=0), directions.reshape(-1, m))
        found = _magnitudes(found).reshape(count, each, -1)
        changes = np.sqrt(np.mean(found[:, :_SIGNS] ** 2, axis=1))
        return changes, found[:, _SIGNS:].transpose(0, 2, 1)

    def _dense(self, entries: np.ndarray) -> np.ndarray:
        found = np.zeros(self.code.pattern.shape)
        found.reshape(-1)[self.code.flat] = entries
        return found


def _magnitudes(values: np.ndarray) -> np.ndarray:
    return np.where(np.isfinite(values), np.abs(values), 0.0)


# Conditions of rigid contacts and brakes at operating points.
#
#     closed      gap = 0,                                      and in motion rate of the gap = 0
#     sticks      displacement of the slip = that at the start, and in motion velocity of the slip = 0
#
# The rates of the states include the forces of closed contacts, so an acceleration that a contact prevents is
# zero under any loads. If the velocity of a slip is not the rate of an expression, as for a ball on a plane,
# the slip has no displacement that could be held; the solution stays near the start.

CLOSED, STICKS = (1, 2, -2), 1  # statuses of contacts that are closed (±2: slide), and that stick


@dataclass(frozen=True, eq=False)
class ContactConditions:
    """Rows of one contact among the conditions, and the index of its status in the memory."""

    name: str
    status: int
    gap: int | None
    closing: int | None  # rate of the gap
    slip: tuple[int, ...]  # velocities of the slip
    place: tuple[int, ...]  # displacements of the slip


@dataclass(frozen=True, eq=False)
class HeldRows:
    """Rows of closed contacts; ``slips`` are velocities of slips whose displacement is in ``positions``."""

    positions: tuple[int, ...] = ()
    velocities: tuple[int, ...] = ()
    slips: tuple[int, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.positions or self.velocities)


def contact_conditions(
    equations: DerivedEquations, first: int
) -> tuple[dict[str, Expr], tuple[ContactConditions, ...]]:
    """Return the rows of all contacts by label, and the indices of these rows, counted from ``first``."""
    system, targets = equations.system, equations.targets
    memories = list(system.memories)
    rows: dict[str, Expr] = {}

    def add(label: str, expressions: Sequence[Expr | None]) -> tuple[int, ...]:
        start = first + len(rows)
        several = len(expressions) > 1
        made = {f"{label}{f' {i}' if several else ''}": x for i, x in enumerate(expressions, 1)}
        rows.update({name: x for name, x in made.items() if x is not None})
        return tuple(range(start, first + len(rows)))

    found = []
    for c, geometry in zip(system.contacts.values(), targets.contacts, strict=True):
        name = f"contact '{c.name}'"
        gap, closing = (
            next(iter(add(f"{what} of {name}", [x])), None)
            for what, x in (("gap", geometry.gap), ("rate of the gap", geometry.closing))
        )
        slip = add(f"velocity of slip of {name}", geometry.sliding)
        place = add(f"place of slip of {name}", [equations.reduction.plain(x) for x in c.place])
        found.append(ContactConditions(c.name, memories.index(c.status.data.name), gap, closing, slip, place))
    return rows, tuple(found)


def held_rows(
    contacts: Sequence[ContactConditions], memory: np.ndarray, depends: np.ndarray, cyclic: frozenset[int]
) -> HeldRows:
    """Return the rows that are conditions with the contacts' statuses in the memory.

    The displacement of a slip is not held if it contains a cyclic coordinate: the contact rolls.
    """
    positions: list[int] = []
    velocities: list[int] = []
    slips: list[int] = []
    rolls = list(cyclic)
    for c in contacts:
        status = memory[c.status]
        if c.gap is not None and c.closing is not None and status in CLOSED:
            positions.append(c.gap)
            velocities.append(c.closing)
        if status == STICKS:
            velocities += c.slip
            if not (c.place and depends[list(c.place)][:, rolls].any()):
                positions += c.place
                slips += c.slip
    return HeldRows(tuple(positions), tuple(velocities), tuple(slips))


# Units of rates.


def rate_units(units: str) -> str:
    """Return the units of a rate from the units of its state."""
    if not units or units in ("-", "1"):
        return "1/s"
    if units.endswith("/s"):
        return f"{units}2"
    if units.endswith("/s2"):
        return f"{units[:-1]}3"
    return f"{units}/s" if "/" not in units else f"({units})/s"


# Cyclic coordinates, on which no condition depends: position and heading of a vehicle, the angle of a wheel.
#
# They may change in steady motion. The set S of cyclic states is the largest for which the rates of all other
# states, the gaps of loops and all other requested conditions contain no member of S. The rates of the
# members may contain members.


def cyclic(
    depends: np.ndarray, candidates: Iterable[int], rows: Collection[int], groups: Sequence[Collection[int]]
) -> frozenset[int]:
    """Return the cyclic states among ``candidates``.

    ``depends[i, j]`` is true if row i contains state j; the first rows are the rates of the states. ``rows``
    are further conditions that must not depend on a cyclic state. In each of ``groups`` (Euler parameters)
    either all members are cyclic or none is.
    """
    states = depends.shape[1]
    found = set(candidates)
    while True:
        relevant = [*rows, *(i for i in range(states) if i not in found)]
        needed = set(np.flatnonzero(depends[relevant].any(axis=0)).tolist())
        for group in groups:
            if needed & set(group):
                needed |= set(group)
        if not found & needed:
            return frozenset(found)
        found -= needed


@kept_per_object
def conditions(model: CompiledModel, outputs: tuple[str, ...], inputs: tuple[str, ...]) -> Conditions:
    """Return the conditions of a model with these outputs and inputs, compiled at their first use."""
    return Conditions(model.equations, outputs, inputs)


class Conditions:
    """Compiled conditions c(x) and their Jacobian.

    ``labels`` names the rows, ``names`` the columns.
    """

    def __init__(self, equations: DerivedEquations, outputs: Sequence[str], inputs: Sequence[str]) -> None:
        t = equations.targets
        self.equations, self.inputs = equations, tuple(inputs)
        self.states = tuple(s.data.name for s in t.integrated)
        self.names = (*self.states, *inputs)
        self.coordinates = len(t.coordinates)
        self.speeds = slice(self.coordinates, self.coordinates + len(t.speeds))
        kept = [row for row in equations.reduction.elimination.kept if row.gap is not None]
        columns = {c.name: c for c in t.columns}
        lengths = [sum((e * e for e in t.coordinates[i : i + 4]), as_expr(-1)) for i in t.quaternions]
        self.gaps = tuple(row.constraint for row in kept)
        n = len(self.states)
        self.closed = slice(n, n + len(kept) + len(lengths))  # met by every state of the model
        touching, self.contacts = contact_conditions(equations, self.closed.stop)
        self.labels = (
            *(f"rate of {name}" for name in self.states),
            *(f"constraint '{row.constraint.name}'" for row in kept),
            *(f"length of Euler parameters {self.states[i]}…" for i in t.quaternions),
            *touching,
            *outputs,
        )
        self.shown = slice(self.closed.stop + len(touching), len(self.labels))
        with derivation():
            rows = [*t.rates, *(as_expr(row.gap) for row in kept), *lengths, *touching.values()]
            rows += [columns[name].expression for name in outputs]
            self._variables, self._rows = _with_variables(equations, rows, inputs)
            operations = len(self._variables) * equations.operations.total
            # With contacts, each column that is written out would repeat the solution for the contact forces.
            self.by_columns = operations > linearization.WRITTEN_OUT or bool(self.contacts)
        held = set(symbols(*self._rows))
        self.depends_on_time = t.time in held
        self.memories = tuple(m.data.name for m in t.memory if m in held)
        self.at_rest = self._rates_at_rest(t.rates[: self.coordinates], t.speeds)
        self._codes: dict[bool, ConditionCode] = {}
        self._cyclic: dict[frozenset[int], frozenset[int]] = {}

    @cached_property
    def depends(self) -> np.ndarray:
        """A matrix that is true if row i contains column j after simplification."""
        if not self.by_columns:
            return self.code().pattern
        return _pattern(self._rows, self._variables)

    def code(self, still: bool = False) -> ConditionCode:
        """Return the compiled functions; with ``still``, functions in which all speeds are zero."""
        still = still and self.by_columns
        if still not in self._codes:
            make = self._by_columns if self.by_columns else self._write_derivatives
            with derivation():
                self._codes[still] = make(still)
        return self._codes[still]

    def _write_derivatives(self, still: bool) -> ConditionCode:
        """Return the code that computes all derivatives that are not always zero."""
        n, rows, variables = len(self.states), self._rows, self._variables
        slopes = [tangents(rows, {v: UNIT}) for v in variables]
        places = [(i, j) for j, column in enumerate(slopes) for i, x in enumerate(column) if x is not ZERO]
        pattern = np.zeros((len(rows), len(variables)), dtype=bool)
        at = np.array(places, dtype=int).reshape(-1, 2)
        pattern[at[:, 0], at[:, 1]] = True
        functions = {VALUES: rows, SLOPES: [slopes[j][i] for i, j in places]}
        code = ModelFunctions(self.equations, functions, inputs=variables[n:], search=False)
        return ConditionCode(code, pattern, at[:, 0] * len(variables) + at[:, 1])

    def _by_columns(self, still: bool) -> ConditionCode:
        """Return the code that computes derivatives along a direction, which is an argument."""
        owner, variables, rows = self.equations.system.identity, self._variables, self._rows
        direction = [symbol(f"d({v.data.name})", "variable", owner=owner) for v in variables]
        found = tangents(rows, dict(zip(variables, direction, strict=True)))
        if still:
            zero = dict.fromkeys(self.equations.targets.speeds, ZERO)
            rows, found = transform(rows, zero.get), transform(found, zero.get)
        inputs = [*variables[len(self.states) :], *direction]
        code = ModelFunctions(self.equations, {VALUES: rows, SLOPES: found}, inputs=inputs, search=False)
        return ConditionCode(code, _pattern(found, direction))

    def cyclic(self, rows: Collection[int] = ()) -> frozenset[int]:
        """Return the indices of cyclic coordinates and user's states; ``rows`` must not depend on them."""
        n = len(self.states)
        speeds = range(self.speeds.start, self.speeds.stop)
        groups = [range(i, i + 4) for i in self.equations.targets.quaternions]
        gaps = range(n, n + len(self.gaps))
        key = frozenset(rows)
        if key not in self._cyclic:
            candidates = set(range(n)) - set(speeds)
            self._cyclic[key] = cyclic(self.depends[:, :n], candidates, {*rows, *gaps}, groups)
        return self._cyclic[key]

    @cached_property
    def held(self) -> frozenset[int]:
        """Indices of coordinates that are moved by locked and prescribed speeds alone, not by loads."""
        reduction, system = self.equations.reduction, self.equations.system
        names = {q.data.name for q in reduction.held_coordinates(system)}
        return frozenset(i for i, name in enumerate(self.states[: self.coordinates]) if name in names)

    def noncyclic(self, rows: Collection[int] = ()) -> np.ndarray:
        """Return the indices of states that are neither cyclic nor locked coordinates, as in linear models.

        ``rows`` are further conditions that must not depend on a cyclic state.
        """
        rates = self.equations.targets.rates
        left_out = self.cyclic(rows) | {i for i in self.held if rates[i] is ZERO}
        return np.array([i for i in range(len(self.states)) if i not in left_out], dtype=int)

    @cached_property
    def kind_sizes(self) -> np.ndarray:
        """The size of each column in the model's units; it depends on the column's kind (length, angle, …).

        It is an SI unit or, in models with closed loops, the motion that changes gaps as a radian does.
        """
        system = self.equations.system
        kinds = {**unit_sizes(system), **self.equations.reduction.usual_sizes}
        own = {s.data.name: s for s in system.moving()}
        found = []
        for name in self.names:
            s = own.get(name)
            kind = None if s is None else speed_kind(s) if s.data.role == "speed" else s.dimension
            found.append(float(kinds.get(kind, 1.0)))
        return np.array(found)

    @cached_property
    def row_units(self) -> tuple[tuple[float, str], ...]:
        """For each row, the factor from its units to the model's units, and its units as text."""
        own = {s.data.name: s for s in self.equations.system.moving()}
        columns = {c.name: c.units for c in self.equations.targets.columns}
        rates = [(state_factor(own[name]), rate_units(own[name].data.units or "")) for name in self.states]
        shown = [(1.0, columns[name]) for name in self.labels[self.shown]]
        return (*rates, *[(1.0, "")] * (self.shown.start - len(rates)), *shown)

    @cached_property
    def angles(self) -> np.ndarray:
        """A mask of the columns that are angles."""
        own = {s.data.name: s for s in self.equations.system.coordinates}
        return np.array([name in own and own[name].dimension is ONE for name in self.names])

    @staticmethod
    def _rates_at_rest(rates: Sequence[Expr], speeds: Sequence[Expr]) -> bool:
        """Return whether no coordinate moves if the speeds are zero, so that time drives none."""
        still = transform(rates, dict.fromkeys(speeds, ZERO).get)
        return all(x is ZERO for x in still)

    def instance(
        self, t: float, parameters: Mapping[str, object] | None, memory: np.ndarray, still: bool = False
    ) -> ConditionValues:
        """Return the conditions at a time with the given parameters; ``still`` means at rest."""
        code = self.code(still)
        return ConditionValues(self, code, t, code.functions.constants(parameters), memory, still)


def _pattern(rows: Sequence[Expr], variables: Sequence[Expr]) -> np.ndarray:
    """Return a matrix that is true if row i contains variable j."""
    found = np.zeros((len(rows), len(variables)), dtype=bool)
    for i, places in enumerate(held_indices(rows, variables)):
        found[i, places] = True
    return found


def _with_variables(
    equations: DerivedEquations, rows: Sequence[Expr], inputs: Sequence[str]
) -> tuple[list[Expr], list[Expr]]:
    """Return states and inputs as symbols, and the rows with inputs instead of parameters and memories."""
    system, t = equations.system, equations.targets
    memories = dict(zip(system.memories, t.memory, strict=True))
    replaced: dict[Expr, Expr] = {}
    for name in inputs:
        old = (
            equations.reduction.plain(system.parameters[name])
            if name in system.parameters
            else memories[name]
        )
        replaced[old] = symbol(name, "variable", owner=system.identity, about=f"input {name}")
    found = transform(rows, replaced.get) if replaced else list(rows)
    return [*t.integrated, *replaced.values()], found
