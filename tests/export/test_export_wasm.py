"""WebAssembly modules: the numbers of this process, in wasmtime and, where it is there, in Node.js."""

from __future__ import annotations

import json
import subprocess
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import armillary as arm
from armillary.algebra.arguments import core_of
from armillary.errors import ArmillaryError
from armillary.export.text.source import make_source
from armillary.export.wasm.module import METHODS_OF_MODULES, WasmModule
from armillary.viewer.page_data import PoseFunction
from examples import car, pendulum
from tests.export.configuration_cases import latched
from tests.export.conformance import CASES, equations, expected
from tests.export.wasm_host import EVENT, FINISHED, Host
from tests.export.wasm_modules import NODE, run_node
from tests.systems.changing_configurations import five_bar

needs_node = pytest.mark.skipif(NODE is None, reason="no Node.js to run the class with")


@cache
def module(name: str) -> WasmModule:
    """The module of a case; those whose steps of other methods are tested have these, too."""
    methods = METHODS_OF_MODULES if name in ("bouncing", "car") else ("rk4",)
    return WasmModule(make_source(core_of(equations(name))), methods)


def host(name: str) -> Host:
    made = module(name)
    return Host(made.linked.code, json.loads(json.dumps(made.description())))


@pytest.mark.optimised
@pytest.mark.parametrize("name", CASES)
def test_a_module_gives_the_numbers_of_the_process(name: str) -> None:
    wanted, case, found = expected(name), CASES[name], host(name)
    found.set_parameters(wanted.parameters)
    wanted.constants.check(found.array("constants", len(wanted.constants.values)), "constants")
    for point in wanted.points:
        for section in ("derivatives", "outputs", "events", "update"):
            numbers = getattr(point, section)
            if numbers.values.size:
                given = section, numbers.values.size, point.t, point.state, point.memory
                numbers.check(found.function(*given), section)
    state, memory = found.begin(list(wanted.start.values()), found.start_memory(0.0, case.memory))
    found.start(state, memory, method="rk4", t_end=case.duration, step=case.step)
    rows, why = found.run(wanted.run.time)
    assert why == (FINISHED if wanted.run.time[-1] == case.duration else EVENT)
    count = min(len(rows), len(wanted.run.time))  # the row of an event that ends a run is the host's to add
    assert count >= len(wanted.run.time) - 1
    outputs = len(found.about["outputs"])
    type(wanted.run.rows)(wanted.run.rows.values[:count], wanted.run.rows.room[:count]).check(
        rows[:count, :outputs], "rows"
    )
    events = found.events()
    assert [e for e, _ in events] == [e for e, _ in wanted.run.events]
    for (_, t), (_, there) in zip(events, wanted.run.events, strict=True):
        assert abs(t - there) <= wanted.run.event_room


@pytest.mark.parametrize(
    ("system", "method", "step"), [(car, "rk4", 1e-2), (car, "dop853", 0.0), (pendulum, "dopri5", 0.0)]
)
def test_ten_seconds_agree_to_twelve_digits(system, method: str, step: float) -> None:
    eom = system.system().derive()
    made = WasmModule(make_source(core_of(eom)), [method])
    found = Host(made.linked.code, made.description())
    given = {p["name"]: p["value"] for p in found.about["parameters"]}
    initial = {"bob.q1": 2.0} if system is pendulum else {}
    model = eom.compile()
    run = model.simulate(
        10.0, method=method, step=step or None, sample=0.05, parameters=given, initial=initial
    )
    state = model.state(initial, given)
    found.start(state, [m["initial"] for m in found.about["memory"]], method=method, t_end=10.0, step=step)
    rows, _ = found.run(run.time)
    sizes = np.maximum(np.max(np.abs(run.values), axis=0), 1.0)
    assert np.max(np.abs(rows[:, : len(run.names)] - run.values) / sizes) < 1e-12


@pytest.mark.parametrize(
    ("system", "span", "step", "initial", "changes", "room"),
    [
        (latched, 3.0, 2e-3, {}, ["catch", "let go"], 1e-12),
        # A table may make other choices of dependent speeds, with other errors of the steps.
        (five_bar, 0.8, 2e-4, {"A.u1": 6.0}, ["became independent", "catch", "let go"], 1e-9),
    ],
    ids=["locks", "exchanges"],
)
def test_a_module_changes_its_configuration_as_the_process_does(
    system, span: float, step: float, initial: dict[str, float], changes: list[str], room: float
) -> None:
    """Rows through impulses of locks and other choices of dependent speeds, and times of events."""
    eom = system().derive()
    made = WasmModule(make_source(core_of(eom), configurations=True), ["rk4"])
    found = Host(made.linked.code, json.loads(json.dumps(made.description())))
    model = eom.compile()
    run = model.simulate(span, sample=span / 40, initial=initial, method="rk4", step=step)
    assert all(word in run.info["configurations"] for word in changes)
    state = model.state(initial)
    found.start(state, found.start_memory(0.0, {}), method="rk4", t_end=span, step=step)
    rows, why = found.run(run.time)
    assert why == FINISHED
    sizes = np.maximum(np.max(np.abs(run.values), axis=0), 1.0)
    assert np.max(np.abs(rows[:, : len(run.names)] - run.values) / sizes) < room
    assert [name for name, _ in found.events()] == [e.name for e in run.events]
    np.testing.assert_allclose([t for _, t in found.events()], [e.time for e in run.events], rtol=1e-12)


def test_runs_are_taken_up_again_bit_for_bit() -> None:
    found, times = host("bouncing"), np.linspace(0, 1.5, 301)
    start = [0.3, 0.0, 0.0], [0.0]
    found.start(*start, method="dopri5", t_end=1e300)
    whole, _ = found.run(times)
    found.start(*start, method="dopri5", t_end=1e300)
    pieces = [found.run_until(t) for t in times]
    np.testing.assert_array_equal(whole[:301], pieces)


def test_poses_are_those_of_the_viewer() -> None:
    found, eom = host("four bar"), equations("four bar")
    state = np.array(list(expected("four bar").start.values()))
    row = found.function("outputs", found.about["row"], 0.0, state)
    poses = PoseFunction(core_of(eom)).at(0.0, state[None], {})
    assert [b["name"] for b in found.about["bodies"]] == list(poses.names)
    numbers = row[len(found.about["outputs"]) + len(state) :].reshape(-1, 12)
    for i, body in enumerate(found.about["bodies"]):
        d, R = numbers[i, :3], numbers[i, 3:].reshape(3, 3)
        if (p := body["parent"]) >= 0:
            d, R = poses.positions[0, p] + poses.rotations[0, p] @ d, poses.rotations[0, p] @ R
        np.testing.assert_allclose(d, poses.positions[0, i], atol=1e-14)
        np.testing.assert_allclose(R, poses.rotations[0, i], atol=1e-14)


@pytest.mark.optimised
def test_the_car_takes_less_than_forty_kilobytes() -> None:
    assert len(module("car").linked.code) < 40_000


# ------------------------------------------------------------------------------------ the class in JavaScript


@needs_node
def test_an_exported_folder_passes_its_own_test_and_runs_as_the_process_does(tmp_path: Path) -> None:
    folder = equations("door").export("wasm", tmp_path / "door")
    assert NODE
    done = subprocess.run([NODE, "test.js"], cwd=folder, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "all numbers agree\n"), done.stderr
    case = CASES["door"]
    start = {"initial": case.initial, "inputs": case.memory, "step": case.step, "method": "rk4"}
    found = run_node(folder, f"""
import {{ load }} from "./door.js";
const model = await load();
model.setParameters({json.dumps(case.parameters)});
const run = model.simulate({case.duration}, {json.dumps(start)});
let told = "";
try {{ model.setParameters({{ stiffness: 1 }}); }} catch (error) {{ told = error.message; }}
const {{ time, values, events, status }} = run, opening = [...values.opening];
console.log(JSON.stringify({{ time: [...time], opening, events, status, told }}));
""")  # fmt: skip
    run = equations("door").compile().simulate(
        case.duration, step=case.step, method="rk4", initial=case.initial, parameters=case.parameters,
        memory=case.memory, progress=False,
    )  # fmt: skip
    np.testing.assert_allclose(found["time"], run.time, atol=1e-15)
    np.testing.assert_allclose(found["opening"], run["opening"], atol=1e-12 * np.max(np.abs(run["opening"])))
    assert [e["name"] for e in found["events"]] == [e.name for e in run.events]
    assert found["status"] == "finished" and "has no 'stiffness' among its parameters: k, c" in found["told"]


@needs_node
def test_the_class_refuses_a_negative_mass_and_keeps_what_was(tmp_path: Path) -> None:
    s = arm.System("two masses")
    s.parameter("m", 1.0, units="kg")
    a = s.body("a", joint=arm.Prismatic("x"), mass="2*m", inertia=0)
    s.force("f", "1.0*m*9.81", s.ground.x, at=a.com)
    folder = s.derive().export("wasm", tmp_path / "masses", methods=["rk4"])
    found = run_node(
        folder,
        """
import { load } from "./two_masses.js";
const model = await load();
let told = "";
try { model.setParameters({ m: -1.5 }); } catch (error) { told = error.message; }
console.log(JSON.stringify({ told, kept: model.parameters.m, rate: model.derivatives(0, [0, 0])[1] }));
""",
    )
    assert found["told"] == "body 'a': its mass (by m) is -3 with these parameters; it must be 0 or more"
    assert found["kept"] == 1.0 and found["rate"] == pytest.approx(9.81 / 2, rel=1e-15)


@needs_node
def test_the_class_starts_momenta_from_speeds(tmp_path: Path) -> None:
    case = CASES["momenta"]
    folder = equations("momenta").export("wasm", tmp_path / "momenta", methods=["rk4"])
    found = run_node(folder, f"""
import {{ load }} from "./double_pendulum.js";
const model = await load();
const run = model.simulate({case.duration}, {json.dumps({"step": case.step, "initial": case.initial})});
console.log(JSON.stringify({{ energy: [...run.values.energy], speed: [...run.values["lower.u1"]] }}));
""")  # fmt: skip
    run = equations("momenta").compile().simulate(case.duration, step=case.step, initial=case.initial)
    np.testing.assert_allclose(found["energy"], run["energy"], rtol=1e-13)
    np.testing.assert_allclose(found["speed"], run["lower.u1"], atol=1e-13)


@needs_node
def test_the_class_locks_and_unlocks_and_goes_on_with_other_parameters(tmp_path: Path) -> None:
    """Two discs on one axis, of moment of inertia 1: one is caught by the other, and let go."""
    s = arm.System("caught")
    s.parameter("w", 2.0, units="N*m")
    a = s.body("a", joint=arm.Revolute("z"), mass=1, inertia=(1, 1, 1))
    b = s.body("b", a, joint=arm.Revolute("z"), mass=1, inertia=(1, 1, 1))
    s.event("catch", "t - 1", lock="b.q1")
    s.event("let go", "t - 2", unlock="b.q1")
    s.moment("push", "w", s.ground.z, on=b)
    s.start({"b.u1": 1.0})
    folder = s.derive().export("wasm", tmp_path / "caught")
    found = run_node(folder, """
import { load } from "./caught.js";
const model = await load();
model.setParameters({ w: 0 });
const run = model.simulate(3, { sample: 0.5, rtol: 1e-12, atol: 1e-14 });
model.setParameters({ w: 2 });
model.reset({ maxStep: 1 / 64 });
model.advance(1.5);
model.setParameters({ w: 4 });
const locked = model.configuration.locked;
model.advance(1.75);
console.log(JSON.stringify({
  first: [...run.values["a.u1"]], second: [...run.values["b.u1"]], events: run.events,
  status: run.status, locked,
  together: model.output("a.u1"), changes: model.changes.length,
}));
""")  # fmt: skip
    # Both have the moment of inertia 1 about the axis: the catch halves the spin of b, and a takes the rest.
    np.testing.assert_allclose(found["first"], [0, 0, 0.5, 0.5, 0.5, 0.5, 0.5], atol=1e-12)
    np.testing.assert_allclose(found["second"], [1, 1, 0, 0, 0, 0, 0], atol=1e-12)
    assert [(e["name"], round(e["time"], 12)) for e in found["events"]] == [("catch", 1), ("let go", 2)]
    assert found["status"] == "finished" and found["locked"] == ["b.u1"] and found["changes"] == 1
    # In the second run a moment 2 turns b alone for a second, then both; from the end of a step, one of 4.
    assert found["together"] == pytest.approx(1.5 + 0.5 * 2 / 2 + 0.25 * 4 / 2, abs=1 / 64)


@needs_node
def test_loops_are_closed_in_the_class_as_in_the_process(tmp_path: Path) -> None:
    folder = equations("four bar").export("wasm", tmp_path / "bar")
    found = run_node(folder, """
import { load } from "./four_bar_linkage.js";
const model = await load(), places = [];
for (const angle of [0.1, 0.4, -0.5]) places.push([...model.reset({ initial: { "A.q1": angle } }).state]);
const poses = model.poses();
let said = "";
try { model.reset({ initial: { "A.q1": -1.9, "B.q1": 0.2 } }); } catch (error) { said = error.message; }
console.log(JSON.stringify({ places, poses, said }));
""")  # fmt: skip
    model = equations("four bar").compile()
    with pytest.raises(ArmillaryError) as refused:
        model.state({"A.q1": -1.9, "B.q1": 0.2})
    assert found["said"] == str(refused.value)
    for angle, place in zip([0.1, 0.4, -0.5], found["places"], strict=True):
        np.testing.assert_allclose(place, model.state({"A.q1": angle}), atol=1e-9)
    poses = PoseFunction(core_of(equations("four bar"))).at(0.0, np.array(found["places"][-1])[None], {})
    np.testing.assert_allclose([p["position"] for p in found["poses"]], poses.positions[0], atol=1e-14)
    np.testing.assert_allclose(
        [p["rotation"] for p in found["poses"]], poses.rotations[0].reshape(-1, 9), atol=1e-14
    )


# ------------------------------------------------------------------------------------ bad input


def test_what_a_module_cannot_hold_is_refused_with_a_reason(tmp_path: Path) -> None:
    eom = pendulum.system().derive()
    with pytest.raises(ArmillaryError, match=r"no method 'rk5'.*did you mean 'rk4'"):
        eom.export("wasm", tmp_path / "a", methods=["rk5"])
    with pytest.raises(ArmillaryError, match="no option 'method'"):
        eom.export("wasm", tmp_path / "a", method="rk4")
    s = arm.System("latch")
    b = s.body("b", joint=arm.Revolute("z"), mass=1, inertia=(1, 1, 1))
    s.event("caught", b.q1, lock=["b.u1"])
    with pytest.raises(ArmillaryError, match="event 'caught' locks or unlocks joints"):
        s.derive().export("wasm", tmp_path / "a", configurations=False)


def test_types_list_the_names_that_a_module_takes(tmp_path: Path) -> None:
    """A union of texts for each kind of name, and ``never`` where there are none."""
    s = arm.System("cart")
    s.parameter("m", 2.0, units="kg")
    s.parameter("k", 5.0, units="N/m")
    cart = s.body("cart", joint=arm.Prismatic("x"), mass="m", inertia=0)
    s.force("spring", "-k*cart.q1", s.ground.x, at=cart.com)
    s.derive().export("wasm", tmp_path / "made")
    text = next((tmp_path / "made").glob("*.d.ts")).read_text(encoding="utf-8")
    assert '"m" | "k"' in text or '"k" | "m"' in text
    assert '"cart.q1" | "cart.u1"' in text and "never" in text


def test_implicit_methods_differentiate_time_exactly_unless_inputs_are_data() -> None:
    """Without data over time the derivative by time is that of the equations, no difference of them."""
    s = arm.System("driven mass")
    mass = s.body("mass", joint=arm.Prismatic("x"), mass=1, inertia=0)
    s.force("push", "cos(3*t) - 4*mass.q1", s.ground.x, at=mass.com)
    source = make_source(core_of(s.derive()), stiff=True)
    shapes = WasmModule(source, ("rodas5p", "rk4")).shapes
    assert list(shapes) == ["rodas5p", "rk4"]
    assert shapes["rodas5p"].implicit and shapes["rodas5p"].differentiated
    assert [shape.driven for shape in shapes.values()] == [False, False]
