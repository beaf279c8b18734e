"""Within a communication step: the method, inputs that change, inner steps, events and clocks."""

from __future__ import annotations

import math
import re
import zipfile
from ctypes import c_double, c_int, c_size_t, c_uint32
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import armillary as arm
from tests.export.fmi.fmu_models import need_compiler
from tests.export.fmi.host import FailedCall, Host, simulate_fmu

# Nothing for 20 s; then jumps at the start, between communication points 0.1 s apart, and on them.
KICKS = arm.Signal(
    [0.0, 20.0, 20.13, 20.3, 20.8, 20.87], [0.0, 2.0, -3.0, 5.0, 1.0, 4.0], interpolation="hold"
)


def kicked_spring() -> Any:
    """A unit mass on a unit spring with a push from outside, and kicks."""
    s = arm.System("spring")
    s.input("push", units="N")
    s.input("kick", units="N")
    s.parameter("k", 1.0, units="N/m")
    m = s.body("m", joint=arm.Prismatic("x"), mass=1, inertia=0)
    s.force("spring", "push + kick - k*m.q1", s.ground.x, at=m)
    s.output("double", 2 * m.q1, units="m")
    return s.derive()


def kicked_mass() -> Any:
    """A unit mass that is pushed and kicked."""
    s = arm.System("pushed")
    s.input("push", units="N")
    s.input("kick", units="N")
    m = s.body("m", joint=arm.Prismatic("x"), mass=1, inertia=0)
    s.force("push_x", "push + kick", s.ground.x, at=m)
    s.output("place", m.q1 + 0.5 * s.time**2, units="m")
    return s.derive()


@pytest.fixture(scope="module")
def spring(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """dop853 in co-simulation."""
    need_compiler()
    path = tmp_path_factory.mktemp("spring") / "spring.fmu"
    tolerances: dict[str, Any] = {"rtol": 1e-11, "atol": 1e-12}
    return kicked_spring().export("fmu", path, method="dop853", inputs={"kick": KICKS}, **tolerances)


@pytest.fixture(scope="module")
def pushed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """rk4 with inner steps of 0.01 s."""
    need_compiler()
    eom, folder = kicked_mass(), tmp_path_factory.mktemp("pushed")
    return {
        v: eom.export("fmu", folder / f"{v}.fmu", version=v, step=0.01, inputs={"kick": KICKS})
        for v in ("2.0", "3.0")
    }


@pytest.fixture(scope="module")
def ball(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ball dropped from 1 m that loses a fifth of its speed at each bounce, and is seen every 0.3 s."""
    need_compiler()
    s = arm.System("ball")
    b = s.body("b", joint=arm.Prismatic("y"), mass=1, inertia=0)
    s.gravity(9.81, -s.ground.y)
    s.event("bounce", b.q1, direction=-1, set={"b.u1": "-0.8*b.u1"}, about="the ball meets the floor")
    s.memory("seen", update=b.q1, every=0.3)
    path = tmp_path_factory.mktemp("ball") / "ball.fmu"
    return s.derive().export("fmu", path, version="3.0", initial={"b.q1": 1.0})


def test_an_fmu_chooses_its_steps_by_its_own_tolerance_or_the_importer_s(spring: Path) -> None:
    """x = cos t in communication steps of 1 s. At the exported 1e-11 the error after 10 s is below 1e-9; at
    the importer's 1e-3 it is larger than that, and below 1e-1.
    """
    with zipfile.ZipFile(spring) as archive:
        assert b'tolerance="1e-11"' in archive.read("modelDescription.xml")  # what importers give unasked
    errors = []
    for tolerance in (0.0, 1e-3):
        one = Host(spring)
        one.initialize(0.0, {"m.q1": 1.0}, tolerance)
        for i in range(10):
            one.step(float(i), 1.0)
        errors.append(abs(one.get(["m.q1"])[0] - math.cos(10.0)))
        one.close()
    assert errors[0] < 1e-9
    assert 1e-8 < errors[1] < 1e-1


def test_data_that_jump_on_communication_points_act_from_there_on(
    spring: Path, pushed: dict[str, Path]
) -> None:
    """The last stage of the step to a jump and the first after it were on the same side of it: a kick of
    5 N was off by 1e-2 m/s. Communication points of importers may be off by roundings. In model
    exchange the importer ends its steps at the jumps that are announced, and sees the data before them until
    then.
    """
    dop853: dict[str, Any] = {"method": "dop853", "rtol": 1e-11, "atol": 1e-12}
    whole: dict[str, Any] = {"t0": 20.0, "sample": 0.1, "inputs": {"kick": KICKS}}
    by_rk4 = kicked_mass().compile().simulate(21.0, step=0.01, **whole)
    by_dop853 = kicked_spring().compile().simulate(21.0, **dop853, **whole)
    units = ((spring, by_dop853), (pushed["2.0"], by_rk4), (pushed["3.0"], by_rk4))
    for path, run in units:
        for off in (-1, 0, 1):
            times = [20.0, *(20.0 + 0.1 * np.arange(1, 11) + off * np.spacing(20.0))]
            one = Host(path)
            one.initialize(20.0, {})
            for i, (t, after) in enumerate(pairwise(times)):
                one.step(t, after - t)
                found = one.get(["m.q1", "m.u1"])
                assert found == pytest.approx([run["m.q1"][i + 1], run["m.u1"][i + 1]], abs=1e-10)
            one.close()
        of_model: dict[str, Any] = {
            "start_time": 20.0,
            "stop_time": 21.0,
            "output_interval": 0.1,
            "output": ["m.q1", "m.u1"],
        }
        exchanged = simulate_fmu(path, fmi_type="ModelExchange", relative_tolerance=1e-11, **of_model)
        for name in ("m.q1", "m.u1"):
            np.testing.assert_allclose(exchanged[name], run[name], rtol=0, atol=1e-10)


@pytest.mark.parametrize("version", ["2.0", "3.0"])
def test_an_input_with_data_is_a_variable_that_follows_them(pushed: dict[str, Path], version: str) -> None:
    """It was an input that read 0, and what an importer connected to it had no effect."""
    with zipfile.ZipFile(pushed[version]) as archive:
        text = archive.read("modelDescription.xml").decode()
    causality = dict(re.findall(r'name="(push|kick)" valueReference="\d+" (?:[^>]*?)causality="(\w+)"', text))
    assert causality == {"push": "input", "kick": "local"}
    one = Host(pushed[version])
    one.initialize(20.0, {"push": 0.5})
    assert one.get(["push", "kick", "der(m.u1)"]) == pytest.approx([0.5, 2.0, 2.5], abs=1e-14)
    one.step(20.0, 0.2)
    assert one.get(["push", "kick", "der(m.u1)"]) == pytest.approx([0.5, -3.0, -2.5], abs=1e-14)
    one.close()


@pytest.mark.parametrize("version", ["2.0", "3.0"])
def test_rates_of_outputs(pushed: dict[str, Path], version: str) -> None:
    """d(q + t²/2)/dt = u + t, and the rate of u is the push."""
    one = Host(pushed[version])
    one.initialize(0.0, {"m.u1": 2.0, "push": 3.0})
    one.step(0.0, 0.5)
    names = ["place", "m.u1"]
    places = (c_uint32 * 2)(*(one.references[n] for n in names))
    orders, values = (c_int * 2)(1, 1), (c_double * 2)()
    name, more = (
        ("GetRealOutputDerivatives", ()) if version == "2.0" else ("GetOutputDerivatives", (c_size_t(2),))
    )
    one.call(name, places, c_size_t(2), orders, values, *more)
    assert list(values) == pytest.approx([2.0 + 3.0 * 0.5 + 0.5, 3.0], rel=1e-12)
    with pytest.raises(FailedCall, match="of order 1, not 2"):
        one.call(name, places, c_size_t(1), (c_int * 1)(2), values, *((c_size_t(1),) if more else ()))
    one.close()


def test_derivatives_of_inputs_carry_them_through_a_step(pushed: dict[str, Path]) -> None:
    """F = 1 + 2t + 3t² on a unit mass: u = t + t² + t³, which rk4 integrates exactly, in steps of 0.25 s."""
    one = Host(pushed["2.0"])
    one.initialize(0.0, {})
    place = (c_uint32 * 2)(*[one.references["push"]] * 2)
    for i in range(8):
        t = 0.25 * i
        one.set({"push": 1 + 2 * t + 3 * t**2})
        slopes = (c_double * 2)(2 + 6 * t, 6.0)
        one.call("SetRealInputDerivatives", place, c_size_t(2), (c_int * 2)(1, 2), slopes)
        one.step(t, 0.25)
    assert one.get(["m.u1", "push"]) == pytest.approx([2 + 4 + 8, 1 + 4 + 12], rel=1e-13)
    one.step(2.0, 0.25)  # derivatives are those of one step: from here the push stays at 17 N
    assert one.get(["m.u1"]) == pytest.approx([14 + 0.25 * 17], rel=1e-13)
    for wrong, order, message in (("push", 3, "up to order 2, not 3"), ("m.u1", 1, "is not an input")):
        at = (c_uint32 * 1)(one.references[wrong])
        with pytest.raises(FailedCall, match=message):
            one.call("SetRealInputDerivatives", at, c_size_t(1), (c_int * 1)(order), (c_double * 1)(1.0))
    one.close()


def test_an_importer_sets_inputs_between_inner_steps_and_ends_a_step_early(pushed: dict[str, Path]) -> None:
    """Inner steps of 0.01 s; the push set at the end of each to 10·t is held over the next."""
    times: list[float] = []

    def between(t: float) -> float | None:
        times.append(t)
        assert one.get(["time"]) == [t]
        one.set({"push": 10 * t})
        return 0.055 if abs(t - 0.05) < 1e-9 else None

    one = Host(pushed["3.0"], between=between)
    one.initialize(0.0, {})
    assert not one.step(0.0, 0.1)
    assert times == pytest.approx([0.01, 0.02, 0.03, 0.04, 0.05, 0.055], abs=1e-15)
    assert one.reached == times[-1] == 0.055
    held = 0.01 * 10 * (0.01 + 0.02 + 0.03 + 0.04) + 0.005 * 10 * 0.05
    assert one.get(["m.u1"]) == pytest.approx([held], rel=1e-12)
    one.close()


def test_event_mode_stops_before_an_event_and_its_clock_ticks(ball: Path) -> None:
    fall = math.sqrt(2 / 9.81)
    one = Host(ball, events=True)
    one.initialize(0.0, {})
    one.discrete()
    one.call("EnterStepMode")
    seen: list[tuple[str, float]] = []
    t = 0.0
    while t < 1.5 - 1e-12:
        one.step(t, min(0.5, 1.5 - t))
        t = one.reached
        if one.event:
            one.call("EnterEventMode")
            ticking = [name for name in ("clock(bounce)", "clock(seen)") if one.ticks(name)]
            before = one.get(["b.u1"])[0]
            info = one.discrete()
            assert info.moved == (ticking == ["clock(bounce)"])
            assert one.get(["b.u1"])[0] == pytest.approx((-0.8 if info.moved else 1.0) * before, rel=1e-15)
            assert not one.ticks(ticking[0])
            seen.append((ticking[0], t))
            one.call("EnterStepMode")
    times = sorted([(0.3 * i, "clock(seen)") for i in range(1, 6)] + [
        (fall, "clock(bounce)"), (fall * (1 + 2 * 0.8), "clock(bounce)"),
    ])  # fmt: skip
    assert [name for name, _ in seen] == [name for _, name in times]
    assert [t for _, t in seen] == pytest.approx([t for t, _ in times], rel=1e-12)
    alone = Host(ball)
    alone.initialize(0.0, {})
    for i in range(3):
        alone.step(0.5 * i, 0.5)
    # The steps differ, for they end at events; both are exact up to rounding under gravity alone.
    assert one.get(["b.q1", "b.u1"]) == pytest.approx(alone.get(["b.q1", "b.u1"]), rel=1e-11)
    one.close()
    alone.close()


def test_terminals_and_clocks_follow_the_schemas(ball: Path) -> None:
    fmpy = pytest.importorskip("fmpy", reason="FMPy has the schemas of FMI")
    etree = pytest.importorskip("lxml.etree")
    from fmpy.validation import validate_fmu

    assert validate_fmu(str(ball)) == []
    folder = Path(fmpy.__file__).parent / "schema" / "fmi3"
    schema = etree.XMLSchema(etree.parse(str(folder / "fmi3TerminalsAndIcons.xsd")))
    with zipfile.ZipFile(ball) as archive:
        root = etree.fromstring(archive.read("terminalsAndIcons/terminalsAndIcons.xml"))
    schema.assertValid(root)
    (joint,) = root.iter("Terminal")
    members = {m.get("memberName"): m.get("variableName") for m in joint}
    assert (joint.get("name"), members) == ("b", {"q1": "b.q1", "u1": "b.u1"})


def test_a_wrong_method_is_a_sentence(tmp_path: Path) -> None:
    s = arm.System("m")
    s.body("m", joint=arm.Prismatic("x"), mass=1, inertia=0)
    eom = s.derive()
    with pytest.raises(arm.ArmillaryError, match="unknown method of co-simulation 'rk5'; did you mean 'rk4'"):
        eom.export("fmu", tmp_path / "m.fmu", method="rk5")
    with pytest.raises(arm.ArmillaryError, match="rtol=0 is not a positive number"):
        eom.export("fmu", tmp_path / "m.fmu", rtol=0)
    assert not list(tmp_path.iterdir())
