"""Lookup tables in one and two variables: piecewise polynomials through points.

Generated code relies on this layout of the tables, for k = 1 or 2 arguments:

    breaks         k arrays, increasing; axis a has n_a = len(breaks[a]) − 1 intervals
    coefficients   shape (n_1, …, n_k, d_1, …, d_k):
                   f = Σ coefficients[i_1…i_k, p_1…p_k] · Π s_a^p_a    with s_a = x_a − breaks[a][i_a]
    outside        per axis, the continuation beyond the first and last break:
                   "clamp"   x_a is moved to the nearer end
                   "extend"  the polynomial of the end interval continues
                   "zero"    the value is 0 outside, but that of the polynomial at the ends themselves; a
                             derivative with respect to a "clamp" axis has this continuation

A break belongs to the interval on its right: i_a is found by bisection, then Horner's rule gives the value.
Derivatives are tables too, with exact polynomials, so a table has derivatives of any order.

``read_columns`` reads a text file of separated columns, which are numbered and may have headings.

The separator is the comma, semicolon or tab, whichever is most frequent in the first line; with semicolons,
numbers may have a decimal comma. Blank lines and lines that begin with "#" are skipped. The first line
contains headings if one of its cells is not a number: "speed", "speed [rpm]" or "speed (rpm)".
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path

import numpy as np

from armillary.algebra.arguments import file_path, index, reals, records_arguments
from armillary.algebra.expression import Expr, as_expr, call, number
from armillary.algebra.functions import Operand
from armillary.algebra.units import Dimension, parse_unit
from armillary.errors import ExpressionError, UnitsError, nearest
from armillary.limited_files import UnreadableFileError, read_limited

KINDS = ("linear", "smooth")
OUTSIDE = ("clamp", "extend")


class Piecewise:
    """A piecewise polynomial of one or two arguments.

    Objects with equal content are equal, so that their calls with equal arguments are one node.
    """

    def __init__(
        self,
        name: str,
        breaks: Sequence[np.ndarray],
        coefficients: np.ndarray,
        outside: Sequence[str],
        argument_dimensions: Sequence[Dimension | None],
        dimension: Dimension | None,
        *,
        source: Piecewise | None = None,
    ) -> None:
        self.name = name
        self.source = source or self  # the table before differentiation, whose name files give derivatives
        self.breaks = tuple(_frozen_array(b) for b in breaks)
        self.coefficients = _frozen_array(coefficients)
        self.outside = tuple(outside)
        self.argument_dimensions = tuple(argument_dimensions)
        self.dimension = dimension
        self.arity = len(self.breaks)
        self.digest = self._content_digest()

    def _content_digest(self) -> int:
        """Return a checksum of the content, the same in every process."""
        import hashlib  # imported here because it loads OpenSSL, which models without tables do not need

        head = repr((self.name, self.outside, self.coefficients.shape))
        digest = hashlib.blake2b(head.encode(), digest_size=7)
        for array in (*self.breaks, self.coefficients):
            digest.update(array.astype("<f8").tobytes())
        return int.from_bytes(digest.digest(), "little")

    def _content(self) -> tuple[object, ...]:
        dimensions = (*self.argument_dimensions, self.dimension)
        return (self.digest, self.name, self.outside, dimensions, self.coefficients.shape)

    def __hash__(self) -> int:
        return self.digest

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Piecewise) or self._content() != other._content():
            return False
        mine, others = (*self.breaks, self.coefficients), (*other.breaks, other.coefficients)
        return all(np.array_equal(a, b) for a, b in zip(mine, others, strict=True))

    def __repr__(self) -> str:
        size = " × ".join(str(len(b)) for b in self.breaks)
        return f"<table '{self.name}' of {size} points>"

    def __call__(self, *args: object) -> Operand:
        """Return a node if an argument is an expression, else the values for numbers and arrays."""
        if len(args) != self.arity:
            raise ExpressionError(f"table '{self.name}' takes {self.arity} argument(s), but has {len(args)}")
        if not any(isinstance(a, Expr) for a in args):
            return self.value(*args)
        nodes = tuple(as_expr(a) for a in args)
        if all(a.kind == "number" for a in nodes):
            return number(float(self.value(*[a.data for a in nodes])), self.dimension)
        for node, wanted in zip(nodes, self.argument_dimensions, strict=True):
            known = node.dimension is not None and node.kind != "number"
            if wanted is not None and known and node.dimension is not wanted:
                raise UnitsError(
                    f"table '{self.name}' takes an argument of dimension [{wanted}], "
                    f"but '{node!r}' has [{node.dimension}]"
                )
        return call(self, nodes, self.dimension)

    def value(self, *args: object) -> np.ndarray:
        """Return the value at numbers or arrays."""
        where = np.broadcast_arrays(*[reals(a, f"the argument of table '{self.name}'") for a in args])
        inside = np.ones(where[0].shape, dtype=bool)
        index, steps = [], []
        for x, breaks, outside in zip(where, self.breaks, self.outside, strict=True):
            if outside == "zero":
                inside = inside & (x >= breaks[0]) & (x <= breaks[-1])
            elif outside == "clamp":
                x = np.clip(x, breaks[0], breaks[-1])
            interval = np.clip(np.searchsorted(breaks, x, side="right") - 1, 0, len(breaks) - 2)
            index.append(interval)
            steps.append(x - breaks[interval])
        local = self.coefficients[tuple(index)]
        for step in reversed(steps):  # Horner's rule, along the last axis first
            degree = local.shape[-1]
            padded = step.reshape(step.shape + (1,) * (local.ndim - 1 - step.ndim))
            result = local[..., degree - 1]
            for p in range(degree - 2, -1, -1):
                result = result * padded + local[..., p]
            local = result
        unknown = np.any(np.isnan(where), axis=0)  # a constant piece would give a number for NaN
        return np.where(unknown, np.nan, np.where(inside, local, 0.0))[()]

    def derivative(self, axis: int = 0) -> Piecewise:
        """Return ∂/∂x_axis as a table."""
        axis = index(axis, self.arity, "axis", ExpressionError)
        power_axis = self.arity + axis
        degree = self.coefficients.shape[power_axis] - 1
        shape = [1] * self.coefficients.ndim
        shape[power_axis] = max(degree, 1)
        if degree:
            powers = np.arange(1, degree + 1, dtype=float).reshape(shape)
            rest = np.take(self.coefficients, np.arange(1, degree + 1), axis=power_axis) * powers
        else:
            rest = np.zeros_like(self.coefficients)
        outside = list(self.outside)
        outside[axis] = "zero" if outside[axis] == "clamp" else outside[axis]
        by = self.argument_dimensions[axis]
        dimension = None if by is None or self.dimension is None else self.dimension / by
        name = f"{self.name}_d{'xy'[axis]}"
        return Piecewise(
            name, self.breaks, rest, outside, self.argument_dimensions, dimension, source=self.source
        )

    def partials(self, *args: Expr) -> list[Expr]:
        """Return the partial derivatives at the arguments, as expressions."""
        return [self.derivative(axis)(*args) for axis in range(self.arity)]


@cache  # compiled at the first use, to keep `import armillary` quick
def derivative_name() -> re.Pattern[str]:
    """Return the pattern of a name such as bump_dx, with the groups "bump" and "_dx"."""
    return re.compile(r"([^\W\d]\w*?)((?:_d[xy])+)\b")


def derivatives_in(text: str, tables: Callable[[str], Piecewise | None]) -> dict[str, Piecewise]:
    """Return, by name, the derivatives of tables that occur in a text.

    ``bump_dx`` is the derivative of the table ``bump``, ``bump_dx_dx`` the second one, and ``map_dy`` the
    derivative by the second argument. ``tables`` returns the table of a name, or None.
    """
    found = {}
    for base, orders in derivative_name().findall(text):
        table = tables(base)
        axes = orders.replace("_d", "")
        if table is not None and all("xy".index(axis) < table.arity for axis in axes):
            for axis in axes:
                table = table.derivative("xy".index(axis))
            found[base + orders] = table
    return found


def _frozen_array(values: object) -> np.ndarray:
    array = np.ascontiguousarray(values, dtype=float) + 0.0  # −0 becomes 0: equal tables have equal digests
    array.setflags(write=False)
    return array


# ---------------------------------------------------------------- tables of points


@records_arguments
class Table(Piecewise):
    """A function of one variable through the points (x, y).

    ``kind="linear"`` joins them by straight lines. ``kind="smooth"`` is a cubic in each interval with
    continuous slope (C¹), with slopes by Fritsch and Carlson's rule (PCHIP): the curve rises where the data
    rise, and never overshoots. A C² spline would overshoot beside steps, which gives measured forces a wrong
    sign and a spurious stiffness.

    ``outside="clamp"`` holds the end values (the slope then jumps to 0 at the ends); ``"extend"`` continues
    the end pieces. Units describe the data; arguments and values of the table are in SI. Without units,
    the dimensions are not known and not checked; the units "1" mean that data are dimensionless.
    """

    def __init__(
        self,
        x: object,
        y: object,
        *,
        kind: str = "linear",
        outside: str = "clamp",
        name: str = "table",
        x_units: str = "",
        y_units: str = "",
    ) -> None:
        _check_options(name, kind, outside)
        x, x_dimension = _axis(name, "x", x, x_units)
        y, dimension = _data(name, "y", y, y_units)
        if y.shape != x.shape:
            raise ExpressionError(f"table '{name}' has {len(x)} values of x but y of shape {y.shape}")
        coefficients = _hermite(x, y, _slopes(x, y)) if kind == "smooth" else _lines(x, y)
        self.kind = kind
        super().__init__(name, [x], coefficients, [outside], [x_dimension], dimension)

    @classmethod
    def from_csv(
        cls,
        path: str | os.PathLike[str],
        x: str | int = 1,
        y: str | int = 2,
        *,
        kind: str = "linear",
        outside: str = "clamp",
        name: str | None = None,
        x_units: str | None = None,
        y_units: str | None = None,
    ) -> Table:
        """Return a table of two columns of a file, each given by its heading or its number from 1.

        ``x_units`` and ``y_units`` replace the units in headings such as "speed [rpm]". The default name is
        the file name without its ending. Separators may be commas, semicolons (then with decimal commas, too)
        or tabs.
        """

        found = read_columns(path)
        places = found.place(x), found.place(y)
        units = [
            found.units[i] if given is None else given
            for i, given in zip(places, (x_units, y_units), strict=True)
        ]
        columns = (found.values[:, i] for i in places)
        label = found.path.stem if name is None else name
        return cls(*columns, kind=kind, outside=outside, name=label, x_units=units[0], y_units=units[1])


@records_arguments
class Table2(Piecewise):
    """A function of two variables through the points (x[i], y[j], z[i, j]).

    ``"linear"`` is bilinear in each cell. ``"smooth"`` is bicubic with continuous slopes (C¹): the tensor
    product of cubic Hermite pieces with the slope rule of `Table` along each axis; the mixed slope is the
    mean of both orders, so that exchanging x and y gives the same surface.
    """

    def __init__(
        self,
        x: object,
        y: object,
        z: object,
        *,
        kind: str = "linear",
        outside: str = "clamp",
        name: str = "table",
        x_units: str = "",
        y_units: str = "",
        z_units: str = "",
    ) -> None:
        _check_options(name, kind, outside)
        x, x_dimension = _axis(name, "x", x, x_units)
        y, y_dimension = _axis(name, "y", y, y_units)
        z, dimension = _data(name, "z", z, z_units)
        if z.shape != (len(x), len(y)):
            needed = f"z of shape {(len(x), len(y))}, one row per x"
            raise ExpressionError(f"table '{name}' needs {needed}, not {z.shape}")
        if kind == "smooth":
            z_x = _slopes(x, z)
            z_y = _slopes(y, z.T).T
            z_xy = (_slopes(y, z_x.T).T + _slopes(x, z_y)) / 2
            along_y = [_hermite(y, z.T, z_y.T), _hermite(y, z_x.T, z_xy.T)]  # (n_y, d, points of x)
            values, slopes = (np.moveaxis(c, -1, 0) for c in along_y)  # (points of x, n_y, d)
            cells = _hermite(x, values, slopes)  # (n_x, d_x, n_y, d_y)
        else:
            cells = _lines(x, np.moveaxis(_lines(y, z.T), -1, 0))
        self.kind = kind
        super().__init__(
            name, [x, y], np.swapaxes(cells, 1, 2), [outside] * 2, [x_dimension, y_dimension], dimension
        )


def _lines(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return coefficients (n, 2, …) of straight lines through y (n + 1, …)."""
    h = _as_column(np.diff(x), y)
    return np.stack([y[:-1], np.diff(y, axis=0) / h], axis=1)


def _hermite(x: np.ndarray, y: np.ndarray, slope: np.ndarray) -> np.ndarray:
    """Return coefficients (n, 4, …) of the cubics through y (n + 1, …) with given slopes."""
    h = _as_column(np.diff(x), y)
    chord = np.diff(y, axis=0) / h
    left, right = slope[:-1], slope[1:]
    second, third = (3 * chord - 2 * left - right) / h, (left + right - 2 * chord) / h**2
    return np.stack([y[:-1], left, second, third], axis=1)


def _as_column(h: np.ndarray, like: np.ndarray) -> np.ndarray:
    return h.reshape((-1,) + (1,) * (like.ndim - 1))


def _slopes(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return slopes at the points along the first axis: Fritsch & Carlson (1980) with Butland's mean."""
    from scipy.interpolate import PchipInterpolator

    with np.errstate(all="ignore"):
        try:
            found: np.ndarray = PchipInterpolator(x, y, axis=0).derivative()(x)
            return found
        except ValueError as error:
            raise ExpressionError(
                f"a smooth table cannot be made: the numbers are too large or too close ({error})"
            ) from None


def _check_options(name: str, kind: str, outside: str) -> None:
    for what, value, allowed in (("kind", kind, KINDS), ("outside", outside, OUTSIDE)):
        if value not in allowed:
            choice = " or ".join(f"'{a}'" for a in allowed)
            raise ExpressionError(f"table '{name}': {what} must be {choice}, not {value!r}")


def _data(name: str, letter: str, values: object, units: str) -> tuple[np.ndarray, Dimension | None]:
    try:
        array = np.asarray(values, dtype=float)
    except (TypeError, ValueError, OverflowError) as error:
        raise ExpressionError(f"table '{name}': {letter} must be an array of numbers: {error}") from error
    if not np.all(np.isfinite(array)):
        place = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        where = f"{letter}{list(place)} is {array[place]}"
        raise ExpressionError(f"table '{name}': {where}; all values must be finite")
    if not units:
        return array, None
    unit = parse_unit(units)
    return array * unit.scale, unit.dimension


def _axis(name: str, letter: str, values: object, units: str) -> tuple[np.ndarray, Dimension | None]:
    array, dimension = _data(name, letter, values, units)
    if array.ndim != 1 or len(array) < 2:
        found = f"not shape {array.shape}"
        raise ExpressionError(f"table '{name}': {letter} needs at least 2 points in one row, {found}")
    falls = np.flatnonzero(np.diff(array) <= 0)
    if len(falls):
        i = int(falls[0])
        raise ExpressionError(
            f"table '{name}': {letter} must increase, but {letter}[{i}] = {array[i]:g} "
            f"is followed by {letter}[{i + 1}] = {array[i + 1]:g}"
        )
    return array, dimension


_HEADING = r"\s*(.*?)\s*[\[(]([^\])]*)[\])]\s*\Z"
_MOST = 2**28  # most bytes of a file


class CsvColumns:
    """The columns of a file; ``units`` has "" for each column without units in its heading."""

    def __init__(
        self, path: Path, headings: tuple[str, ...], units: tuple[str, ...], values: np.ndarray
    ) -> None:
        self.path = path
        self.headings = headings  # as in the file, without units; all "" if the file has none
        self.units = units
        self.values = values  # one row for each line

    def place(self, column: str | int) -> int:
        """Return the index of a column from its heading or its number from 1."""
        if isinstance(column, str):
            if column in self.headings:
                return self.headings.index(column)
            there = ", ".join(repr(h) for h in self.headings if h) or "none: give numbers of columns from 1"
            hint = nearest(column, self.headings) or f"; its headings are {there}"
            raise ExpressionError(f"file '{self.path}' has no column '{column}'{hint}")
        count = len(self.headings)
        if isinstance(column, bool) or not isinstance(column, int | np.integer) or not 1 <= column <= count:
            raise ExpressionError(
                f"file '{self.path}': column={column!r} is neither a heading nor a number from 1 to {count}"
            )
        return int(column) - 1


def read_columns(path: str | os.PathLike[str], finite: bool = True) -> CsvColumns:
    """Return all columns of a file.

    An error names the line and the column of a cell that is not a number. If ``finite``, nan and infinite
    values are errors too.
    """
    file = file_path(path, "the file of a table", ExpressionError)
    lines = list(_text_lines(file))
    if not lines:
        raise ExpressionError(f"file '{file}' holds no values")
    separator = max(";\t,", key=lines[0][1].count)
    decimal = separator == ";"
    first = _cells(file, *lines[0], separator)
    headed = any(_parse_cell(cell, decimal) is None for cell in first)
    found = [_heading(cell) for cell in first] if headed else [("", "")] * len(first)
    rows = lines[headed:]
    values = _plain_values([text for _, text in rows], separator)
    if values is None or values.shape[1] != len(first) or (finite and not np.isfinite(values).all()):
        values, kind = np.empty((len(rows), len(first))), "finite number" if finite else "number"
        for i, (n, text) in enumerate(rows):
            cells = _cells(file, n, text, separator)
            if len(cells) != len(first):
                raise ExpressionError(
                    f"file '{file}', line {n}: {len(cells)} values, but {len(first)} columns"
                )
            for j, cell in enumerate(cells):
                value = _cell_number(cell, decimal, finite)
                if value is None:
                    name = f"column '{found[j][0]}'" if found[j][0] else f"column {j + 1}"
                    raise ExpressionError(f"file '{file}', line {n}, {name}: '{cell}' is not a {kind}")
                values[i, j] = value
    return CsvColumns(file, tuple(name for name, _ in found), tuple(units for _, units in found), values)


def _plain_values(lines: list[str], separator: str) -> np.ndarray | None:
    """Return the values if NumPy can read all cells, else None. NumPy needs an eighth of Python's time."""
    if not lines:
        return None
    texts = [line.replace(",", ".") for line in lines] if separator == ";" else lines
    try:
        return np.loadtxt(texts, delimiter=separator, comments=None, ndmin=2)
    except ValueError:
        return None


def _text_lines(file: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines with content, each as (line number from 1, text)."""
    try:
        text = read_limited(file, _MOST, "take fewer points").decode("utf-8-sig")
    except UnreadableFileError as error:
        raise ExpressionError(f"file '{file}': {error}") from None
    except UnicodeDecodeError:
        raise ExpressionError(f"file '{file}' is not a text in UTF-8") from None
    for n, line in enumerate(text.splitlines(), 1):
        if line.strip() and not line.lstrip().startswith("#"):
            yield n, line


def _cells(file: Path, n: int, line: str, separator: str) -> list[str]:
    import csv

    try:
        return [cell.strip() for cell in next(csv.reader([line], delimiter=separator))]
    except csv.Error as error:
        raise ExpressionError(f"file '{file}', line {n} cannot be read: {error}") from None


def _cell_number(cell: str, decimal: bool, finite: bool) -> float | None:
    """Return the number in a cell; None for anything else, also for 1_000, which only Python accepts."""
    value = None if "_" in cell else _parse_cell(cell, decimal)
    return value if value is not None and (math.isfinite(value) or not finite) else None


def _parse_cell(cell: str, decimal: bool) -> float | None:
    """Return a cell as a float, if Python reads it as one (also nan and inf), else None."""
    try:
        return float(cell.replace(",", ".") if decimal else cell)
    except ValueError:
        return None


def _heading(cell: str) -> tuple[str, str]:
    """Split a heading into its name and the unit in brackets; other words in brackets belong to the name."""
    found = re.match(_HEADING, cell)
    if found is None:
        return cell, ""
    try:
        parse_unit(found[2])
    except UnitsError:
        return cell, ""
    return found[1], found[2]
