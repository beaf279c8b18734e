"""Units of tyre files: each name that a file may give, by its definition in SI."""

from __future__ import annotations

import math
import re
from contextlib import nullcontext
from pathlib import Path

import pytest

import armillary as arm
import armillary.vehicles as veh
from armillary.vehicles.tyres import tir

MADE_UP = Path(__file__).parent / "data" / "made_up_61.tir"
# Definitions: inch and pound of 1959, standard gravity of 1901.
UNITS = {
    "LENGTH": {
        **dict.fromkeys(("meter", "metre", "m"), 1.0),
        **dict.fromkeys(("millimeter", "mm"), 1e-3),
        **dict.fromkeys(("centimeter", "cm"), 1e-2),
        **dict.fromkeys(("kilometer", "km"), 1e3),
        **dict.fromkeys(("inch", "in"), 0.0254),
        **dict.fromkeys(("foot", "feet", "ft"), 12 * 0.0254),
    },
    "FORCE": {
        **dict.fromkeys(("newton", "n"), 1.0),
        **dict.fromkeys(("kilonewton", "knewton", "kn"), 1e3),
        **dict.fromkeys(("pound_force", "lbf"), 0.45359237 * 9.80665),
        **dict.fromkeys(("kg_force", "kilogram_force", "kgf"), 9.80665),
    },
    "PRESSURE": {
        **dict.fromkeys(("pascal", "pa"), 1.0),
        **dict.fromkeys(("kpascal", "kpa", "kilopascal"), 1e3),
        **{"mpa": 1e6, "bar": 1e5, "psi": 0.45359237 * 9.80665 / 0.0254**2},
    },
}


def test_all_units_have_their_definitions() -> None:
    """Also those of quantities in which the made-up tyre has no values; a slug is lbf s²/ft."""
    pound = 0.45359237
    others = {
        "ANGLE": {
            **dict.fromkeys(("radian", "radians", "rad"), 1.0),
            **dict.fromkeys(("degree", "degrees", "deg"), math.radians(1)),
        },
        "MASS": {
            **{"kg": 1.0, "kilogram": 1.0, "gram": 1e-3, "g": 1e-3, "tonne": 1e3, "megagram": 1e3},
            **{"pound_mass": pound, "lbm": pound, "slug": pound * 9.80665 / (12 * 0.0254)},
        },
        "TIME": {
            **dict.fromkeys(("second", "sec", "s"), 1.0),
            **{"millisecond": 1e-3, "ms": 1e-3, "minute": 60.0, "min": 60.0, "hour": 3600.0},
        },
    }
    expected = UNITS | others
    assert set(tir.UNITS) == set(expected)
    for quantity, units in tir.UNITS.items():
        assert units == pytest.approx(expected[quantity], rel=1e-12), quantity


@pytest.mark.parametrize("quantity", UNITS)
def test_values_are_in_si_whatever_the_units_of_the_file_are(quantity: str, tmp_path: Path) -> None:
    """The same tyre in each unit; units of other things, here of temperatures, are not read."""
    text = MADE_UP.read_text(encoding="utf-8")
    first = {"LENGTH": "'meter'", "FORCE": "'newton'", "PRESSURE": "'pascal'"}[quantity]
    text = text.replace("TIME = 'second'", "TIME = 'second'\nPRESSURE = 'pascal'\nTEMPERATURE = 'celsius'")
    names = {
        "LENGTH": ("UNLOADED_RADIUS", "LONGVL"),
        "FORCE": ("FNOMIN",),
        "PRESSURE": ("NOMPRES", "INFLPRES"),
    }[quantity]
    own = {}
    for line in text.splitlines():
        name, _, value = (part.strip() for part in line.partition("="))
        if name in names:
            own[name] = float(value)
    sound = veh.read_tir(MADE_UP).values
    assert set(own) == set(names)
    for unit, factor in UNITS[quantity].items():
        changed = text.replace(f"{quantity} = {first}", f"{quantity} = '{unit.upper()}'")
        for name, value in own.items():
            changed = _with_value(changed, name, value / factor)
        path = tmp_path / f"{unit}.tir"
        path.write_text(changed, encoding="utf-8")
        found = veh.read_tir(path).values
        for name in names:
            assert found[name] == pytest.approx(sound[name], rel=1e-12), (unit, name)


def _with_value(text: str, name: str, value: float) -> str:
    given = [line.partition("=")[0].strip() for line in text.splitlines()]
    lines = zip(given, text.splitlines(), strict=True)
    return "\n".join(f"{name} = {value!r}" if own == name else line for own, line in lines)


# From scooters to excavators: the least and the most that is read, and what is less and more.
PLAUSIBLE = {
    "UNLOADED_RADIUS": ((0.04, 2.9), (0.02, 3.1)),
    "WIDTH": ((0.02, 2.9), (0.005, 3.1)),
    "FNOMIN": ((6.0, 0.9e7), (4.0, 1.1e7)),
    "VERTICAL_STIFFNESS": ((1.1e3, 0.9e8), (0.9e3, 1.1e8)),
    "LONGVL": ((0.2, 290.0), (0.05, 310.0)),
    "NOMPRES": ((1.1e3, 0.9e7), (0.9e3, 1.1e7)),
    "INFLPRES": ((1.1e3, 0.9e7), (0.9e3, 1.1e7)),
    "ALPMAX": ((-3.9, 3.9), (-4.1, 4.1)),
    "CAMMAX": ((-3.9, 3.9), (-4.1, 4.1)),
}


@pytest.mark.parametrize("name", PLAUSIBLE)
def test_values_that_no_tyre_has_are_of_other_units(name: str, tmp_path: Path) -> None:
    assert set(tir.PLAUSIBLE) == set(PLAUSIBLE)
    text = re.sub(rf"(?m)^{name}\b.*\n", "", MADE_UP.read_text(encoding="utf-8"))
    for refused, values in zip((False, True), PLAUSIBLE[name], strict=True):
        for value in values:
            path = tmp_path / "tyre.tir"
            path.write_text(f"{text}\n[OTHER]\n{name} = {value!r}\n", encoding="utf-8")
            with pytest.raises(arm.ModelError) if refused else nullcontext() as caught:
                veh.read_tir(path)
            assert caught is None or f"{name} would be {value:g} in SI units" in str(caught.value)
