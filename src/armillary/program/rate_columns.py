"""Partial derivatives of rates: as sections of programs, and as columns solved with one factorised matrix."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from armillary.algebra import functions as fn
from armillary.algebra.calculus import tangents
from armillary.algebra.expression import UNIT, ZERO, Expr, as_expr
from armillary.algebra.triples import Scalar, is_zero, minus, plus, times
from armillary.algebra.walk import operands_first
from armillary.errors import ExpressionError
from armillary.program.equations import DerivedEquations
from armillary.program.formalisms.formalism import derivation
from armillary.program.program import Program
from armillary.program.sections import with_partial_section
from armillary.program.sparse_rates import SparseStructure, sparse_rates
from armillary.program.targets.targets import StepSection

# Programs with the partial derivatives of their rates, for linearly implicit methods.
#
#     ∂f/∂y and ∂f/∂t    of ẏ = f(t, y)
#
# y is the state of a run, including dependent coordinates and Euler parameters. Each column is an exact
# tangent of the rates along one state (algebra/calculus.py). Linear models, in contrast, have columns of
# independent variables (linearization.py).

PARTIAL_RATES = "partial_rates"
# If the number of states times the operations of their rates is larger than this, steps use difference
# quotients: longer code would take minutes to compile.
_WRITTEN_OUT = 400_000
_SEARCHED = 3000  # most nodes in which common factors are searched for
_SMALL = 16  # most states for which equations are dense without a comparison


def with_partial_rates(
    equations: DerivedEquations, *, sparse: bool = True, like: Program | None = None
) -> DerivedEquations:
    """Return the equations with a section of the partial derivatives of their rates.

    Equations are returned unchanged if one of their functions has no derivative, or if they are large and not
    sparse. ``sparse`` allows sparse equations for steps. With ``like``, the program of another configuration,
    the result is sparse exactly if ``like`` is sparse.
    """
    program = equations.program
    if program.partial_rates:
        return equations
    with derivation():
        try:
            if like is not None:
                found = _sparse_program(equations, always=True) if like.structure is not None else None
            else:
                found = _sparse_program(equations) if sparse and len(program.state) > _SMALL else None
            if found is None and len(program.state) * equations.operations.total <= _WRITTEN_OUT:
                found = _dense_program(equations)
        except ExpressionError:
            return equations
    return equations if found is None else replace(equations, program=found)


def _dense_program(equations: DerivedEquations) -> Program:
    program = equations.program
    found = partial_rates(equations)
    names = [s.data.name for s in program.state]
    labels = tuple(f"d({of}')/d({by})" for by in (*names, "time") for of in names)
    search = len(operands_first(found)) <= _SEARCHED
    wanted = StepSection(PARTIAL_RATES, labels, tuple(found), search)
    return with_partial_section(program, equations.system, wanted)


def _sparse_program(equations: DerivedEquations, always: bool = False) -> Program | None:
    """Return the program with sparse equations, or None if dense equations take less time.

    With ``always``, the times are not compared.
    """
    found = with_sparse_rates(equations)
    assert found.structure is not None
    if not always and not _is_quicker(found.structure, equations.program, equations.operations.total):
        return None
    return found


def with_sparse_rates(equations: DerivedEquations) -> Program:
    """Return the program with sparse equations for linearly implicit steps."""
    program = equations.program
    if program.structure is not None:
        return program
    rates = program.derivatives.results
    structure, entries = sparse_rates(rates, program.state)
    results = [*entries, *tangents(rates, {program.time: UNIT})]
    labels = [f"element {i + 1}" for i in range(len(entries))]
    labels += [f"d({s.data.name}')/d(time)" for s in program.state]
    wanted = StepSection(PARTIAL_RATES, tuple(labels), tuple(results), False)
    found = with_partial_section(program, equations.system, wanted, improved=False)
    return replace(found, structure=structure)


def _is_quicker(structure: SparseStructure, program: Program, operations: int) -> bool:
    """Return whether sparse equations take less time than dense ones.

    The estimates, in ns for a step of eight stages, were fitted to cables: with 10, 20, 40 and 200 segments a
    step takes 35, 79, 160 and 900 µs by sparse equations, and 22, 83, 560 and 48,000 µs by dense equations
    (the last time is for difference quotients).
    """
    states, known = len(program.state), set(program.state)
    unknowns = sum(rate not in known for rate in program.derivatives.results)  # q̇ = u needs no solution
    sparse = 1.7 * (structure.operations + 8 * len(structure.column))
    dense = 0.5 * states * operations + unknowns**3 / 3 + 8 * unknowns**2
    return sparse < dense


def partial_rates(equations: DerivedEquations) -> list[Expr]:
    """Return ∂f/∂y column after column, then ∂f/∂t."""
    rates, program = equations.targets.rates, equations.program
    return [x for s in (*program.state, program.time) for x in tangents(rates, {s: UNIT})]


# Columns of linearised rates, solved numerically with one factorised matrix and not written out as
# expressions.
#
#     L D Lᵀ x = g          ẋ_r = Σ T_rk x_k + a_r
#
# L has a unit diagonal, T is the identity except for a few rows, and each column has a right side g and
# addends a. The steps are the same for all columns, so compiled code makes them for several columns at once,
# in vector registers (``llvm/column_solution.py``). The inverse of L D Lᵀ is symmetric, so only half of the
# elements of its columns are computed. ``expressions()`` writes the columns out.

_TOGETHER = 4  # columns of the inverse that are solved together
# Most unknowns that a group of columns reaches, as a multiple of those that one of its columns reaches.
_WIDER = 1.4


@dataclass(frozen=True, eq=False)
class Factors:
    """The steps of an elimination, (k, 1/D_k, {j: L_jk} for the remaining unknowns j), and T."""

    steps: tuple[tuple[int, Expr, Mapping[int, Expr]], ...]
    turned: Mapping[int, Mapping[int, Expr]]  # rows of T that differ from the identity's

    @cached_property
    def order(self) -> dict[int, list[int]]:
        """Unknowns k from the ground outwards, branch by branch, each with the unknowns j of factors L_jk.

        The unknowns j are sorted by elimination, the last one first.
        """
        late = {k: -i for i, (k, _, _) in enumerate(self.steps)}
        rows = {k: sorted(row, key=lambda j: late[j]) for k, _, row in self.steps}
        beyond: dict[int | None, list[int]] = {}
        for k, _, _ in self.steps:
            beyond.setdefault(rows[k][-1] if rows[k] else None, []).append(k)
        found: dict[int, list[int]] = {}
        waiting = list(beyond.get(None, ()))
        while waiting:
            k = waiting.pop()
            if not all(j in found for j in rows[k]):  # couplings have cancelled, so branches are not known
                return {k: rows[k] for k, _, _ in reversed(self.steps)}
            found[k] = rows[k]
            waiting += beyond.get(k, ())
        return found

    @cached_property
    def paths(self) -> dict[int, list[int]]:
        """The unknowns on the path of each unknown to the ground, nearest to the ground first.

        They include unknowns with L_jk = 0.
        """
        late = {k: -i for i, (k, _, _) in enumerate(self.steps)}
        found: dict[int, list[int]] = {}
        for k, row in self.order.items():
            found[k] = sorted({*row, *(j for other in row for j in found[other])}, key=lambda j: late[j])
        return found

    def reach(self, right: Iterable[int]) -> tuple[list[int], list[int]]:
        """Return the unknowns where the forward solution is not zero, and those where x is not zero.

        ``right`` are the unknowns at which the right side is not zero.
        """
        found = set(right)
        for k, _, row in self.steps:
            if k in found:
                found |= set(row)
        forward = [k for k, _, _ in self.steps if k in found]
        for k, _, row in reversed(self.steps):
            if not found.isdisjoint(row):
                found.add(k)
        return forward, [k for k, _, _ in self.steps if k in found]

    def solve(self, right: Mapping[int, Scalar]) -> dict[int, Scalar]:
        """Return x as expressions, for a right side g by unknown."""
        g = {k: right.get(k, 0) for k, _, _ in self.steps}
        for k, _, row in self.steps:
            for j, factor in row.items() if not is_zero(g[k]) else ():
                g[j] = fn.named(minus(g[j], times(factor, g[k])), f"g_{j + 1}")
        x: dict[int, Scalar] = {}
        for k, inverse, row in reversed(self.steps):
            value = times(g[k], inverse)
            for j in sorted(row):
                value = minus(value, times(row[j], x[j]))
            x[k] = fn.named(value, f"x_{k + 1}")
        return x

    def turn(self, x: Mapping[int, Scalar], added: Mapping[int, Scalar]) -> dict[int, Scalar]:
        """T x + a."""
        found = dict(x)
        for r, row in self.turned.items():
            found[r] = 0
            for k, factor in row.items():
                found[r] = plus(found[r], times(factor, x[k]))
        return {r: plus(value, added.get(r, 0)) for r, value in found.items()}


@dataclass(frozen=True, eq=False)
class SolvedColumn:
    """A column of A or B: nonzero right sides and nonzero addends by unknown."""

    matrix: str
    index: int
    right: Mapping[int, Expr]
    added: Mapping[int, Expr]


@dataclass(frozen=True, eq=False)
class ColumnSolution:
    """Columns with the same factors; ``rows`` are the rows of A and B by unknown."""

    factors: Factors
    rows: Mapping[int, int]
    columns: tuple[SolvedColumn, ...]

    @cached_property
    def reached(self) -> tuple[frozenset[int], ...]:
        """For each column, the unknowns with nonzero elements."""
        return tuple(self._reach(column) for column in self.columns)

    def _reach(self, column: SolvedColumn) -> frozenset[int]:
        found = set(self.factors.reach(column.right)[1])
        for r, row in self.factors.turned.items():
            if not found.isdisjoint(row):
                found.add(r)
        return frozenset(found | set(column.added))

    def places(self, matrix: str) -> list[tuple[int, int]]:
        """Return (row, column) of the elements of ``matrix``, "A" or "B", that the columns contain."""
        return [
            (self.rows[k], column.index)
            for column, reached in zip(self.columns, self.reached, strict=True)
            if column.matrix == matrix
            for k in sorted(reached)
        ]

    def expressions(self, matrix: str) -> dict[tuple[int, int], Expr]:
        """Return the elements of ``places`` as expressions."""
        found: dict[tuple[int, int], Expr] = {}
        for column in self.columns:
            if column.matrix == matrix:
                values = self.factors.turn(self.factors.solve(column.right), column.added)
                found |= {(self.rows[k], column.index): as_expr(x) for k, x in values.items()}
        return {place: x for place, x in found.items() if x is not ZERO}

    @cached_property
    def mirrored(self) -> dict[tuple[SolvedColumn, int], tuple[SolvedColumn, int]]:
        """For each element (column, unknown) that is not computed, the equal one of the symmetric inverse.

        An element is computed if its unknown does not come after the column's unknown in the order of the
        factors.
        """
        own = self.inverse
        ordered = [k for k in self.factors.order if k in own]
        return {(own[k], r): (own[r], k) for i, k in enumerate(ordered) for r in ordered[i + 1 :]}

    @cached_property
    def inverse(self) -> dict[int, SolvedColumn]:
        """Columns of the symmetric inverse, by the single unknown of their right side, at which all have the
        same number. Where several columns have one right side, such as those of two inputs that act alike,
        this is the first.
        """
        found: dict[int, SolvedColumn] = {}
        for column in self.columns:
            if (k := self._single(column)) is not None:
                found.setdefault(k, column)
        return found

    def _single(self, column: SolvedColumn) -> int | None:
        """Return the unknown of a column of the symmetric inverse.

        Return None for other columns, and for a column whose unknown T uses.
        """
        turned = {k for row in self.factors.turned.values() for k in row}
        (k, value), *others = column.right.items()
        if others or column.added or k in turned or value.kind != "number":
            return None
        return k if value == self._numbers.most_common(1)[0][0] else None

    @cached_property
    def _numbers(self) -> Counter[Expr]:
        """The numbers in right sides that have a single element, with their counts."""
        singles = [next(iter(c.right.values())) for c in self.columns if len(c.right) == 1]
        return Counter([x for x in singles if x.kind == "number"])


@dataclass(frozen=True, eq=False)
class Group:
    """Columns that are solved together."""

    columns: tuple[SolvedColumn, ...]
    right: tuple[int, ...]  # unknowns at which a right side is not zero
    added: tuple[int, ...]  # unknowns with addends
    near: frozenset[int]  # unknowns at which the forward solution is not zero
    wanted: frozenset[int]  # unknowns of the solution that are computed


def groups(solution: ColumnSolution) -> list[Group]:
    """Return all columns in groups.

    The right sides of a group reach nearly the same unknowns. Columns of the inverse have groups of their
    own. Such a group has a few columns that are neighbours in the elimination and together reach only a few
    more unknowns than one of them alone.
    """
    factors = solution.factors
    support = {c: frozenset(factors.reach(c.right)[0]) for c in solution.columns}
    inverse = list(solution.inverse.values())
    found: dict[frozenset[int], list[SolvedColumn]] = {}
    others = [c for c in solution.columns if c not in inverse]
    for column in sorted(others, key=lambda c: -len(support[c])):
        own = support[column]
        wider = [reach for reach in found if own <= reach and len(reach) <= _WIDER * len(own)]
        found.setdefault(min(wider, key=len) if wider else own, []).append(column)
    members = [_alternating(solution, columns) for columns in found.values()]
    for column in [solution.inverse[k] for k in reversed(factors.order) if k in solution.inverse]:
        last = members[-1] if members and members[-1][0] in inverse else []
        reach = support[column].union(*(support[c] for c in last))
        if not last or len(last) == _TOGETHER or len(reach) > _WIDER * max(len(support[c]) for c in last):
            members.append(last := [])
        last.append(column)
    return [_group(solution, columns) for columns in members]


def _alternating(solution: ColumnSolution, columns: list[SolvedColumn]) -> list[SolvedColumn]:
    """Sort columns so that those of a coordinate and its speed, which use the same values, are adjacent."""
    first = max(min(solution.rows.values()), 1)
    sort_key = {c: (c.index % first if c.matrix == "A" else c.index, c.index) for c in columns}
    several = Counter(sort_key[c][0] for c in columns)
    return sorted(columns, key=lambda c: (-several[sort_key[c][0]], sort_key[c]))


def _group(solution: ColumnSolution, columns: list[SolvedColumn]) -> Group:
    order = solution.factors.order
    right = [k for k in order if any(k in c.right for c in columns)]
    near, reached = solution.factors.reach(right)
    wanted = {k for k in reached if any((c, k) not in solution.mirrored for c in columns)}
    wanted |= {j for k in wanted for j in solution.factors.paths[k] if j in reached}  # k needs these j
    added = sorted({k for c in columns for k in c.added})
    return Group(tuple(columns), tuple(right), tuple(added), frozenset(near), frozenset(wanted))
