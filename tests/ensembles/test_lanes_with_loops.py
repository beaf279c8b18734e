"""Batches of runs with closed loops on lanes, with fixed steps: equal to the scalar loop and to motions that
are known, whatever their neighbours.
"""

from __future__ import annotations

import ctypes
import math
import threading
from functools import cache
from typing import Any

import numpy as np
import pytest

import armillary as arm
from armillary.algebra.arguments import core_of
from armillary.ensembles.batch import Prepared
from armillary.ensembles.engines import lane_engines
from armillary.ensembles.engines.engine import Outcome
from armillary.ensembles.engines.lane_engines import LanesWithEvents
from armillary.ensembles.engines.scalar import Scalar
from armillary.ensembles.plan import FINISHED, Plan, plan
from armillary.llvm.jit import Compiled
from armillary.llvm.sections import lanes_module
from armillary.settings import RunSettings
from armillary.stages.model import Model
from tests.systems.changing_links import changing
from tests.systems.parallelogram import model as parallelogram
from tests.systems.parallelogram import started

RUNS = 9


@cache
def held() -> Model:
    """A top on a loop: a free body with Euler parameters, one point of which stays in place."""
    s = arm.System("held top")
    top = s.body("top", joint=arm.Free(), mass=2, inertia=(0.02, 0.02, 0.03))
    s.close_loop(top.point("foot", (0, 0, -0.3)), s.ground.origin)
    s.gravity(9.81, -s.ground.z)
    s.output("energy", s.total_energy())
    s.start({"top.q1": 0.3, "top.q4": math.sqrt(0.5), "top.q6": math.sqrt(0.5)})
    return s.derive().compile()


def _flat() -> dict[str, np.ndarray]:
    """Starts of parallelograms, most of which come through a flat position."""
    random = np.random.default_rng(4)
    starts = [started(q, u) for q, u in random.uniform((0.1, -4.0), (1.4, 4.0), (RUNS, 2))]
    return {name: np.array([start[name] for start in starts]) for name in starts[0]}


CASES: dict[str, tuple[Any, dict[str, np.ndarray], float, float]] = {  # model, starts, end, tolerance
    "exchanges of dependent speeds": (changing, {"A.u1": np.linspace(5.5, 6.5, RUNS)}, 1.2, 1e-9),
    # Next to a flat position equations magnify rounding a million times or more.
    "places of lost rank": (parallelogram, _flat(), 1.0, 1e-5),
    "Euler parameters": (held, {"top.u6": np.linspace(0.0, 40.0, RUNS)}, 0.5, 1e-9),
}


@cache
def planned(name: str, step: float = 2e-3) -> Plan:
    made, initial, t_end, _ = CASES[name]
    model = made()
    first, second = model.coordinate_names[:2]
    for value in range(0, RUNS, 4):  # meets the configurations
        model.simulate(t_end, step=step, initial={q: float(x[value]) for q, x in initial.items()})
    settings = RunSettings(t_end, step=step, sample=5 * step)
    return plan(core_of(model), settings, initial=initial, outputs=[first], metrics=[f"max({second})"])


@cache
def _on_lanes(name: str) -> Outcome:
    made = planned(name)
    return LanesWithEvents(made)(made.starts, 0, RUNS)


@pytest.mark.parametrize("name", CASES)
def test_runs_with_loops_are_those_of_the_scalar_loop(
    name: str, on_lanes: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ends, rows and metrics; lanes take most of the steps, also of runs that change too often. Beside places
    of lost rank fixed steps are divided, which the scalar loop does.
    """
    monkeypatch.setattr(lane_engines, "SHARE_OF_FIXED", 0)
    made, tolerance = planned(name), CASES[name][3]
    scalar, lanes = Scalar(made)(made.starts, 0, RUNS), LanesWithEvents(made)(made.starts, 0, RUNS)
    assert set(scalar.status) == set(lanes.status) == {FINISHED}
    for part in ("state", "rows", "slots", "t_stop"):
        np.testing.assert_allclose(getattr(lanes, part), getattr(scalar, part), atol=tolerance, rtol=0.0)
    assert made.steps is not None
    assert sum(on_lanes) > (0.7 if name == "places of lost rank" else 0.8) * RUNS * len(made.steps)


@pytest.mark.parametrize("name", CASES)
def test_numbers_of_runs_with_loops_do_not_depend_on_neighbours(name: str) -> None:
    made, whole = planned(name), _on_lanes(name)
    engine = LanesWithEvents(made)
    for first, last in ((0, 1), (1, 4), (4, RUNS)):
        part = engine(made.starts, first, last)
        for array in ("status", "state", "rows", "slots", "t_stop"):
            np.testing.assert_array_equal(getattr(part, array), getattr(whole, array)[..., first:last])


def test_parallelograms_without_gravity_turn_at_constant_speed() -> None:
    """q = q₀ + u₀ t on lanes, through flat positions; those leave about 1e-7 in the angle."""
    q0, u0 = np.linspace(0.2, 1.2, RUNS), np.linspace(2.0, 4.0, RUNS)
    initial = {"A.q1": q0, "B.q1": -q0, "C.q1": q0, "A.u1": u0}
    settings = RunSettings(1.0, step=2e-3, sample=0.5)
    made = plan(
        core_of(parallelogram()), settings, initial=initial, parameters={"g": 0.0}, outputs=["A.q1", "C.q1"]
    )
    rows = LanesWithEvents(made)(made.starts, 0, RUNS).rows
    for column in range(2):
        np.testing.assert_allclose(rows[:, column], q0 + np.outer(made.samples, u0), atol=1e-6)


@pytest.mark.parametrize("size", [1.0, 1000.0])
def test_slider_cranks_of_any_size_are_made_on_lanes(size: float, on_lanes: list[int]) -> None:
    """With crank r and rod l the slider is at r cos q + √(l² − r² sin² q). Its speed of some 300 m/s does not
    make steps long, where the crank has 100 m.
    """
    s = arm.System("slider-crank")
    r, rod, inertia = 0.1 * size, 0.3 * size, (0.001 * size**2, 0.01 * size**2, 0.01 * size**2)
    crank = s.body("crank", joint=arm.Revolute("z"), com=(r / 2, 0, 0), mass=1, inertia=inertia)
    link = s.body("rod", crank, arm.Revolute("z"), at=(r, 0, 0), com=(rod / 2, 0, 0), mass=1, inertia=inertia)
    slider = s.body("slider", joint=arm.Prismatic("x"), mass=0.5, inertia=0)
    s.close_loop(link.point("end", (rod, 0, 0)), slider.origin, [s.ground.x, s.ground.y])
    s.start({"crank.q1": 0.8, "rod.q1": -1.04, "slider.q1": 0.36 * size})
    settings, speeds = RunSettings(1.0, step=5e-3, sample=0.1), np.linspace(3.0, 4.0, 3)
    made = plan(
        core_of(s.derive().compile()),
        settings,
        initial={"crank.u1": speeds},
        outputs=["crank.q1", "slider.q1"],
    )
    q, x = LanesWithEvents(made)(made.starts, 0, 3).rows.transpose(1, 0, 2)
    np.testing.assert_allclose(
        x, r * np.cos(q) + np.sqrt(rod**2 - r**2 * np.sin(q) ** 2), rtol=1e-9, atol=0.0
    )
    assert sum(on_lanes) > 0.9 * 3 * 200


@pytest.mark.parametrize(
    ("engine", "how"), [(Scalar, {}), (Scalar, {"step": 1e-3}), (LanesWithEvents, {"step": 1e-3})]
)
def test_forecasts_of_a_run_are_in_sizes_of_its_own_whichever_run_is_first(
    engine: type[Scalar], how: dict[str, float]
) -> None:
    """Slider-cranks with arms of 1 m and 1 km, which lose rank twice in each turn. Their angles are the same
    (similar systems: Landau & Lifshitz, Mechanics, § 10), to what such places magnify.
    """
    model, settings = equal_arms(), RunSettings(1.5, sample=0.1, **how)
    start = {"A.q1": 0.3, "A.u1": 6.0}
    model.simulate(1.5, initial=start, **how)  # meets the configurations
    found = []
    for lengths in ([1.0, 1e3], [1e3, 1.0]):
        made = plan(
            core_of(model), settings, initial=start, parameters={"L": np.array(lengths)}, outputs=["A.q1"]
        )
        found.append(engine(made)(made.starts, 0, 2).rows[:, 0])
    np.testing.assert_array_equal(found[0], found[1][:, ::-1])
    np.testing.assert_allclose(found[0][:, 0], found[0][:, 1], atol=1e-6)


@cache
def equal_arms() -> Model:
    s = arm.System("slider-crank with arms of equal length")
    L = s.parameter("L", 1.0, units="m")
    J = [0.1 * L * L] * 3
    A = s.body("A", joint=arm.Revolute("z"), com=(L / 2, 0, 0), mass=1, inertia=J)
    B = s.body("B", A, arm.Revolute("z"), at=(L, 0, 0), com=(L / 2, 0, 0), mass=1, inertia=J)
    C = s.body("C", joint=arm.Prismatic("x"), mass=1, inertia=0)
    s.close_loop(B.point("end", (L, 0, 0)), C.origin, [s.ground.x, s.ground.y])
    s.gravity(9.81 * L, -s.ground.y)
    return s.derive().compile()


def test_a_held_top_keeps_its_energy_and_its_foot() -> None:
    """The steps of rk4 leave some 1e-8 J of energy, corrections keep the foot to rounding."""
    model = held()
    model.simulate(0.5, step=1e-3)  # meets the configurations that lanes know
    made = plan(
        core_of(model), RunSettings(0.5, step=1e-3), initial=CASES["Euler parameters"][1], outputs=["energy"]
    )
    outcome = LanesWithEvents(made)(made.starts, 0, RUNS)
    energy = outcome.rows[:, 0]
    np.testing.assert_allclose(energy, np.broadcast_to(energy[:1], energy.shape), atol=1e-6)
    x, y, z, e0, e1, e2, e3 = outcome.state[:7]
    up = np.array([2 * (e1 * e3 + e0 * e2), 2 * (e2 * e3 - e0 * e1), 1 - 2 * (e1**2 + e2**2)])
    np.testing.assert_allclose([x, y, z], 0.3 * up, atol=1e-12)
    np.testing.assert_allclose(e0**2 + e1**2 + e2**2 + e3**2, 1.0, atol=1e-14)


@pytest.mark.parametrize("width", [2, 4])
def test_each_lane_is_corrected_until_its_own_corrections_are_small(width: int) -> None:
    """From states off by 0 to 0.05, as a single run is, to rounding; and whatever is in the other lanes, such
    as a state too far off to be corrected.
    """
    model = held()
    program = model.equations.program
    vector, arrays = f"<{width} x double>", "ptr %state, ptr %constants, ptr %memory"
    call = f"  call void @normalise({vector} zeroinitializer, {arrays})\n  ret void"
    at_zero = f"define void @normalise_at_zero({arrays}) {{\n{call}\n}}"
    code = Compiled(f"{lanes_module(program, width).text()}\n{at_zero}")
    one = ctypes.CFUNCTYPE(None, ctypes.c_double, *[ctypes.c_void_p] * 3)(model.address("normalise"))
    several = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3)(code.address("normalise_at_zero"))
    parameters = np.array([model.parameters[p.name] for p in program.parameters] or [0.0])
    constants, memory = np.zeros(max(len(program.constants), 1)), np.zeros(width)
    precompute = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(model.address("precompute"))
    precompute(parameters.ctypes.data, constants.ctypes.data)

    def corrected(offsets: tuple[float, ...]) -> np.ndarray:
        state = np.tile(_closed()[:, None], len(offsets)).copy()
        state[:3] += offsets
        wide = np.repeat(constants, len(offsets))
        given = (state.ctypes.data, wide.ctypes.data, memory.ctypes.data)
        one(0.0, *given) if len(offsets) == 1 else several(*given)
        return state

    expected = np.hstack([corrected((offset,)) for offset in (0.0, 1e-12, 0.01, 0.05)])
    far = corrected((0.2,))[:, 0]
    assert np.allclose(far[:3], _closed()[:3] + 0.2)  # else this tested less
    found = corrected((0.0, 1e-12, 0.01, 0.05)[-width:])
    np.testing.assert_allclose(found, expected[:, -width:], atol=1e-14)
    for lane in range(width):
        for other in (0.0, 0.03, 0.2, math.nan):
            offsets = [other] * width
            offsets[lane] = (0.0, 1e-12, 0.01, 0.05)[-width:][lane]
            np.testing.assert_array_equal(corrected(tuple(offsets))[:, lane], found[:, lane])


def _closed() -> np.ndarray:
    """A state of the held top whose loop is closed."""
    run = held().simulate(0.1, step=0.01, initial={"top.u4": 1.0})
    return np.array([run.final[name] for name in (*held().coordinate_names, *held().speed_names)])


def test_large_batches_with_loops_are_made_on_lanes(monkeypatch: pytest.MonkeyPatch) -> None:
    """So many steps in all pay for the preparation of lanes."""
    how: dict[str, Any] = {"step": 2e-3, "initial": CASES["Euler parameters"][1], "progress": False}
    small = held().simulate_batch(0.1, metrics=["final(top.q1)"], **how)
    monkeypatch.setattr(lane_engines, "LEAST_STEPS", 50 * RUNS)
    large = held().simulate_batch(0.1, metrics=["final(top.q1)"], **how)
    assert small.info["engine"] == "scalar"
    assert large.info["engine"].startswith("lanes of ") and large.info["engine"].endswith("between events")
    np.testing.assert_allclose(large["final(top.q1)"], small["final(top.q1)"], atol=1e-11)


def test_lanes_are_compiled_before_threads_begin_whose_stacks_may_be_small(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(lane_engines, "LEAST_STEPS", 50)
    how: dict[str, Any] = {"step": 2e-3, "initial": CASES["Euler parameters"][1], "progress": False}
    expected = held().simulate_batch(0.1, metrics=["final(top.q2)"], **how)
    before = threading.stack_size(256 * 1024)
    try:
        found = held().simulate_batch(0.1, metrics=["final(top.q2)"], **how)
    finally:
        threading.stack_size(before)
    assert found.info["engine"].endswith("between events")
    np.testing.assert_array_equal(found["final(top.q2)"], expected["final(top.q2)"])


def test_a_short_block_of_a_study_is_made_as_whole_ones_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """The block with which a study begins or goes on may be the last."""
    monkeypatch.setattr(lane_engines, "LEAST_STEPS", 50 * RUNS)
    settings, metrics = RunSettings(0.1, step=2e-3), ["final(top.q1)"]
    short, whole = (
        Prepared(core_of(held()), settings, metrics=metrics, runs=2, size=size) for size in (2, RUNS)
    )
    assert isinstance(whole.engine, LanesWithEvents) and not isinstance(short.engine, LanesWithEvents)
