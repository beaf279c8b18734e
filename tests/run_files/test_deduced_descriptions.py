"""What parameters mean where nobody said it, after Sayers (1990), Table 9.1.1; and unit systems."""

from __future__ import annotations

import numpy as np
import pytest

import armillary as arm
from armillary.algebra.units import ENERGY, FORCE, INERTIA, LENGTH, MASS, MOMENT, SPEED, parse_unit
from armillary.model.parameter_meanings import parameter_descriptions, parameter_units
from armillary.model.units import SYSTEMS
from examples import car


def test_the_car_of_table_9_1_1(monkeypatch: pytest.MonkeyPatch) -> None:
    """The published table names the same places; its units are with angles, ours without."""
    monkeypatch.setattr(car, "PARAMETERS", {})
    system = car.system()
    found, units = parameter_descriptions(system), parameter_units(system)
    expected = {
        "CA1": ("lb", "coefficient in force FY1"),
        "CAM2": ("in*lb", "coefficient in moment MZ2"),
        "CE": ("in", "x coordinate of the mass centre of body RB"),
        "H": ("in", "negative z coordinate of the mass centre of body RB"),
        "CROLL": ("in*lb*s", "damping in moment ROLLM"),
        "KROLL": ("in*lb", "stiffness in moment ROLLM"),
        "IXX": ("in*lb*s^2", "moment of inertia of body RB about its x axis"),
        "IXZ": ("in*lb*s^2", "product of inertia of body RB for its x and z axes"),
        "L": ("in", "x coordinate of point NRB.front"),
        "SPEED": ("in/s", "prescribed speed NRB.u1"),
        "THETAR": ("", "angle in orientation of body RB"),
        "RBW": ("lb", "factor in mass of body RB"),
        "GEES": ("in/s^2", "acceleration of gravity"),
    }
    assert {name: (units[name], found[name]) for name in expected} == expected
    # As published: the units of two coefficients that only occur as a product cannot be told.
    assert (units["CG1"], units["CCOEF1"]) == ("", "")


def test_springs_dampers_and_what_was_stated() -> None:
    s = arm.System("x")
    s.parameter("c", units="N*s/m", about="as the analyst says")
    A = s.body("A", joint=arm.Prismatic("x"), at=(0, 0, "-h"), mass="m", inertia=0)
    B = s.body("B", A, arm.Revolute("z"))
    s.strut("S", "-k*(x - x0) - c*v", between=(s.ground.origin, A.origin))
    s.moment("M", "-kt*(B.q1 - qt) - ct*B.u1 + tau*sin(w*t)/d", A.z, on=B)
    s.event("hit", "A.q1 - wall")
    s.output("o", "scale*A.q1")
    assert parameter_descriptions(s) == {
        "c": "as the analyst says",
        "h": "negative z coordinate of the joint of body A in ground",
        "m": "mass of body A",
        "B.mass": "mass of B",
        "B.I11": "moment of inertia of B about its own x",
        "B.I22": "moment of inertia of B about its own y",
        "B.I33": "moment of inertia of B about its own z",
        "k": "stiffness in strut S",
        "x0": "free length in strut S",
        "kt": "stiffness in moment M",
        "qt": "reference of B.q1 in moment M",
        "ct": "damping in moment M",
        "tau": "coefficient in moment M",
        "w": "coefficient in moment M",
        "d": "divisor in moment M",
        "wall": "reference of A.q1 in condition of event hit",
        "scale": "coefficient in output o",
    }


@pytest.mark.parametrize("name", SYSTEMS)
def test_the_units_of_a_system_are_consistent(name: str) -> None:
    """Its own units need no conversion: labels and factors agree."""
    system = SYSTEMS[name]
    for dimension in (MASS, LENGTH, SPEED, FORCE, MOMENT, INERTIA, ENERGY, FORCE / LENGTH, FORCE / SPEED):
        assert system.factor(parse_unit(system.unit_text(dimension))) == pytest.approx(1.0, rel=1e-14)


@pytest.mark.parametrize(
    ("name", "texts"),
    [
        ("SI", "kg m N N*m kg*m^2 N/m kg/m^3 m^2 Pa kg^2 1/s^2"),
        ("in-lb-s", "lb*s^2/in in lb in*lb in*lb*s^2 lb/in lb*s^2/in^4 in^2 lb/in^2 lb^2*s^4/in^2 1/s^2"),
        ("mm-kg-s", "kg mm mN mN*mm kg*mm^2 mN/mm kg/mm^3 mm^2 mN/mm^2 kg^2 1/s^2"),
        ("mm-t-s", "t mm N N*mm t*mm^2 N/mm t/mm^3 mm^2 N/mm^2 t^2 1/s^2"),
        ("cm-g-s", "g cm g*cm/s^2 g*cm^2/s^2 g*cm^2 g/s^2 g/cm^3 cm^2 g/cm/s^2 g^2 1/s^2"),
    ],
)
def test_units_are_written_as_engineers_do(name: str, texts: str) -> None:
    """Pounds, newtons and millinewtons stand for mass times acceleration; the power 1 is not written."""
    derived = (FORCE / LENGTH, MASS / LENGTH**3, LENGTH**2, FORCE / LENGTH**2, MASS**2, (SPEED / LENGTH) ** 2)
    dimensions = (MASS, LENGTH, FORCE, MOMENT, INERTIA, *derived)
    assert [SYSTEMS[name].unit_text(dimension) for dimension in dimensions] == texts.split()


def test_millimetres_and_tonnes_fall_as_metres_and_kilograms_do() -> None:
    """A swinging rod of 2 kg and 0.6 m on a spring of 40 N/m in two systems of units."""

    def run(units: str, *, mass: float, length: float, stiffness: float, gravity: float) -> arm.Run:
        s = arm.System("rod", units=units)
        rod = s.body("rod", joint=arm.Revolute("z"), com=(0, -length / 2, 0), mass=mass, inertia=0)
        tip = rod.point("tip", (0, -length, 0))
        s.strut("spring", f"-{stiffness!r}*x", between=(s.ground.point("wall", (length, 0, 0)), tip))
        s.gravity(gravity, -s.ground.y)
        s.output("force", "spring", units="N")
        return s.derive().compile().simulate(0.5, step=1e-3, initial={"rod.q1": 0.4})

    si = run("SI", mass=2.0, length=0.6, stiffness=40.0, gravity=9.81)
    mm = run("mm-t-s", mass=0.002, length=600.0, stiffness=0.04, gravity=9810.0)
    np.testing.assert_allclose(mm["rod.q1"], si["rod.q1"], rtol=1e-10)
    np.testing.assert_allclose(mm["force"], si["force"], rtol=1e-10)
    assert (si.units["spring"], mm.units["spring"]) == ("N", "N")


def test_degrees_at_the_border_of_events_and_momenta() -> None:
    """One motion in radians and degrees: an event that locks, momenta, a start that the model gives."""

    def system(units: str) -> arm.System:
        s = arm.System("bars", units=units)
        A = s.body("A", joint=arm.Revolute("z"), com=(0.5, 0, 0), mass=1.0, inertia=(0.1, 0.1, 0.1))
        B = s.body(
            "B", A, arm.Revolute("z"), at=(1, 0, 0), com=(0.5, 0, 0), mass=1.0, inertia=(0.1, 0.1, 0.1)
        )
        s.gravity(9.81, -s.ground.y)
        s.event("latch", "B.q1 - 0.9", direction=0, lock=B.q1)
        s.start({"A.q1": 30 if units.endswith("deg") else np.pi / 6})
        return s

    for formalism in ("kane", "momentum"):
        runs = [
            system(units).derive(formalism).compile().simulate(1.0, step=1e-3, initial={"B.q1": angle})
            for units, angle in (("SI", np.pi / 9), ("SI-deg", 20.0))
        ]
        assert [e.name for e in runs[0].events] == [e.name for e in runs[1].events] == ["latch"]
        for name in ("A.q1", "B.q1", "A.u1", "B.u1"):
            np.testing.assert_allclose(runs[1][name], np.degrees(runs[0][name]), rtol=1e-9, atol=1e-9)


def test_a_parameter_of_a_constraint_between_coordinates_is_described():
    s = arm.System("ring")
    x = s.body("x", joint=arm.Prismatic("x"), mass=0.5, inertia=0)
    s.body("y", x, arm.Prismatic("y"), mass=1.0, inertia=0)
    s.parameter("R", 1.0, units="m")
    s.constrain("x.q1**2 + y.q1**2 - R**2", name="ring")
    assert "constraint ring" in parameter_descriptions(s)["R"]


def test_units_of_parameters_in_rates_of_states() -> None:
    s = arm.System("lag")
    s.body("A", joint=arm.Prismatic("x"), mass=1, inertia=0)
    s.state("x", "(A.q1 - x)/T", units="m")
    assert parameter_units(s)["T"] == "s"
