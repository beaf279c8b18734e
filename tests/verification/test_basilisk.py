"""Basilisk's hub with hinged panels, with and without gravity: its own trajectories and what it conserves.

The trajectories are Basilisk 2.12.1's, by its RK4 with these steps. It carries the attitude as modified
Rodrigues parameters where we have Euler parameters, so runs with the same step may differ by the truncation
of both: the tolerances are the differences that Basilisk has from an independent solution of 13 digits. What
is found is far less, since both programs add nearly the same numbers and so round alike.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import armillary as arm
from armillary.verification.cases.spacecraft import panel_accelerations, with_gravity
from examples.basilisk_panels import ARRAYS, FREE_FLIGHT, system
from tests.verification.common import (
    ACCELERATIONS,
    TIGHT,
    TRAJECTORIES,
    WAYS,
    assert_near,
    assert_same,
    reference,
)

REFERENCE = reference("basilisk")
_BASILISK = {"no gravity": None, "gravity": "mass centre"}
# Rounding of positions of 1e7 m and of velocities of 1e4 m/s over ten thousand steps; the rest of O(1).
ROUNDING = {"no gravity": {"r_BN_N": 1e-12, "v_BN_N": 1e-12}, "gravity": {"r_BN_N": 1e-7, "v_BN_N": 1e-9}}


@cache
def compiled(case: str, formalism: str = "auto") -> Any:
    """Basilisk's vehicle in free space or on its orbit."""
    return system(_BASILISK[case]).derive(formalism).compile()


@pytest.mark.parametrize("case", _BASILISK)
@pytest.mark.parametrize("seconds", [1, 10])
def test_trajectory_with_the_same_steps(case: str, seconds: int) -> None:
    record = REFERENCE["trajectories"][f"{case.replace(' ', '_')} {seconds} s"]
    run = compiled(case).simulate(float(seconds), step=record["step"], sample=np.array(record["t"]))
    columns = {
        "r_BN_N": [f"hub.q{i}" for i in (1, 2, 3)],
        "v_BN_N": [f"hub.u{i}" for i in (1, 2, 3)],
        "omega_BN_B": [f"hub.u{i}" for i in (4, 5, 6)],
        "sigma_BN": [f"hub mrp {i}" for i in (1, 2, 3)],
        "theta": [f"panel{i}.q1" for i in range(1, 8)],
        "theta_dot": [f"panel{i}.u1" for i in range(1, 8)],
    }
    for name, own in columns.items():
        tolerance = max(2 * record["difference"][name], ROUNDING[case].get(name, 2e-13))
        found = np.column_stack([run[column] for column in own])
        assert_near(found, record[name], tolerance, f"{case}, {seconds} s, {name}")


@pytest.mark.parametrize("case", _BASILISK)
@pytest.mark.parametrize("formalism", ["kane", "recursive"])
def test_energy_and_angular_momentum_of_orbit_and_rotation_are_kept(case: str, formalism: str) -> None:
    """Basilisk's own test asks for 1e-10 of each, from the first sample to the last."""
    run = compiled(case, formalism).simulate(10.0, step=1e-3, sample=0.1)
    first = REFERENCE["trajectories"][f"{case.replace(' ', '_')} 10 s"]["first"]
    for name, column in (("tot_rot_energy", "rotational energy"), ("tot_orb_energy", "orbital energy")):
        assert_same(run[column][0], first[name], 1e-13, f"{case}, {column} at the start")
        assert_near(run[column] / first[name], 1.0, 1e-12, f"{case}, drift of {column}")
    for name, word in (("tot_rot_ang_mom_C_N", "rotational"), ("tot_orb_ang_mom_N", "orbital")):
        found = np.column_stack([run[f"{word} h{axis}"] for axis in "xyz"])
        size = np.linalg.norm(first[name])
        assert_near(found[0] / size, np.array(first[name]) / size, 1e-13, f"{case}, {word} h at the start")
        assert_near(found / size, found[0] / size, 1e-12, f"{case}, drift of {word} h")


def vehicle(mass: list[Any], d: list[Any], rest: list[Any]) -> arm.System:
    """The same vehicle with panels of any kind."""
    s = arm.System("unequal panels")
    hub = s.body("hub", joint=arm.Free(), mass=750.0, inertia=(900.0, 800.0, 600.0))
    first = 1
    for n, at, orient in ARRAYS:
        own = slice(first - 1, first - 1 + n)
        arm.panels(
            s, hub, n, at=at, orient=orient, along=(-1, 0, 0), length=[2 * x for x in d[own]], com=d[own],
            mass=mass[own], inertia=(50.0, 25.0, 25.0), stiffness="k", damping="c", rest=rest[own],
            first=first,
        )  # fmt: skip
        first += n
    return s


@pytest.mark.parametrize("case", ["unequal mass", "unequal d"])
def test_panels_that_differ(case: str) -> None:
    """What Basilisk refuses, against the independent tree."""
    record = REFERENCE["unequal"][case]
    s = vehicle(record["mass"], record["d"], [0] * 7)
    s.start({"panel1.q1": np.radians(5.0), "hub.u4": 0.1, "hub.u5": -0.1, "hub.u6": 0.1})
    s.start_mass_centre("hub", **FREE_FLIGHT)
    run = s.derive().compile().simulate(5.0, parameters={"k": 500.0, "c": 0.0}, **TIGHT)
    found = [run.final[f"panel{i}.q1"] for i in range(1, 8)]
    assert_near(found, record["theta_at_5s"], TRAJECTORIES, f"{case}, angles")
    rates = [run.final[f"panel{i}.u1"] for i in range(1, 8)]
    assert_near(rates, record["theta_dot_at_5s"], TRAJECTORIES, f"{case}, rates")
    spin = [run.final[f"hub.u{i}"] for i in (4, 5, 6)]
    assert_near(spin, record["omega_at_5s"], TRAJECTORIES, f"{case}, spin")


@WAYS
def test_accelerations_of_panels_in_one_line(formalism: str, regroup: bool) -> None:
    """The states of the case `hub_and_panels`, for the same vehicle described by `arm.panels`."""
    s = with_gravity(vehicle([50.0] * 7, [0.75] * 7, [f"rest{i}" for i in range(1, 8)]))
    (difference,) = panel_accelerations(s.derive(formalism, regroup=regroup).compile())
    assert difference <= ACCELERATIONS
