"""Vectors and matrices of expressions whose rows and columns have names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import overload

import numpy as np

from armillary.algebra.arguments import checked_names
from armillary.algebra.calculus import Values, evaluate_all
from armillary.algebra.expression import ZERO, Expr
from armillary.algebra.textbook_form import collect_textbook_terms
from armillary.columns import Html, aligned, html_table
from armillary.errors import ArmillaryError

_SHOWN = 2000  # characters of an element in a table


@dataclass(frozen=True, eq=False, repr=False)
class ExpressionVector:
    """Expressions by name: `v["A.u1"]`, `v[0]`."""

    what: str
    names: tuple[str, ...]
    elements: tuple[Expr, ...]

    def __getitem__(self, key: int | str) -> Expr:
        return self.elements[_place(key, self.names, self.what)]

    def __len__(self) -> int:
        return len(self.elements)

    def __iter__(self) -> Iterator[Expr]:
        return iter(self.elements)

    def evaluate(self, values: Values) -> np.ndarray:
        """Numbers for values by symbol or name, in the model's own units; arrays give a leading axis each."""
        return _evaluate_elements(self.elements, values, (len(self.names),))

    def collected(self) -> ExpressionVector:
        """Return the vector with every element multiplied out and collected; itself if that is too long."""
        found = collect_textbook_terms(self.elements)
        return self if found is None else replace(self, elements=tuple(found))

    def __repr__(self) -> str:
        rows = [[f"  {name}", _short(e)] for name, e in zip(self.names, self, strict=True)]
        return "\n".join([self.what, *aligned(rows)])

    def _repr_html_(self) -> str:
        rows = [[name, typeset(e)] for name, e in zip(self.names, self, strict=True)]
        return html_table(["", ""], rows, caption=self.what)


@dataclass(frozen=True, eq=False, repr=False)
class ExpressionMatrix:
    """Expressions by names of row and column: `M["A.u1", "B.u1"]`, `M[0, 1]`, `M[0][1]`."""

    what: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    elements: tuple[tuple[Expr, ...], ...]

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return len(self.rows), len(self.columns)

    @overload
    def __getitem__(self, key: tuple[str | int, str | int]) -> Expr: ...
    @overload
    def __getitem__(self, key: str | int) -> tuple[Expr, ...]: ...
    def __getitem__(self, key: object) -> Expr | tuple[Expr, ...]:
        if isinstance(key, tuple) and len(key) == 2:
            row = self.elements[_place(key[0], self.rows, f"rows of {self.what}")]
            return row[_place(key[1], self.columns, f"columns of {self.what}")]
        return self.elements[_place(key, self.rows, f"rows of {self.what}")]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[tuple[Expr, ...]]:
        return iter(self.elements)

    def evaluate(self, values: Values) -> np.ndarray:
        """Numbers for values by symbol or name, in the model's own units; arrays give a leading axis each."""
        return _evaluate_elements([e for row in self.elements for e in row], values, self.shape)

    def collected(self) -> ExpressionMatrix:
        """Return the matrix with every element multiplied out and collected; itself if that is too long."""
        found = collect_textbook_terms([e for row in self.elements for e in row])
        if found is None:
            return self
        n = len(self.columns)
        rows = tuple(tuple(found[i * n : (i + 1) * n]) for i in range(len(self.rows)))
        return replace(self, elements=rows)

    def __repr__(self) -> str:
        lines = [
            [f"  {row}, {column}", _short(self[row, column])]
            for row in self.rows
            for column in self.columns
            if self[row, column] is not ZERO
        ]
        return "\n".join([self.what, *aligned(lines)])

    def _repr_html_(self) -> str:
        rows = [[name, *map(typeset, row)] for name, row in zip(self.rows, self, strict=True)]
        return html_table(["", *self.columns], rows, caption=self.what)


def typeset(expression: Expr) -> str:
    """Return an expression as MathML for a cell, or as a cut text if it is long."""
    from armillary.algebra.mathml import mathml

    shown = mathml(expression, limit=20 * _SHOWN)
    return Html(f"<math>{shown}</math>") if shown else _short(expression)


def _short(expression: Expr) -> str:
    from armillary.algebra.printing import text

    return text(expression, limit=_SHOWN)


def _evaluate_elements(elements: Sequence[Expr], values: Values, shape: tuple[int, ...]) -> np.ndarray:
    if not elements:
        return np.zeros(shape)
    found = np.broadcast_arrays(*evaluate_all(elements, values))
    return np.stack(found, axis=-1, dtype=float).reshape(*found[0].shape, *shape)


def _place(key: object, names: tuple[str, ...], what: str) -> int:
    if isinstance(key, str):
        [name] = checked_names([key], names, f"{what}: there is no", listed=True)
        return names.index(name)
    if isinstance(key, int | np.integer) and -len(names) <= key < len(names):
        return int(key)
    raise ArmillaryError(f"{what}: {key!r} is neither a name nor a place from 0 to {len(names) - 1}")
