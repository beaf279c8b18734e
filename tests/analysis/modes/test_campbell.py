"""Whirl frequencies and critical speeds of rotors in closed form.

Source: Genta (2005), "Dynamics of Rotating Systems", sections 2.2 (Jeffcott's rotor) and 2.6 (a rotor that
tilts).
"""

from __future__ import annotations

from functools import cache
from math import pi, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import armillary as arm


@cache
def jeffcott() -> Any:
    """A disc on a massless shaft: 2 kg on springs of 8 kN/m along x and ky along y, spinning about z."""
    s = arm.System("Jeffcott rotor")
    s.parameter("kx", 8000.0, units="N/m")
    s.parameter("ky", 8000.0, units="N/m")
    s.parameter("hard", 0.0, units="N/m3")
    s.parameter("load", 0.0, units="N")
    across = s.body("across", joint=arm.Joint(translate="xy"), mass=0, inertia=0)
    s.body("rotor", across, arm.Revolute("z"), mass=2.0, inertia=(0.01, 0.01, 0.02))
    s.force("shaft_x", "load - (kx + hard*across.q1**2)*across.q1", s.ground.x, at=across.origin)
    s.force("shaft_y", "-ky*across.q2", s.ground.y, at=across.origin)
    return s.derive().compile()


@cache
def tilting() -> Any:
    """A rotor on a fixed point, upright by springs of 50 Nm/rad: transverse inertia 2, polar 1 kg m²."""
    s = arm.System("tilting rotor")
    s.parameter("Jp", 1.0, units="kg*m2")
    frame = s.body("frame", joint=arm.Gimbal("xy"), mass=0, inertia=0)
    s.body("rotor", frame, arm.Revolute("z"), mass=0, inertia=(2.0, 2.0, "Jp"))
    s.moment("spring_x", "-50*frame.q1", s.ground.x, on=frame)
    s.moment("spring_y", "-50*frame.q2", frame.y, on=frame)
    return s.derive().compile()


def test_the_jeffcott_rotor_whirls_at_the_frequency_of_its_shaft() -> None:
    diagram = arm.campbell(jeffcott(), "rotor.u1", [20.0, 40.0, 80.0, 120.0])
    omega = sqrt(8000 / 2)
    assert np.allclose(diagram.frequencies, omega / (2 * pi), rtol=1e-13)
    assert [c.spin for c in diagram.critical_speeds] == pytest.approx([omega, omega], rel=1e-13)
    uneven = arm.campbell(jeffcott(), "rotor.u1", [20.0, 120.0], parameters={"ky": 4500.0}, orders=(1, 2))
    expected = sorted((sqrt(k / 2) / order, order) for k in (4500.0, 8000.0) for order in (1, 2))
    assert [(c.spin, c.order) for c in uneven.critical_speeds] == [
        (pytest.approx(spin, rel=1e-12), order) for spin, order in expected
    ]
    assert not uneven.whirl.any()  # along straight lines


def test_a_loaded_shaft_that_hardens_whirls_by_its_stiffness_where_it_rests() -> None:
    """1100 N = 8 kN/m · 0.1 m + 3e5 N/m³ · (0.1 m)³: the slope there is 8000 + 9000 N/m."""
    loaded = {"load": 1100.0, "hard": 3e5}
    wanted = [pytest.approx(sqrt(k / 2), rel=1e-9) for k in (8000.0, 17000.0)]
    for how in ({"trim": {}}, {"at": {"across.q1": 0.1}}):
        diagram = arm.campbell(jeffcott(), "rotor.u1", [20.0, 120.0], parameters=loaded, **how)
        assert [c.spin for c in diagram.critical_speeds] == wanted


def test_a_tilting_rotor_has_forward_and_backward_whirl() -> None:
    """J_t ω² ∓ J_p Ω ω − k = 0; with ω = Ω: Ω² = k/(J_t − J_p) forward and k/(J_t + J_p) backward."""
    spins = np.linspace(0.0, 12.0, 7)
    diagram = arm.campbell(tilting(), "rotor.u1", spins)
    shift = spins / 4
    backward, forward = (sign * shift + np.sqrt(shift**2 + 25.0) for sign in (-1, 1))
    assert np.allclose(np.sort(diagram.frequencies, axis=1), np.column_stack([backward, forward]) / (2 * pi))
    first, second = diagram.critical_speeds
    assert first.spin == pytest.approx(sqrt(50 / 3), rel=1e-12) and first.omega == pytest.approx(first.spin)
    assert second.spin == pytest.approx(sqrt(50), rel=1e-12)
    assert np.all(diagram.whirl[1:, second.branch] == 1) and np.all(diagram.whirl[1:, first.branch] == -1)
    reverse = arm.campbell(tilting(), "rotor.u1", -spins[1:])
    assert sorted(c.spin for c in reverse.critical_speeds) == pytest.approx([-second.spin, -first.spin])
    assert np.array_equal(np.sort(reverse.whirl, axis=1), np.tile([-1, 1], (6, 1)))
    flat = arm.campbell(tilting(), "rotor.u1", spins, parameters={"Jp": 3.0})
    assert len(flat.critical_speeds) == 1  # a flat disc has no forward critical speed


def test_spins_may_be_parameters_in_other_units() -> None:
    s = arm.System("driven rotor")
    s.parameter("n", 0.0, units="rpm")
    frame = s.body("frame", joint=arm.Gimbal("xy"), mass=0, inertia=0)
    rotor = s.body("rotor", frame, arm.Revolute("z"), mass=0, inertia=(2.0, 2.0, 1.0))
    s.prescribe(rotor.u1, "n")
    s.moment("spring_x", "-50*frame.q1", s.ground.x, on=frame)
    s.moment("spring_y", "-50*frame.q2", frame.y, on=frame)
    diagram = arm.campbell(s.derive().compile(), "n", [10.0, 100.0])
    rpm = 2 * pi / 60
    assert [c.spin * rpm for c in diagram.critical_speeds] == pytest.approx([sqrt(50 / 3), sqrt(50)])
    assert diagram.units == "rpm" and [c.omega for c in diagram.critical_speeds] == pytest.approx(
        [sqrt(50 / 3), sqrt(50)]
    )


def test_diagrams_are_kept_in_files_and_shown(tmp_path: Path) -> None:
    diagram = arm.campbell(tilting(), "rotor.u1", np.linspace(0.0, 12.0, 7), orders=(1, 2))
    diagram.save(tmp_path / "campbell.json")
    again = arm.Campbell.load(tmp_path / "campbell.json")
    assert str(again) == str(diagram) and "7.0710678" in str(diagram) and "forward" in str(diagram)
    assert again.critical_speeds == diagram.critical_speeds and "<table>" in diagram._repr_html_()
    (ax,) = diagram.plot(path=tmp_path / "campbell.svg").axes
    assert ax.get_xlabel() == "rotor.u1 (rad/s)" and len(ax.lines) == 4 + len(diagram.critical_speeds)
    with pytest.raises(arm.ArmillaryError, match="an order must be a number"):
        arm.campbell(tilting(), "rotor.u1", [0, 1], orders=("first",))
