"""Code that solves the columns of a linear model with one factorised matrix, several at a time.

A function of a program stores coefficients and right sides among its results; the code of this module follows
that function. The columns of a group (``program/rate_columns.py``) are the lanes of vectors: a few vectors
take a step of the elimination together, with a coefficient that is loaded once. All blocks of columns of a
group use the same code, so the code of a large robot stays in the instruction cache.

If a right side does not reach a branch, the unknowns of the branch depend on the unknowns x_a near the
ground, where the branch begins:

    x_k = Σ P_ka x_a        P_ka = −L_ak − Σ L_jk P_ja

with j the unknowns of the branch between k and the a. P is computed once for all columns, with the columns of
P in lanes, if the columns that use it are more than the columns of P.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property

from armillary.algebra.expression import ZERO, Expr
from armillary.llvm.instructions import constant_array
from armillary.program.passes.graph import Operations
from armillary.program.rate_columns import ColumnSolution, Factors, Group, SolvedColumn, groups

# The pointers have no attribute noalias: with it, LLVM would keep coefficients on the stack for later blocks.
_FUNCTION = """
define internal void @{name}({arguments}) {inlined} nounwind {{
entry:
{body}
  ret void
}}
"""
# Number of vectors that one block has: three chains of operations hide the latency of an operation. With more
# than FEW unknowns a block has two vectors, with more than MANY one, to leave registers for the unknowns.
_VECTORS, _FEW, _MANY = 3, 10, 17
# Number of sums, over all vectors, that are written term by term in turn: a single sum would fill a core's
# window of some thirty waiting operations. Solutions of humanoids then take 0.85 of the time.
_CHAINS = 8


# Lines of a function, the array of its right sides, and the offsets of right sides and solution for each
# call.
_Part = tuple[list[str], str, list[tuple[int, int]]]


@dataclass(eq=False)
class ColumnCode:
    """The layout of a solution in an array of results, and the code that fills it.

    ``work`` has the values that the preceding function stores: its results ``before``, the coefficients, then
    the right sides and addends of blocks of columns, lane by lane. The solution follows them in the same
    array, which avoids a copy; ``places`` has the index of each column and unknown. ``lanes`` is the number
    of doubles per vector. Right sides that are numbers, as for the inverse, are ``given`` as constants beside
    the code.
    """

    solution: ColumnSolution
    before: Sequence[Expr]
    lanes: int
    work: list[Expr] = field(init=False)
    given: list[float] = field(init=False, default_factory=list)
    places: dict[tuple[SolvedColumn, int], int] = field(init=False, default_factory=dict)
    length: int = field(init=False)  # numbers of the array
    operations: Operations = field(init=False)
    _blocks: list[_Blocks] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        factors = self.solution.factors
        self.work = [*self.before, *[ZERO] * (len(self.before) % 2)]
        self._first = len(self.work)  # index of the first coefficient
        self.work += [x for row in _rows(factors) for x in row.values()]
        self.work += [ZERO] * (len(self.work) % 2)  # right sides are stored and loaded in pairs
        for group in groups(self.solution):
            vectors = -(-len(group.columns) // self.lanes)
            count = -(-vectors // _vectors(len(group.near)))
            self._blocks.append(self._blocks_of(group, -(-vectors // count) * self.lanes))
        self.length = len(self.work)
        for blocks in self._blocks:
            self._lay_out(blocks)
        for element, other in self.solution.mirrored.items():
            if other in self.places:
                self.places[element] = self.places[other]
        self._branches = _branches(factors, self._blocks)
        for branch in self._branches.values():
            branch.lay_out(self.length, self.lanes)
            self.length += branch.width * len(branch.unknowns)
        self.length += self.lanes  # coefficients are loaded in pairs
        self.operations = Operations()
        self._parts = [self._branch_code(branch) for branch in self._branches.values()]
        self._parts += [self._block_code(blocks) for blocks in self._blocks]

    def _blocks_of(self, group: Group, width: int) -> _Blocks:
        """Return the blocks of a group, and append their right sides to ``work`` or ``given``."""
        count = -(-len(group.columns) // width)
        lanes = (*group.columns, *[None] * (count * width - len(group.columns)))
        factors = self.solution.factors
        turned = {r for r, row in factors.turned.items() if not group.wanted.isdisjoint(row)}
        kept = group.wanted.union(group.added, turned)
        rows = {k: i for i, k in enumerate([k for k in factors.order if k in kept])}
        sides: list[Expr] = []
        for i in range(count):
            block = lanes[i * width : (i + 1) * width]
            for k in group.right:
                sides += [c.right.get(k, ZERO) if c else ZERO for c in block]
            for k in group.added:
                sides += [c.added.get(k, ZERO) if c else ZERO for c in block]
        given = all(x.kind == "number" for x in sides)
        first = len(self.given if given else self.work)
        if given:
            self.given += [float(x.data) for x in sides]
        else:
            self.work += sides
        return _Blocks(group, width, lanes, "given" if given else "out", first, rows)

    def _lay_out(self, blocks: _Blocks) -> None:
        """Append indices for the solution of ``blocks``."""
        blocks.first_solution = self.length
        for i, column in enumerate(blocks.lanes):
            if column is None:
                continue
            block, lane = divmod(i, blocks.width)
            for k, row in blocks.rows.items():
                self.places[column, k] = self.length + (block * len(blocks.rows) + row) * blocks.width + lane
        self.length += len(blocks.lanes) * len(blocks.rows)

    def text(self, name: str) -> str:
        """Return the LLVM text of function ``name(array)``, and of the functions that it calls."""
        parts, calls = [], []
        arguments = "ptr %out, ptr %right, ptr %solution"
        arrays = {"out": "%out", "given": f"@{name}_given"}
        # Each call saves registers: with inlined functions, the matrices A and B of the linear model of the
        # Stanford arm take 0.98 of the time.
        inlined = "alwaysinline" if len(self.solution.factors.steps) <= _FEW else "noinline"
        if self.given:
            parts.append(constant_array(f"{name}_given", self.given) + "\n")
        for i, (lines, array, runs) in enumerate(self._parts):
            body = "\n".join(lines)
            words = {"name": f"{name}_{i}", "arguments": arguments, "inlined": inlined, "body": body}
            parts.append(_FUNCTION.format(**words))
            for k, (right, solution) in enumerate(runs):
                calls += [
                    f"  %r{i}_{k} = getelementptr inbounds double, ptr {arrays[array]}, i64 {right}",
                    f"  %s{i}_{k} = getelementptr inbounds double, ptr %out, i64 {solution}",
                    f"  call void @{name}_{i}(ptr %out, ptr %r{i}_{k}, ptr %s{i}_{k})",
                ]
        body = "\n".join(calls)
        return (
            "".join(parts) + f"define internal void @{name}(ptr %out) nounwind {{\n{body}\n  ret void\n}}\n"
        )

    @cached_property
    def _coefficients(self) -> dict[tuple[int, int], int]:
        """Indices of coefficients in the array: 1/D_k at (k, k), L_jk at (k, j), T_rk at (−1 − r, k)."""
        keys = [key for row in _rows(self.solution.factors) for key in row]
        return {key: self._first + i for i, key in enumerate(keys)}

    def _block_code(self, blocks: _Blocks) -> _Part:
        writer = _Writer(self._coefficients, self.lanes, blocks.width)
        _solve(writer, self.solution.factors, blocks, self._branches)
        self.operations += _repeated_operations(writer.operations, len(blocks.group.columns))
        return writer.lines, blocks.array, blocks.runs

    def _branch_code(self, branch: _Branch) -> _Part:
        writer = _Writer(self._coefficients, self.lanes, branch.width)
        known: dict[int, list[str]] = {}
        for k in branch.unknowns:
            value = writer.negative(writer.load("out", self._coefficients[k, branch.near[0]]))
            for j in self.solution.factors.order[k]:
                if j in known:
                    value = writer.less(value, writer.coefficient(k, j), known[j])
            known[k] = value
            writer.store("out", branch.places[k], value)
        self.operations += _repeated_operations(writer.operations, len(branch.near))
        return writer.lines, "out", [(0, 0)]


@dataclass(eq=False)
class _Blocks:
    """The blocks of columns of a group, which one function solves one after another."""

    group: Group
    width: int
    lanes: Sequence[SolvedColumn | None]  # of all blocks
    array: str  # of right sides
    first_right: int
    rows: Mapping[int, int]  # row of each unknown in the solution
    first_solution: int = 0

    @property
    def runs(self) -> list[tuple[int, int]]:
        """Offsets of right sides and solution of each block."""
        step = self.width * (len(self.group.right) + len(self.group.added))
        return [
            (self.first_right + i * step, self.first_solution + i * self.width * len(self.rows))
            for i in range(len(self.lanes) // self.width)
        ]


@dataclass(eq=False)
class _Branch:
    """The matrix P of the unknowns of branches that depend on the same unknowns near the ground."""

    near: tuple[int, ...]  # unknowns near the ground, in the order of coefficients
    unknowns: list[int] = field(default_factory=list)  # nearest to the ground first
    columns: int = 0  # number of columns that use P
    width: int = 0
    places: dict[int, int] = field(default_factory=dict)

    def lay_out(self, start: int, lanes: int) -> None:
        self.width = -(-len(self.near) // lanes) * lanes
        self.places = {k: start + i * self.width for i, k in enumerate(self.unknowns)}


def _vectors(unknowns: int) -> int:
    return _VECTORS if unknowns <= _FEW else 2 if unknowns <= _MANY else 1


def _repeated_operations(operations: Operations, columns: int) -> Operations:
    return Operations(operations.additions * columns, operations.multiplications * columns)


def _rows(factors: Factors) -> list[dict[tuple[int, int], Expr]]:
    """Return the coefficients in the order of the array, by their keys."""
    found = [
        {(k, k): inverse, **{(k, j): row.get(j, ZERO) for j in factors.paths[k]}}
        for k, inverse, row in factors.steps
    ]
    return found + [{(-1 - r, k): x for k, x in row.items()} for r, row in factors.turned.items()]


def _branches(factors: Factors, blocks: Sequence[_Blocks]) -> dict[tuple[int, ...], _Branch]:
    """Return the branches whose P is worth computing: more columns use it than P has."""
    paths = factors.paths
    found: dict[tuple[int, ...], _Branch] = {}
    for block in blocks:
        group = block.group
        used: dict[_Branch, None] = {}
        for k in paths:
            if k in group.wanted and k not in group.near:
                near = _near(paths[k], group)
                branch = found.setdefault(near, _Branch(near))
                used[branch] = None
                if k not in branch.unknowns:
                    branch.unknowns.append(k)
        for branch in used:
            branch.columns += len(group.columns)
    order = list(paths)
    for branch in found.values():
        branch.unknowns.sort(key=order.index)
    return {
        near: branch
        for near, branch in found.items()
        if branch.columns > len(near)
        and all(
            # Couplings that cancel may leave an unknown that depends on one of another branch.
            _together(near, paths[k]) and {*near, *branch.unknowns}.issuperset(factors.order[k])
            for k in branch.unknowns
        )
    }


def _together(near: Sequence[int], path: Sequence[int]) -> bool:
    """Return whether unknowns are neighbours on a path to the ground, so that their coefficients are
    neighbours too.
    """
    first = path.index(near[0]) if near else 0
    return len(near) > 0 and list(near) == list(path[first : first + len(near)])


def _near(path: Sequence[int], group: Group) -> tuple[int, ...]:
    """Return the unknowns of a path to the ground that right sides reach; these end the path."""
    return tuple([j for j in path if j in group.near])


def _solve(
    w: _Writer, factors: Factors, blocks: _Blocks, branches: Mapping[tuple[int, ...], _Branch]
) -> None:
    """Emit g with L g = right side, x with D Lᵀ x = g, and T x + a."""
    group, width, rows = blocks.group, blocks.width, factors.order
    g = {k: w.load("right", i * width) for i, k in enumerate(group.right)}
    for k in reversed(rows):
        for j in reversed(rows[k]) if k in g else ():  # first the unknown that is needed next
            g[j] = w.less(g.get(j), w.coefficient(k, j), g[k])
    added = {k: (len(group.right) + i) * width for i, k in enumerate(group.added)}
    x: dict[int, list[str]] = {}
    computed = [k for k in rows if k in group.wanted or k in g]
    by_branch = _unknowns_by_branch(factors, blocks, branches, computed, {*g, *added})
    following: dict[_Branch, list[int]] = {}
    solved: list[int] = []
    for k in computed:
        if k in by_branch:
            following.setdefault(by_branch[k], []).append(k)
        elif k in g or any(j in solved for j in rows[k]):
            solved.append(k)
    for first in range(0, len(solved), w.together):
        some = solved[first : first + w.together]
        x |= _substitute_neighbours(w, some, {k: [j for j in rows[k] if j in solved] for k in some}, g, x)
        for k in some:
            if k not in factors.turned and k in blocks.rows:
                given = w.load("right", added[k]) if k in added else None
                w.store("solution", blocks.rows[k] * width, w.sum(x[k], given))
    for r in blocks.rows:
        if r in factors.turned or (r in added and r not in x):
            total = w.load("right", added[r]) if r in added else None
            for k in factors.turned.get(r, ()):
                if k in x:
                    total = w.sum(total, w.times(w.coefficient(-1 - r, k), x[k]))
            if total is not None:
                w.store("solution", blocks.rows[r] * width, total)
    for branch, unknowns in following.items():
        for run in _runs(unknowns, branch.places, blocks.rows, branch.width):
            few = max([n for n in range(1, w.together + 1) if len(run) % n == 0])
            with w.repeat(len(run) // few) as i:
                P = w.move_array("out", branch.places[run[0]], few * branch.width, i)
                solution = w.move_array("solution", blocks.rows[run[0]] * width, few * width, i)
                values: list[list[str] | None] = [None] * few
                for n, a in enumerate(branch.near):
                    for m in range(few):
                        factor = w.number(P, m * branch.width + n)
                        values[m] = w.sum(values[m], w.times(factor, x[a]))
                for m, value in enumerate(values):
                    assert value is not None
                    w.store(solution, m * width, value)


def _unknowns_by_branch(
    factors: Factors,
    blocks: _Blocks,
    branches: Mapping[tuple[int, ...], _Branch],
    computed: Sequence[int],
    given: Container[int],
) -> dict[int, _Branch]:
    """Return the computed unknowns that P gives, with their branches: none that has a ``given`` right side
    or addend, and none that T or unknowns outside of the branch need.
    """
    found = {
        k: branches[near]
        for k in computed
        if k not in given and k not in factors.turned
        if (near := _near(factors.paths[k], blocks.group)) in branches
    }
    turned = {k for r in blocks.rows for k in factors.turned.get(r, ())}
    while needed := {
        j for k in computed for j in factors.order[k] if j in found and found.get(k) is not found[j]
    } | turned.intersection(found):
        found = {k: branch for k, branch in found.items() if k not in needed}
    return found


def _substitute_neighbours(
    w: _Writer,
    some: Sequence[int],
    terms: Mapping[int, Sequence[int]],
    g: Mapping[int, list[str]],
    known: Mapping[int, list[str]],
) -> dict[int, list[str]]:
    """Emit x of a few unknowns, one term of each in turn: the terms of one unknown depend on each other."""
    value = {k: w.times(w.coefficient(k, k), g[k], alone=True) if k in g else None for k in some}
    left = {k: list(terms[k]) for k in some}

    def subtract(k: int) -> None:
        j = left[k].pop(0)
        while left.get(j):
            subtract(j)
        done = value[j] if j in left else known[j]
        assert done is not None
        value[k] = w.less(value[k], w.coefficient(k, j), done)

    while any(left.values()):
        for k in some:
            if left[k]:
                subtract(k)
    return {k: v for k, v in value.items() if v is not None}


def _runs(
    unknowns: Sequence[int], places: Mapping[int, int], rows: Mapping[int, int], step: int
) -> list[list[int]]:
    """Return sequences of unknowns whose rows of P and of the solution are adjacent."""
    found: list[list[int]] = []
    for k in unknowns:
        last = found[-1][-1] if found else k
        if found and (places[k] - places[last], rows[k] - rows[last]) == (step, 1):
            found[-1].append(k)
        else:
            found.append([k])
    return found


class _Writer:
    """Writer of code on blocks of ``width`` columns in vectors of ``lanes``; counts operations per column."""

    def __init__(self, coefficients: Mapping[tuple[int, int], int], lanes: int, width: int) -> None:
        self.lines: list[str] = []
        self.operations = Operations()
        self._coefficients, self._lanes, self._width = coefficients, lanes, width
        self._type = f"<{lanes} x double>"
        self.together = max(3, _CHAINS * lanes // width)  # unknowns whose sums are interleaved
        # vectors of two neighbouring numbers, most recently used last
        self._pairs: dict[tuple[str, int], str] = {}
        self._count = self._loops = 0
        self._label = "entry"

    def load(self, array: str, place: int) -> list[str]:
        """Emit loads of a value for all columns."""
        places = range(place, place + self._width, self._lanes)
        return [self._emit(f"load {self._type}, ptr {self._at(array, i)}, align 8") for i in places]

    def store(self, array: str, place: int, value: list[str]) -> None:
        for i, vector in enumerate(value):
            at = self._at(array, place + i * self._lanes)
            self.lines.append(f"  store {self._type} {vector}, ptr {at}, align 8")

    def coefficient(self, k: int, j: int) -> str:
        """Emit 1/D_k, L_jk, or T_rk (with −1 − r for k), in all lanes."""
        return self.number("out", self._coefficients[k, j])

    def number(self, array: str, place: int) -> str:
        """Load a number into all lanes.

        With two lanes, neighbours are loaded as one vector: on arm64 an operation can use one lane of it,
        while a load into all lanes occupies a slot of an arithmetic operation.
        """
        if self._lanes != 2:
            value = self._emit(f"load double, ptr {self._at(array, place)}")
            vector = self._emit(f"insertelement {self._type} poison, double {value}, i64 0")
            lane = 0
        else:
            lane = place % 2
            vector = self._pairs.pop((array, place - lane), "")
            if not vector:
                vector = self._emit(f"load {self._type}, ptr {self._at(array, place - lane)}, align 8")
            self._pairs[array, place - lane] = vector
            if len(self._pairs) > self.together:
                del self._pairs[next(iter(self._pairs))]
        mask = ", ".join([f"i32 {lane}"] * self._lanes)
        kind = f"<{self._lanes} x i32> <{mask}>"
        return self._emit(f"shufflevector {self._type} {vector}, {self._type} poison, {kind}")

    @contextmanager
    def repeat(self, times: int) -> Iterator[str]:
        """Write a loop that runs ``times`` times; yield the name of its counter."""
        name = f"loop{self._loops}"
        self._loops += 1
        before, alone = self._label, self.operations
        self.operations = Operations()
        self.lines += [f"  br label %{name}", f"{name}:"]
        self.lines.append(f"  %i_{name} = phi i64 [ 0, %{before} ], [ %n_{name}, %{name} ]")
        yield f"%i_{name}"
        self.lines += [
            f"  %n_{name} = add nuw nsw i64 %i_{name}, 1",
            f"  %m_{name} = icmp ult i64 %n_{name}, {times}",
            f"  br i1 %m_{name}, label %{name}, label %after_{name}",
            f"after_{name}:",
        ]
        self._label, self._pairs = f"after_{name}", {}
        self.operations = alone + _repeated_operations(self.operations, times)

    def move_array(self, array: str, place: int, step: int, i: str) -> str:
        """Return the pointer to a place of an array that moves by a step in each iteration."""
        offset = self._emit(f"mul nuw nsw i64 {i}, {step}")
        return self._emit(f"getelementptr inbounds double, ptr {self._at(array, place)}, i64 {offset}")[1:]

    def times(self, a: str, b: list[str], *, alone: bool = False) -> list[str]:
        """Emit a b. With ``alone`` the product is not fused; in a b − c d LLVM then fuses c d, which needs no
        negation.
        """
        self.operations += Operations(multiplications=1)
        how = "fmul" if alone else "fmul contract"
        return [self._emit(f"{how} {self._type} {a}, {x}") for x in b]

    def negative(self, a: list[str]) -> list[str]:
        return [self._emit(f"fneg {self._type} {x}") for x in a]

    def sum(self, a: list[str] | None, b: list[str] | None) -> list[str]:
        """Emit a + b; one may be missing."""
        if a is None or b is None:
            return a or b or []
        self.operations += Operations(additions=1)
        return [self._emit(f"fadd contract {self._type} {x}, {y}") for x, y in zip(a, b, strict=True)]

    def less(self, value: list[str] | None, a: str, b: list[str]) -> list[str]:
        """Emit value − a b."""
        part = self.times(a, b)
        if value is None:
            return self.negative(part)
        self.operations += Operations(additions=1)
        return [self._emit(f"fsub contract {self._type} {x}, {y}") for x, y in zip(value, part, strict=True)]

    def _at(self, array: str, place: int) -> str:
        return self._emit(f"getelementptr inbounds double, ptr %{array}, i64 {place}")

    def _emit(self, operation: str) -> str:
        name = f"%v{self._count}"
        self._count += 1
        self.lines.append(f"  {name} = {operation}")
        return name
