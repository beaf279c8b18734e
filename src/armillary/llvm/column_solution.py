"""Code that solves the columns of a linear model with one factorised matrix, several at a time.

A function of a program leaves coefficients and right sides in its results; this continues it. The columns of
a group (``program/linearization/solution.py``) are the lanes of vectors: four columns at once take a step of
the elimination in one or two instructions, with a coefficient that is loaded once. The columns of a group go
through the same code by fours, so that the code of a large robot stays in the cache of instructions.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from armillary.algebra.expression import ZERO, Expr
from armillary.program.cost import Operations
from armillary.program.linearization.solution import ColumnSolution, SolvedColumn, groups

# Pointers that may be to the same place, so that LLVM keeps no coefficient on the stack for later blocks.
_BLOCK = """
define internal void @{name}(ptr %out, ptr %right, ptr %solution) noinline nounwind {{
{body}
  ret void
}}
"""


@dataclass(eq=False)
class ColumnCode:
    """The layout of a solution in an array of results, and the code that fills it.

    ``results`` are what the function before it computes, from the place ``start`` on: coefficients, then the
    right sides and addends of blocks of columns, lane by lane. The solution follows at ``end``; the element
    of a column and an unknown is at ``places`` from there.
    """

    solution: ColumnSolution
    start: int
    results: list[Expr] = field(init=False)
    places: dict[tuple[SolvedColumn, int], int] = field(init=False, default_factory=dict)
    length: int = field(init=False, default=0)  # numbers of the solution
    _blocks: list[_Blocks] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        self.results = list(self.solution.coefficients)
        for members in groups(self.solution):
            left = len(members) % 4
            whole = len(members) if left > 2 else len(members) - left
            for columns, width in ((members[:whole], 4), (members[whole:], 2)):
                if columns:
                    self._blocks.append(self._laid_out(columns, width))

    @property
    def operations(self) -> Operations:
        """Those of all columns."""
        return self.solution.operations

    @property
    def end(self) -> int:
        """Where the solution starts."""
        return self.start + len(self.results)

    def _laid_out(self, columns: list[SolvedColumn], width: int) -> _Blocks:
        factors, rows = self.solution.factors, self.solution.rows
        right = sorted({k for c in columns for k in c.right})
        added = sorted({k for c in columns for k in c.added})
        reached = {*factors.reached(right)[1], *added}
        reached |= {r for r, row in factors.turned.items() if not reached.isdisjoint(row)}
        count = -(-len(columns) // width)
        lanes = [*columns, *[columns[-1]] * (count * width - len(columns))]
        found = _Blocks(width, count, self.start + len(self.results), self.length, right, added)
        for i in range(count):
            block = lanes[i * width : (i + 1) * width]
            for k in right:
                self.results += [c.right.get(k, ZERO) for c in block]
            for k in added:
                self.results += [c.added.get(k, ZERO) for c in block]
            for row, k in enumerate(rows):
                for lane, column in enumerate(block) if k in reached else ():
                    self.places[column, k] = self.length + row * width + lane
            self.length += len(rows) * width
        return found

    def text(self, name: str) -> str:
        """A function ``name`` of the array of results, and those that it calls."""
        parts, calls = [], []
        for i, blocks in enumerate(self._blocks):
            for half, lines in (("forward", _forward), ("back", _back)):
                writer = _Writer(self, blocks)
                lines(writer)
                parts.append(_BLOCK.format(name=f"{name}_{half}_{i}", body="\n".join(writer.lines)))
            for k in range(blocks.count):
                right = blocks.first_right + k * blocks.width * (len(blocks.right) + len(blocks.added))
                solution = self.end + blocks.first_solution + k * blocks.width * len(self.solution.rows)
                label = f"{i}_{k}"
                calls += [
                    f"  %r{label} = getelementptr inbounds double, ptr %out, i64 {right}",
                    f"  %s{label} = getelementptr inbounds double, ptr %out, i64 {solution}",
                ]
                passed = f"ptr %out, ptr %r{label}, ptr %s{label}"
                calls += [f"  call void @{name}_{half}_{i}({passed})" for half in ("forward", "back")]
        body = "\n".join(calls)
        return (
            "".join(parts) + f"define internal void @{name}(ptr %out) nounwind {{\n{body}\n  ret void\n}}\n"
        )


@dataclass(frozen=True)
class _Blocks:
    """So many blocks of columns that are solved together: places of the first of each kind."""

    width: int
    count: int
    first_right: int
    first_solution: int
    right: list[int]
    added: list[int]


def _forward(w: _Writer) -> None:
    """g of L g = right side; it stays where the solution will be."""
    g = {k: w.given(i) for i, k in enumerate(w.blocks.right)}
    for k, _, row in w.code.solution.factors.steps:
        for j in row if k in g else ():
            g[j] = w.less(g.get(j), w.coefficient(k, j), g[k])
    for k, value in g.items():
        w.store(k, value)


def _back(w: _Writer) -> None:
    """x of D Lᵀ x = g, and T x + a."""
    factors = w.code.solution.factors
    added = {k: len(w.blocks.right) + i for i, k in enumerate(w.blocks.added)}
    reached = set(factors.reached(w.blocks.right)[0])
    x: dict[int, str] = {}
    for k, _, row in reversed(factors.steps):
        value = w.times(w.coefficient(k, k), w.load(k)) if k in reached else None
        for j in sorted(row):
            if j in x:
                value = w.less(value, w.coefficient(k, j), x[j])
        if value is not None:
            x[k] = value
        if k not in factors.turned and (value is not None or k in added):
            w.store(k, w.sum(value, w.given(added[k]) if k in added else None))
    for r, row in factors.turned.items():
        total = w.given(added[r]) if r in added else None
        for k in row:
            if k in x:
                total = w.sum(total, w.times(w.coefficient(-1 - r, k), x[k]))
        if total is not None:
            w.store(r, total)


class _Writer:
    """The lines of the code of a block."""

    def __init__(self, code: ColumnCode, blocks: _Blocks) -> None:
        self.code, self.blocks = code, blocks
        self.lines: list[str] = []
        self._type = f"<{blocks.width} x double>"
        self._row = {k: i for i, k in enumerate(code.solution.rows)}
        factors = code.solution.factors
        keys = [(k, j) for k, _, row in factors.steps for j in (k, *row)]
        keys += [(-1 - r, k) for r, row in factors.turned.items() for k in row]
        self._coefficients = {key: code.start + i for i, key in enumerate(keys)}

    def given(self, i: int) -> str:
        """The i-th right side or addend."""
        return self._emit(f"load {self._type}, ptr {self._right(i)}, align 8")

    def load(self, k: int) -> str:
        """What was stored of an unknown."""
        return self._emit(f"load {self._type}, ptr {self._place(k)}, align 8")

    def store(self, k: int, value: str) -> None:
        """Keeps the solution of an unknown."""
        self.lines.append(f"  store {self._type} {value}, ptr {self._place(k)}, align 8")

    def coefficient(self, k: int, j: int) -> str:
        """A coefficient in all lanes: 1/D_k, L_jk, or T_rk with −1 − r for k."""
        place = self._coefficients[k, j]
        pointer = self._emit(f"getelementptr inbounds double, ptr %out, i64 {place}")
        value = self._emit(f"load double, ptr {pointer}")
        one = self._emit(f"insertelement {self._type} poison, double {value}, i64 0")
        zeros = f"<{self.blocks.width} x i32> zeroinitializer"
        return self._emit(f"shufflevector {self._type} {one}, {self._type} poison, {zeros}")

    def times(self, a: str, b: str) -> str:
        return self._emit(f"fmul contract {self._type} {a}, {b}")

    def sum(self, a: str | None, b: str | None) -> str:
        """a + b, where one may be missing."""
        if a is None or b is None:
            return a or b or ""
        return self._emit(f"fadd contract {self._type} {a}, {b}")

    def less(self, value: str | None, a: str, b: str) -> str:
        """value − a b."""
        part = self.times(a, b)
        if value is None:
            return self._emit(f"fneg {self._type} {part}")
        return self._emit(f"fsub contract {self._type} {value}, {part}")

    def _emit(self, operation: str) -> str:
        name = f"%v{len(self.lines)}"
        self.lines.append(f"  {name} = {operation}")
        return name

    def _right(self, i: int) -> str:
        return self._emit(f"getelementptr inbounds double, ptr %right, i64 {i * self.blocks.width}")

    def _place(self, k: int) -> str:
        return self._emit(
            f"getelementptr inbounds double, ptr %solution, i64 {self._row[k] * self.blocks.width}"
        )
