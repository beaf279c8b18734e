"""Exported JAX: the numbers of this process, compiled, mapped and differentiated."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import armillary as arm
from armillary.algebra.arguments import core_of
from armillary.export.jax import needs_runs
from armillary.export.text.source import make_source
from tests.export.conformance import CASES, equations, expected
from tests.later import later
from tests.loading import loaded

jax = later("jax")


# Compilation takes seconds: these have tables, every function, memory and a clock between them.
@pytest.mark.parametrize("name", ("tables", "functions", "controller", "door"))
def test_exported_jax_gives_the_numbers_of_the_process(name: str, tmp_path: Path) -> None:
    wanted, module = expected(name), loaded(equations(name).export("jax", tmp_path / "case"))
    constants = jax.jit(module.precompute)(module.parameters_of(wanted.parameters))
    wanted.constants.check(constants, "constants")
    start = module.initial_state(CASES[name].initial)
    np.testing.assert_allclose(start, list(wanted.start.values()), rtol=1e-15)
    np.testing.assert_allclose(module.initial_memory(CASES[name].memory), wanted.memory, rtol=1e-15)
    sections = ("derivatives", "outputs", "events", "update")
    compiled = {s: jax.jit(getattr(module, s)) for s in sections if getattr(wanted.points[0], s).values.size}
    for point in wanted.points:
        for section, function in compiled.items():
            getattr(point, section).check(function(point.t, point.state, constants, point.memory), section)


@pytest.mark.parametrize("name", ("four bar", "tumbler"))
def test_exported_jax_runs_as_the_process_does(name: str, tmp_path: Path) -> None:
    wanted, case, module = (
        expected(name),
        CASES[name],
        loaded(equations(name).export("jax", tmp_path / "case")),
    )
    found = module.simulate(case.duration, case.step, initial=case.initial)
    assert found.status == "finished"
    wanted.run.rows.check(found.rows, "rows")


def slider() -> arm.System:
    """A mass on a spring with a table for its law, damped one way only, under a sampled push."""
    s = arm.System("slider")
    s.parameter("k", 40.0, units="N/m")
    s.parameter("d", 3.0, units="N*s/m")
    s.parameter("gain", 8.0, units="N/m")
    s.function("law", arm.Table([-1, 0, 1], [-3, 0, 1], name="law", kind="smooth", x_units="m", y_units="m"))
    a = s.body("a", joint=arm.Prismatic("x"), mass=1.0, inertia=0)
    s.memory("push", 0.0, update="-gain*a.q1", every=0.05, units="N")
    s.force("pull", "-k*law(a.q1) - select(a.u1 > 0, d*a.u1, 0) + push", a.x, at=a.com)
    return s


def test_a_rollout_is_differentiated(tmp_path: Path) -> None:
    """Also across jumps of data, at ends of steps and within them; the page on sensitivities maps one."""
    s = slider()
    s.input("kick", units="N")
    s.force("kicks", "kick", s.ground.x, at="a")
    kicks = arm.Signal([0.0, 0.1, 0.123, 0.127, 0.3], [2.0, -30.0, 50.0, 10.0, -20.0], interpolation="hold")
    eom, data = s.derive(), {"kick": kicks}
    module, model = loaded(eom.export("jax", tmp_path / "slider", inputs=data)), eom.compile()
    steps, step, start = 40, 0.01, {"a.q1": 0.3, "a.u1": 0.5}

    def end(parameters: object, state: object) -> object:
        return module.rollout(parameters, state, module.initial_memory(), step, steps).rows[-1, 0]

    def value(parameters: dict[str, float], initial: dict[str, float]) -> float:
        initial = {**start, **initial}
        run = model.simulate(steps * step, step=step, parameters=parameters, initial=initial, inputs=data)
        return float(run.final["a.q1"])

    state = jax.numpy.array(module.initial_state(start))
    by_parameters, by_state = jax.jit(jax.grad(end, argnums=(0, 1)))(module.Parameters(), state)
    h = 1e-5  # differences of second order: errors of 1e-10 from h², 1e-11 from rounding over h

    def slope(parameter: str = "", initial: str = "") -> float:
        sides = []
        for sign in (1, -1):
            parameters = {parameter: eom.parameters[parameter] + sign * h} if parameter else {}
            sides.append(value(parameters, {initial: start[initial] + sign * h} if initial else {}))
        return (sides[0] - sides[1]) / (2 * h)

    for name in eom.parameters:
        assert float(getattr(by_parameters, name)) == pytest.approx(slope(parameter=name), rel=0, abs=1e-9)
    for i, name in enumerate(start):
        assert float(by_state[i]) == pytest.approx(slope(initial=name), rel=0, abs=1e-9)


def test_roots_of_zero_spoil_no_gradient(tmp_path: Path) -> None:
    """Friction along the velocity, from rest, where the slope of its magnitude is infinite."""
    s = arm.System("puck")
    s.parameter("c", 0.5, units="N")
    s.parameter("least", 0.1, units="m/s")
    a = s.body("a", joint=arm.Prismatic("x"), mass=1.0, inertia=0)
    b = s.body("b", a, arm.Prismatic("y"), mass=1.0, inertia=0)
    s.force("rub", "-c*a.u1/max(sqrt(a.u1^2 + b.u1^2), least)", a.x, at=b.com)
    s.output("heading", "atan2(b.u1, a.u1)")
    module = loaded(s.derive().export("jax", tmp_path / "puck"))
    names = list(module.OUTPUT_NAMES)

    def friction(state: object) -> object:
        constants, memory = module.precompute(module.Parameters()), module.initial_memory()
        shown = module.outputs(0.0, state, constants, memory)
        return module.derivatives(0.0, state, constants, memory)[2], shown[names.index("heading")]

    by_state, heading = jax.jit(jax.jacrev(friction))(module.initial_state())
    np.testing.assert_array_equal(by_state, [0.0, 0.0, -0.5 / 0.1 / 2.0, 0.0])  # both masses move along x
    np.testing.assert_array_equal(heading, np.zeros(4))


def gate() -> arm.System:
    """A slider on a spring that catches another, lets it go, and is kicked where it passes."""
    s = arm.System("gate")
    s.parameter("k", 30.0, units="N/m")
    a = s.body("a", joint=arm.Prismatic("x"), mass=1.0, inertia=0)
    b = s.body("b", a, joint=arm.Prismatic("x"), mass=0.5, inertia=0)
    s.force("pull", "-k*a.q1", a.x, at=a.com)
    s.event("catch", b.q1 - 0.1, direction=1, lock="b.q1")
    s.event("let go", a.q1, direction=-1, unlock="b.q1")
    s.event("kick", a.q1 + 0.2, direction=-1, set={"a.u1": a.u1 + 0.2})
    s.start({"a.q1": 0.3, "b.u1": 0.4})
    return s


def test_events_that_lock_and_set_are_located_as_in_the_process(tmp_path: Path) -> None:
    """Compiled once; with another parameter the same program runs, and runs are mapped."""
    eom = gate().derive()
    module, model = loaded(eom.export("jax", tmp_path / "gate")), eom.compile()
    runs = []
    for k in (30.0, 20.0):
        found = module.simulate(4.0, 0.01, sample=0.5, parameters=module.Parameters(k=k))
        run = model.simulate(4.0, step=0.01, sample=0.5, method="rk4", parameters={"k": k})
        assert found.status == "finished"
        np.testing.assert_allclose(np.array(found.rows), run.values, rtol=0, atol=1e-12)
        assert [name for _, name in found.events] == [event.name for event in run.events]
        np.testing.assert_allclose(
            [t for t, _ in found.events], [event.time for event in run.events], rtol=1e-12
        )
        runs.append(found)
    with pytest.raises(AttributeError, match=r"no rollout, because events .* set something.* use simulate"):
        module.rollout  # noqa: B018
    assert {name for _, name in runs[0].events} == {"catch", "let go", "kick"}
    assert len(runs[0].events) != len(runs[1].events)


def test_events_that_only_end_the_run_are_located_too() -> None:
    s = arm.System("ended")
    s.body("b", joint=arm.Prismatic("z"), mass=1, inertia=0)
    s.event("end", "t - 0.5", stop=True)
    assert needs_runs(make_source(core_of(s.derive())))


def test_steps_that_do_not_fit_are_refused_and_rows_are_picked(tmp_path: Path) -> None:
    """Ticks of a clock between the ends of steps would be late."""
    eom = slider().derive()
    module = loaded(eom.export("jax", tmp_path / "slider"))
    with pytest.raises(ValueError, match=r"the period of 'push clock' \(0\.05\) must be a whole number"):
        module.simulate(0.4, 0.02)
    with pytest.raises(ValueError, match=r"sample \(0\.015\) must be a whole number"):
        module.simulate(0.4, 0.01, sample=0.015)
    every, some = module.simulate(0.4, 0.01), module.simulate(0.4, 0.01, sample=0.1)
    np.testing.assert_array_equal(some.rows, every.rows[::10])
    np.testing.assert_array_equal(some.time, every.time[::10])
