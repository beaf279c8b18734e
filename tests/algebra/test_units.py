"""Unit texts: factors to SI from their definitions, and texts that read back."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from armillary.algebra.units import (
    ACCELERATION,
    ENERGY,
    FORCE,
    INERTIA,
    LENGTH,
    MASS,
    MOMENT,
    ONE,
    RATE,
    SPEED,
    TIME,
    Dimension,
    is_quantity,
    magnitude_in_si,
    parse_unit,
    si_text,
    to_si,
)
from armillary.errors import UnitsError
from tests.later import unit_registry

DEGREE = math.pi / 180
POUND_FORCE = 4.4482216152605  # N, exact by definition: 0.45359237 kg times 9.80665 m/s²


@pytest.mark.parametrize(
    ("text", "scale", "dimension"),
    [
        ("", 1, ONE),
        ("-", 1, ONE),
        ("1", 1, ONE),
        ("rad", 1, ONE),
        ("percent", 0.01, ONE),
        ("%", 0.01, ONE),
        ("deg", DEGREE, ONE),
        ("arcmin", DEGREE / 60, ONE),
        ("arcsec", DEGREE / 3600, ONE),
        ("deg/s", DEGREE, RATE),
        ("rpm", 2 * math.pi / 60, RATE),
        ("Hz", 1, RATE),
        ("mm", 1e-3, LENGTH),
        ("km", 1e3, LENGTH),
        ("µm", 1e-6, LENGTH),
        ("in", 0.0254, LENGTH),
        ("ft", 0.3048, LENGTH),
        ("ms", 1e-3, TIME),
        ("min", 60, TIME),
        ("h", 3600, TIME),
        ("km/h", 1 / 3.6, SPEED),
        ("nmi", 1852, LENGTH),
        ("knot", 1852 / 3600, SPEED),
        ("in/s", 0.0254, SPEED),
        ("m/s2", 1, ACCELERATION),
        ("m/s^2", 1, ACCELERATION),
        ("m/s**2", 1, ACCELERATION),
        ("m·s⁻²", 1, ACCELERATION),
        ("m s-2", 1, ACCELERATION),
        ("m/s/s", 1, ACCELERATION),
        ("gee", 9.80665, ACCELERATION),
        ("g0", 9.80665, ACCELERATION),
        ("kg", 1, MASS),
        ("g", 1e-3, MASS),
        ("lbm", 0.45359237, MASS),
        ("slug", 14.593902937206364, MASS),
        ("N", 1, FORCE),
        ("kN", 1e3, FORCE),
        ("lb", POUND_FORCE, FORCE),
        ("J", 1, ENERGY),
        ("W", 1, ENERGY / TIME),
        ("Pa", 1, FORCE / LENGTH**2),
        ("psi", 6894.757293168361, FORCE / LENGTH**2),
        ("kg-m2", 1, INERTIA),
        ("kg*m^2", 1, INERTIA),
        ("kg.m2", 1, INERTIA),
        ("in-lb-s2", 0.0254 * POUND_FORCE, INERTIA),  # Sayers (1990), Table 9.1.4
        ("in-lb/deg", 0.0254 * POUND_FORCE / DEGREE, MOMENT),
        ("N*m/rad", 1, MOMENT),
        ("N*m/(deg/s)", 1 / DEGREE, MOMENT * TIME),
        ("((N)*(m))", 1, MOMENT),
        ("1/s", 1, RATE),
        ("1000 kg", 1e3, MASS),
        ("m^(1/2)", 1, LENGTH**0.5),
        ("m^0.5", 1, LENGTH**0.5),
        ("Nm", 1, MOMENT),
        ("kNm/deg", 1e3 / DEGREE, MOMENT),
        ("newton*metre", 1, MOMENT),
        ("kilogram meter2", 1, INERTIA),
        ("metres/second^2", 1, ACCELERATION),
        ("degrees/second", DEGREE, RATE),
        ("degree", DEGREE, ONE),
        ("radians", 1, ONE),
        ("radian", 1, ONE),
        ("inch", 0.0254, LENGTH),
        ("inches", 0.0254, LENGTH),
        ("foot", 0.3048, LENGTH),
        ("feet/minute", 0.3048 / 60, SPEED),
        ("pounds/inch^2", 6894.757293168361, FORCE / LENGTH**2),
        ("pound", POUND_FORCE, FORCE),
    ],
)
def test_factor_and_dimension(text, scale, dimension):
    unit = parse_unit(text)
    assert unit.scale == pytest.approx(scale, rel=1e-15, abs=0)
    assert unit.dimension is dimension


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("lbs", "unknown unit 'lbs'; did you mean 'lb'"),
        ("N*mter/s", r"unknown unit 'mter' in 'N\*mter/s'; did you mean 'meter'"),
        ("degres", "did you mean 'degrees'"),
        ("Newton", "did you mean 'newton'"),
        ("KG", "did you mean 'kg'"),
        ("xgee", "unknown unit 'xgee'$"),  # no slip of the pen for gee
        ("m/", "a unit is missing at its end"),
        ("(m", "'\\)' is missing"),
        ("m)", "'\\)' is not expected"),
        ("m//s", "'/' stands where a unit should be"),
        ("N/m-s", "is ambiguous"),
        ("N/m s", "is ambiguous"),
        ("m^(1/0)", "divided by zero"),
        ("km^999999999", "beyond 24"),
        ("1e300 km^24", "beyond the range"),
        ("0", "beyond the range"),
        ("m$", r"'\$' is not expected"),
        ("(" * 100_000, "is missing"),
    ],
)
def test_bad_units_are_named(text, message):
    with pytest.raises(UnitsError, match=message):
        parse_unit(text)


def test_values_convert_to_si():
    assert to_si(90, "deg") == pytest.approx(math.pi / 2, rel=1e-15)
    np.testing.assert_allclose(to_si(np.array([1, 12]), parse_unit("in")), [0.0254, 0.3048], rtol=1e-15)


@pytest.mark.parametrize(
    ("dimension", "text"),
    [
        (ONE, "1"),
        (LENGTH, "m"),
        (SPEED, "m/s"),
        (RATE, "1/s"),
        (FORCE, "N"),
        (MOMENT, "N*m"),
        (INERTIA, "kg*m^2"),
        (FORCE / LENGTH, "N/m"),
        (FORCE / SPEED, "N*s/m"),
        (MOMENT * TIME, "N*m*s"),
        (FORCE / LENGTH**2, "Pa"),
        (MOMENT / TIME, "W"),
        (LENGTH / FORCE, "m/N"),
        (MASS / LENGTH**3, "kg/m^3"),
        (MOMENT / Dimension(0, 0, 0, 1), "N*m/A"),
        (LENGTH**0.5, "m^(1/2)"),
    ],
)
def test_customary_si_text(dimension, text):
    assert si_text(dimension) == text


@given(st.lists(st.fractions(-4, 4, max_denominator=4), min_size=5, max_size=5))
def test_si_text_reads_back(exponents: list[Fraction]):
    dimension = Dimension(*exponents)
    unit = parse_unit(si_text(dimension))
    assert unit.dimension is dimension
    assert unit.scale == 1


class TestPint:
    def test_quantities_come_in_si(self):
        registry = unit_registry()
        value, dimension = magnitude_in_si(registry.Quantity(2.0, "lbf"))
        assert value == pytest.approx(2 * POUND_FORCE, rel=1e-12)  # Pint goes by way of its own constants
        assert dimension is FORCE
        value, dimension = magnitude_in_si(registry.Quantity([90.0, 180.0], "deg/s"))
        np.testing.assert_allclose(value, [math.pi / 2, math.pi], rtol=1e-14)
        assert dimension is RATE
        assert magnitude_in_si(registry.Quantity(3.0, "dimensionless")) == (3.0, ONE)

    def test_a_registry_with_another_base_system_works(self):
        pint = pytest.importorskip("pint")
        registry = pint.UnitRegistry(system="cgs")
        value, dimension = magnitude_in_si(registry.Quantity(2.0, "N*m"))
        assert value == pytest.approx(2, rel=1e-12)
        assert dimension is MOMENT

    def test_a_pound_of_pint_is_one_of_mass(self):
        pint = pytest.importorskip("pint")
        registry = pint.UnitRegistry(system="imperial")  # whose base units are yard, pound and second
        value, dimension = magnitude_in_si(registry.Quantity(2.0, "kg"))
        assert value == pytest.approx(2, rel=1e-12)
        assert dimension is MASS

    def test_plain_numbers_are_not_quantities(self):
        assert not is_quantity(3.0)
        assert not is_quantity(np.ones(3))
        with pytest.raises(UnitsError, match="no magnitude"):
            magnitude_in_si(3.0)


@pytest.mark.parametrize("text", ["N/m s", "N/m*s kg", "N/m/s kg", "N/m*s-kg"])
def test_a_space_or_dash_anywhere_after_a_slash_is_read_both_ways_and_refused(text: str) -> None:
    with pytest.raises(UnitsError, match=r"after a slash is ambiguous"):
        parse_unit(text)


@pytest.mark.parametrize("text", ["m^" + "9" * 5000, "kg^(1/" + "7" * 5000 + ")", "s" + "2" * 5000])
def test_a_power_of_thousands_of_digits_is_refused(text: str):
    with pytest.raises(UnitsError, match="more than 100 characters"):
        parse_unit(text)
