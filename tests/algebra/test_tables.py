"""Lookup tables: values against SciPy, exact derivatives, units, interning and bad data."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from armillary.algebra.calculus import derivative, evaluate
from armillary.algebra.expression import number, symbol
from armillary.algebra.parsing import parse
from armillary.algebra.tables import Table, Table2
from armillary.algebra.units import FORCE, LENGTH, SPEED
from armillary.algebra.walk import substitute
from armillary.errors import ExpressionError, UnitsError
from tests.later import later

interpolate = later("scipy.interpolate")

RANDOM = np.random.default_rng(7)
X = np.array([-2.0, -0.5, 0.1, 1.0, 4.0, 4.5])
Y = np.array([1.0, 3.0, 2.5, 2.5, -1.0, 0.0])
GRID_X, GRID_Y = X, np.array([0.0, 1.0, 1.5, 3.0])
Z = RANDOM.normal(size=(6, 4))
POINTS = np.linspace(-3, 6, 400)
INSIDE = np.linspace(-2.0, 4.5, 300)
CELLS = RANDOM.uniform([-2, 0], [4.5, 3], size=(300, 2))


def test_a_linear_table_joins_its_points_by_lines():
    np.testing.assert_allclose(Table(X, Y).value(POINTS), np.interp(POINTS, X, Y), rtol=0, atol=1e-14)


def test_a_smooth_table_is_pchip_of_scipy():
    table = Table(X, Y, kind="smooth", outside="extend")
    reference = interpolate.PchipInterpolator(X, Y)
    np.testing.assert_allclose(table.value(POINTS), reference(POINTS), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(
        table.derivative().value(POINTS), reference.derivative()(POINTS), rtol=1e-12, atol=1e-11
    )


@given(st.lists(st.floats(0.1, 5), min_size=2, max_size=8))
def test_a_smooth_table_of_rising_data_never_falls(rises):
    x = np.arange(len(rises) + 1.0)
    table = Table(x, np.concatenate([[0.0], np.cumsum(rises)]), kind="smooth")
    assert np.all(np.diff(table.value(np.linspace(0, len(rises), 500))) >= -1e-12)


def test_a_bilinear_table_agrees_with_scipy():
    reference = interpolate.RegularGridInterpolator((GRID_X, GRID_Y), Z)
    np.testing.assert_allclose(Table2(GRID_X, GRID_Y, Z).value(*CELLS.T), reference(CELLS), atol=1e-14)


class TestBicubic:
    @cached_property
    def table(self):
        return Table2(GRID_X, GRID_Y, Z, kind="smooth")

    def test_it_goes_through_its_points(self):
        x, y = np.meshgrid(GRID_X, GRID_Y, indexing="ij")
        np.testing.assert_allclose(self.table.value(x, y), Z, atol=1e-13)

    def test_along_a_grid_line_it_is_the_smooth_table_of_that_line(self):
        for j, y in enumerate(GRID_Y):
            line = Table(GRID_X, Z[:, j], kind="smooth")
            np.testing.assert_allclose(self.table.value(INSIDE, y), line.value(INSIDE), atol=1e-13)

    def test_exchanging_the_axes_gives_the_same_surface(self):
        other = Table2(GRID_Y, GRID_X, Z.T, kind="smooth")
        x, y = CELLS.T
        np.testing.assert_allclose(self.table.value(x, y), other.value(y, x), atol=1e-13)

    @pytest.mark.parametrize("axis", [0, 1])
    def test_slopes_are_continuous_across_the_grid(self, axis):
        slope, just_below = self.table.derivative(axis).value, 1e-11
        for x in GRID_X[1:-1]:
            y = CELLS[:, 1]
            np.testing.assert_allclose(slope(x - just_below, y), slope(x, y), atol=1e-8)
        for y in GRID_Y[1:-1]:
            x = CELLS[:, 0]
            np.testing.assert_allclose(slope(x, y - just_below), slope(x, y), atol=1e-8)

    @pytest.mark.parametrize("axis", [0, 1])
    def test_derivatives_agree_with_differences(self, axis):
        step = 1e-6 * np.eye(2)[axis]
        ahead, behind = self.table.value(*(CELLS + step).T), self.table.value(*(CELLS - step).T)
        found = self.table.derivative(axis).value(*CELLS.T)
        # Rounding is 1e-16/1e-6 and truncation 1e-12; no point lies within 1e-6 of a grid line.
        np.testing.assert_allclose(found, (ahead - behind) / 2e-6, atol=1e-6)

    def test_mixed_derivatives_do_not_depend_on_order(self):
        xy = self.table.derivative(0).derivative(1).value(*CELLS.T)
        yx = self.table.derivative(1).derivative(0).value(*CELLS.T)
        np.testing.assert_allclose(xy, yx, atol=1e-12)


class TestOutside:
    def test_a_clamped_table_holds_its_end_values_and_has_no_slope_there(self):
        table = Table(X, Y, kind="smooth")
        np.testing.assert_array_equal(table.value([-9.0, 9.0]), [1.0, 0.0])
        np.testing.assert_array_equal(table.derivative().value([-9.0, 9.0]), [0.0, 0.0])
        assert table.derivative().outside == ("zero",)

    def test_an_extended_table_goes_on_with_its_end_piece(self):
        table = Table([0, 1, 3], [0, 2, 3], outside="extend")
        np.testing.assert_allclose(table.value([-1.0, 5.0]), [-2.0, 4.0])
        np.testing.assert_allclose(table.derivative().value([-1.0, 5.0]), [2.0, 0.5])

    def test_only_the_axis_that_is_left_loses_its_slope(self):
        table = Table2([0, 1], [0, 1], [[0, 1], [2, 3]])  # 2x + y
        assert table.value(5.0, 0.5) == 2.5
        assert table.derivative(0).value(5.0, 0.5) == 0
        assert table.derivative(1).value(5.0, 0.5) == 1

    def test_nan_stays_nan(self):
        assert np.isnan(Table(X, Y).value(np.nan))
        assert np.isnan(Table(X, Y).derivative().value(np.nan))


class TestExpressions:
    x = symbol("x", "coordinate", dimension=LENGTH)

    @cached_property
    def table(self):
        return Table(X, Y, kind="smooth", name="stop", x_units="mm", y_units="kN")

    def test_data_come_in_their_units_and_values_are_si(self):
        assert self.table(self.x).dimension is FORCE
        assert evaluate(self.table(self.x), {"x": -0.0005}) == pytest.approx(3000, rel=1e-14)

    def test_equal_tables_give_one_node(self):
        again = Table(list(X), list(Y), kind="smooth", name="stop", x_units="mm", y_units="kN")
        assert again is not self.table
        assert again == self.table and hash(again) == hash(self.table)
        assert again(self.x) is self.table(self.x)
        assert Table(X, Y, name="stop")(symbol("z")) is not Table(X, Y + 1, name="stop")(symbol("z"))

    def test_the_digest_is_the_same_in_every_process(self):
        assert Table([0, 1], [0, 2]).digest == Table([-0.0, 1.0], [0.0, 2.0]).digest == 27457489660720919

    def test_the_derivative_is_exact(self):
        slope = derivative(2 * self.table(self.x) + self.x * number(1, FORCE / LENGTH), self.x)
        reference = interpolate.PchipInterpolator(X / 1e3, Y * 1e3).derivative()(0.002)
        assert evaluate(slope, {"x": 0.002}) == pytest.approx(2 * reference + 1, rel=1e-12)
        assert derivative(self.table(self.x), self.x).dimension is FORCE / LENGTH

    def test_wrong_dimensions_are_named(self):
        with pytest.raises(UnitsError, match=r"'stop' takes .* dimension \[m\], but 'v' has \[m/s\]"):
            self.table(symbol("v", dimension=SPEED))

    def test_numbers_are_looked_up_at_once_and_after_substitution(self):
        plain = Table([0, 1], [0, 10])
        assert float(plain(number(0.25))) == 2.5
        assert plain(0.25) == 2.5
        z = symbol("z")
        assert float(substitute(plain(z), {z: number(0.5)})) == 5

    def test_tables_are_functions_of_text(self):
        table = Table([0, 1], [0, 10], name="lift")
        assert str(parse("2*lift(z) + 1", symbol, {"lift": (table, 1)})) == "2*lift(z) + 1"

    def test_the_number_of_arguments_is_checked(self):
        with pytest.raises(ExpressionError, match=r"takes 1 argument\(s\), but has 2"):
            self.table(self.x, self.x)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Table([0, 1, 1], [0, 1, 2], name="T"), r"'T': x must increase, but x\[1\] = 1 is followed"),
        (lambda: Table([0, 1], [0, 1, 2]), "2 values of x but y of shape"),
        (lambda: Table([0, 1], [0, np.nan]), r"y\[1\] is nan"),
        (lambda: Table([0, np.inf], [0, 1]), r"x\[1\] is inf"),
        (lambda: Table([0], [1]), "at least 2 points"),
        (lambda: Table([[0, 1]], [[0, 1]]), "at least 2 points in one row"),
        (lambda: Table([0, 1], ["a", "b"]), "must be an array of numbers"),
        (lambda: Table([0, 1], [0, 1], kind="cubic"), "kind must be 'linear' or 'smooth', not 'cubic'"),
        (lambda: Table([0, 1], [0, 1], outside="zero"), "outside must be 'clamp' or 'extend'"),
        (lambda: Table([0, 1], [0, 1], x_units="furlong"), "unknown unit 'furlong'"),
        (lambda: Table2([0, 1], [0, 1, 2], np.zeros((3, 2))), r"needs z of shape \(2, 3\), one row per x"),
        (lambda: Table2([0, 1], [1, 0], np.zeros((2, 2))), "y must increase"),
        (lambda: Table2([0, 1], [0, 1], [[0, 1], [2]]), "must be an array of numbers"),
    ],
)
def test_bad_data_are_named(make, message):
    with pytest.raises((ExpressionError, UnitsError), match=message):
        make()
