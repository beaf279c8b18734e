"""FMUs that cannot go on: what they say where a run in the process would change its equations or end."""

from __future__ import annotations

from pathlib import Path

import pytest

import armillary as arm
from tests.export.fmi.fmu_models import need_compiler
from tests.export.fmi.host import FailedCall, simulate_fmu


def ended(
    path: Path, duration: float, kind: str = "CoSimulation", start: dict[str, float] | None = None
) -> str:
    """The last message of an FMU that fails."""
    said: list[str] = []
    with pytest.raises(FailedCall):
        simulate_fmu(
            path, fmi_type=kind, stop_time=duration, output_interval=0.01, output=["time"],
            logger=said.append, start_values=start or {},
        )  # fmt: skip
    return said[-1]


def test_other_dependent_speeds_are_needed(tmp_path: Path) -> None:
    """A bead on a ring in Cartesian coordinates: in the process x gives way to y where x says little."""
    need_compiler()
    s = arm.System("ring")
    x = s.body("x", joint=arm.Prismatic("x"), mass=0.5, inertia=0)
    s.body("y", x, arm.Prismatic("y"), mass=1.0, inertia=0)
    s.constrain("x.q1**2 + y.q1**2 - 1")
    s.start({"x.q1": 0.6, "y.q1": 0.8, "x.u1": 1.0})
    eom = s.derive()
    path = eom.export("fmu", tmp_path / "ring.fmu", step=0.01)
    when = eom.compile().simulate(1.0, step=0.01).info["configurations"].split()[2]
    for kind in ("CoSimulation", "ModelExchange"):
        said = ended(path, 1.0, kind)
        assert "needs another choice of dependent speeds" in said
        assert f"at t = {float(when):.3g}"[:-1] in said
        said = ended(path, 1.0, kind, {"x.q1": 0.999, "x.u1": 0.0})  # from the start on
        assert "at t = 0 the motion needs another choice of dependent speeds" in said


def test_a_place_without_mass_is_named(tmp_path: Path) -> None:
    """A mass on a massless rod that hangs on another falls freely until the rods are in line."""
    need_compiler()
    s = arm.System("string")
    rod = s.body("rod", joint=arm.Revolute("z"), mass=0, inertia=0)
    s.body("bob", rod, arm.Revolute("z"), at=(1, 0, 0), com=(1, 0, 0), mass=1.0, inertia=0)
    s.gravity(9.81, -s.ground.y)
    s.start({"bob.q1": 1.0})
    eom = s.derive()
    with pytest.raises(arm.SimulationError) as caught:
        eom.compile().simulate(3.0)
    for method in ("rk4", "dop853"):
        said = ended(eom.export("fmu", tmp_path / "string.fmu", method=method), 3.0)
        when = said.partition("near t = ")[2].split()[0]
        assert float(when) == pytest.approx(
            float(str(caught.value).partition("near t = ")[2].split()[0]), rel=1e-3
        )
        assert "rod" in said
