"""Linear models as expressions of the parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from armillary.algebra.arguments import several
from armillary.algebra.calculus import evaluate_all
from armillary.algebra.expression import ZERO, Expr, number
from armillary.algebra.walk import transform
from armillary.analysis.linear.matrices import LinearMatrices
from armillary.columns import html_table
from armillary.errors import ArmillaryError, nearest
from armillary.program.derivatives import linearization as linearization_form
from armillary.program.derivatives.linearization import Element, Variable

Rows = tuple[tuple[Expr, ...], ...]
_NOTHING = 1e-12  # a coordinate or speed below this counts as zero


@dataclass(frozen=True, eq=False, repr=False)
class SymbolicLinearModel:
    """A, B, C and D as rows of expressions, in the stated units of states, inputs and outputs.

    They hold parameters, and the variables that were kept; ``at`` gives numbers.
    """

    system: str
    A: Rows
    B: Rows
    C: Rows
    D: Rows
    states: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]

    def at(self, values: Mapping[str, float]) -> dict[str, np.ndarray]:
        """A, B, C and D as arrays, where the symbols have these values in the model's own units."""
        found = {}
        for name, shape in self._shapes().items():
            flat = [x for row in getattr(self, name) for x in row]
            found[name] = np.array(evaluate_all(flat, values), dtype=float).reshape(shape)
        return found

    def _shapes(self) -> dict[str, tuple[int, int]]:
        n, m, p = len(self.states), len(self.inputs), len(self.outputs)
        return {"A": (n, n), "B": (n, m), "C": (p, n), "D": (p, m)}

    def _lines(self) -> list[list[str]]:
        """The elements that are not zero: of what, by what, and the expression."""
        columns = (*self.states, *self.inputs)
        lines = []
        for rows, names, left, right in (
            ("'", self.states, self.A, self.B),
            ("", self.outputs, self.C, self.D),
        ):
            for i, name in enumerate(names):
                values = (*left[i], *right[i])
                lines += [
                    [f"{name}{rows}", by, str(x)]
                    for by, x in zip(columns, values, strict=True)
                    if x is not ZERO
                ]
        return lines

    def __repr__(self) -> str:
        return "\n".join(f"∂({of})/∂({by}) = {x}" for of, by, x in self._lines())

    def _repr_html_(self) -> str:
        return html_table(["of", "by", ""], self._lines(), "<<<", caption=f"Linear model of {self.system}")


def symbolic(lin: LinearMatrices, keep: Sequence[str]) -> SymbolicLinearModel:
    """The linear model as expressions: coordinates, speeds, states, memories and the time are numbers as at
    the operating point, except for those to keep.
    """
    lin.single("symbolic")
    if lin.linearization is None:
        raise ArmillaryError(
            "this linear model has numbers alone (it was loaded, reduced, discretised or cut); call "
            "symbolic() on what model.linearize gives"
        )
    form, t = lin.linearization.form, lin.linearization.equations.targets
    if len(form.states) * lin.linearization.equations.operations.total > linearization_form.WRITTEN_OUT:
        raise ArmillaryError(
            f"the matrices of '{lin.system}' are too long to be written out: {len(form.states)} states, with "
            f"{lin.linearization.equations.operations.total} operations for their rates; lin.A has numbers"
        )
    kept = {str(name) for name in several(keep, "keep=")}
    symbols = [*t.integrated, *t.memory, t.time]
    names = [s.data.name for s in symbols]
    for name in kept - set(names):
        raise ArmillaryError(f"keep=: there is no variable '{name}'{nearest(name, names)}")
    values = [*np.atleast_1d(lin.state), *np.atleast_1d(lin.memory), float(lin.time)]
    at = {
        s: number(0 if abs(x) < _NOTHING else float(x))
        for s, x in zip(symbols, values, strict=True)
        if s.data.name not in kept
    }

    def rows(entries: Mapping[Element, Expr], above: Sequence[Variable], right: Sequence[Variable]) -> Rows:
        found = dict(zip(entries, transform(entries.values(), at.get), strict=True))

        def element(i: int, j: int) -> Expr:
            x, factor = found.get((i, j), ZERO), right[j].factor / above[i].factor
            return x if factor == 1.0 else x * factor

        return tuple(tuple(element(i, j) for j in range(len(right))) for i in range(len(above)))

    x, v, y = form.states, form.inputs, form.outputs
    return SymbolicLinearModel(
        lin.system, rows(form.A, x, x), rows(form.B, x, v), rows(form.C, y, x), rows(form.D, y, v),
        lin.states, lin.inputs, lin.outputs,
    )  # fmt: skip
