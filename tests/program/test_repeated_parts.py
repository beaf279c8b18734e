"""Parts that a section repeats are packs, and motion that turns no constraint is left out of its rows."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import armillary as arm
from armillary.algebra.arguments import core_of
from armillary.program.branch_packs import strip_lets
from armillary.program.checker import check_section
from armillary.program.packs import pack_section
from armillary.program.repeated_parts import repeated_packs

LANES = 4


def curve(load: arm.Expr, slip: arm.Expr) -> arm.Expr:
    """A tyre's force, with the curve of the Magic Formula."""
    stiff = 9.0 + 2.0 * load
    inner = stiff * slip
    bent = inner - 0.3 * (1 + 0.1 * load * load) * (inner - arm.atan(inner))
    return load * (1.1 - 0.05 * load) * arm.sin(1.4 * arm.atan(bent)) * arm.exp(-0.2 * slip * slip)


def sledge() -> arm.System:
    """Four forces of one law, whose loads and slips differ in form from corner to corner."""
    s = arm.System("sledge")
    newton, second = s.parameter("newton", 1.0, units="N"), s.parameter("second", 1.0, units="s/m")
    metre = s.parameter("metre", 1.0, units="m")
    body = s.body("body", joint=arm.Planar("z"), mass=2.0, inertia=(1, 1, 1))
    x, y, turn = second * body.u1, second * body.u2, second * metre * body.u3
    corners = (
        (1.0 + 0.1 * x * y, y + 0.5 * turn),
        (1.2 - body.q1 / metre, x * arm.cos(body.q3) + turn),
        (arm.sin(body.q3) + 2.0, y - x),
        (1.5 + y * y * y, y * y - 0.1 * turn * x),
    )
    for k, (load, slip) in enumerate(corners):
        force = newton * curve(load, slip)
        s.force(f"side_{k}", -force, body.y, at=body.point((0.3 * k - 0.5, 0.2 * k, 0)))
    return s


def test_laws_with_other_inputs_are_lanes_of_packs() -> None:
    program = core_of(sledge().derive()).program
    section = program.derivatives
    calls = [n for n in section.nodes if n.kind == "call" and n.data in ("atan", "exp")]
    assert len(calls) == 3 * LANES
    packs = repeated_packs(section.nodes, LANES, (), lambda found: found)
    widest = [pack for pack in packs if len(pack.lanes) == LANES]
    found = Counter(n.data if n.kind == "call" else n.kind for n in (pack.lanes[0] for pack in widest))
    assert (found["atan"], found["sin"], found["exp"]) == (2, 1, 1)
    assert found["sum"] >= 5 and found["product"] >= 8  # packs grow from the calls over the whole law
    for pack in packs:
        for column in pack.operands:  # every operand of every lane, once
            assert len(column) == len(pack.lanes)
        for k, node in enumerate(pack.lanes):
            assert sorted(map(id, map(strip_lets, node.args))) == sorted(id(c[k]) for c in pack.operands)
    packed = pack_section(section, (), {}, width=LANES)
    assert packed.packs
    given = {*program.state, *program.constants, *program.memory, program.time}
    check_section(packed, given)


@pytest.mark.optimised
def test_packs_of_repeated_parts_change_nothing_but_rounding() -> None:
    equations = sledge().derive()
    state = np.array([0.1, 0.2, 0.3, 0.7, -0.4, 0.5])
    fast, slow = equations.compile(), equations.compile(tier="quick")
    assert np.allclose(fast.derivatives(0.0, state), slow.derivatives(0.0, state), rtol=1e-13, atol=1e-15)


def carried_loop() -> arm.System:
    """A four-bar in a carriage that flies, with a wheel that spins."""
    s = arm.System("carried loop")
    bar = {"com": (0.5, 0, 0), "mass": 1, "inertia": (0.1, 0.1, 0.1)}
    base = s.body("base", joint=arm.Free(rotation="zyx", velocity="body"), mass=5, inertia=(1, 2, 3))
    crank = s.body("crank", base, joint=arm.Revolute("z"), **bar)
    rod = s.body("rod", crank, at=(1, 0, 0), joint=arm.Revolute("z"), **bar)
    rocker = s.body("rocker", base, at=(2, 0, 0), joint=arm.Revolute("z"), **bar)
    s.body("wheel", base, at=(0, 1, 0), joint=arm.Revolute("y"), mass=1, inertia=(0.1, 0.2, 0.1))
    s.close_loop(rod.point((1.2, 0, 0)), rocker.point((1.3, 0, 0)), [base.x, base.y], name="pin")
    s.gravity(9.81, -s.ground.y)
    s.start({"crank.q1": 1.2, "crank.u1": 2.0, "base.u6": 0.7, "wheel.u1": 900.0})
    return s


def test_rows_of_a_loop_hold_no_speed_of_what_carries_it() -> None:
    equations = core_of(carried_loop().derive())
    names = [u.data.name for u in equations.system.speeds]
    held = {names[j] for row in equations.reduction.rows for j in row.coefficients}
    assert held == {"crank.u1", "rod.u1", "rocker.u1"}
    turned = dict(zip((*equations.coordinates, *equations.speeds), equations.turns_rows, strict=True))
    assert {name.partition(".")[0] for name, there in turned.items() if there} == {"crank", "rod", "rocker"}


def test_a_wheel_that_spins_costs_a_loop_no_evaluations() -> None:
    """Its angle, ahead by a radian in each step, is no distance to a place where the loop loses rank."""
    run = carried_loop().derive().compile().simulate(0.15, step=1e-3, method="ab2")
    assert run.info["evaluations"] < 1.1 * run.info["steps"]
