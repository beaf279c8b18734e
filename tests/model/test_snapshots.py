"""Copies of a description have its tables, and are apart from it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import armillary as arm
from armillary.model.snapshot import changeable, snapshot


def described() -> arm.System:
    s = arm.System("cart")
    s.parameter("m", 2.0, units="kg")
    cart = s.body("cart", joint=arm.Prismatic("x"), mass="m", inertia=0)
    s.body("pole", cart, arm.Revolute("y"), com=(0, 0, 0.5), mass=1.0, inertia=(0.1, 0.1, 0))
    s.gravity(9.81, -s.ground.z)
    s.output("tip", arm.dot(arm.position(s.bodies["pole"].com), s.ground.z), units="m")
    return s


@pytest.mark.parametrize("copied", [snapshot, changeable])
def test_tables_of_a_copy_are_of_the_same_kinds_and_its_own(copied: Callable[..., arm.System]) -> None:
    """Those that name what is missing do so in a copy, too."""
    s = described()
    taken = copied(s)
    tables = {name: value for name, value in vars(s).items() if isinstance(value, dict) and value}
    assert {"bodies", "parameters"} <= set(tables)
    for name, table in tables.items():
        own = vars(taken)[name]
        assert type(own) is type(table) and own is not table and list(map(str, own)) == list(map(str, table))
    for system in (s, taken):
        with pytest.raises(arm.ArmillaryError, match="there is no body 'poles'; did you mean 'pole'"):
            system.bodies["poles"]
    assert taken.bodies["pole"] is not s.bodies["pole"]
    assert taken.bodies["pole"].parent is taken.bodies["cart"]


def test_later_verbs_reach_neither_equations_nor_copies() -> None:
    s = described()
    equations, taken = s.derive(), changeable(s)
    s.body("other", joint=arm.Prismatic("y"), mass=1.0, inertia=0)
    taken.body("third", joint=arm.Prismatic("z"), mass=1.0, inertia=0)
    assert [*equations.system.bodies] == ["cart", "pole"]
    assert [*taken.bodies] == ["cart", "pole", "third"] and [*s.bodies] == ["cart", "pole", "other"]
    with pytest.raises(arm.ArmillaryError):
        equations.system.body("fourth", joint=arm.Prismatic("z"), mass=1.0, inertia=0)
