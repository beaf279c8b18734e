"""Events that set dependent speeds: what they set stays, and other speeds change as little as possible."""

from __future__ import annotations

import json
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import armillary as arm
from armillary.runtime.models.run_changes import ConfigurationSupply
from tests.export.configuration_cases import FIXED, LANGUAGES, TOOLS, Case, linked_bars
from tests.export.fmi.fmu_models import need_compiler
from tests.export.fmi.host import simulate_fmu
from tests.export.wasm_modules import NODE, run_node
from tests.loading import loaded

SPAN, STEPS = 0.4, 64
TOLERANCE = 1e-10


def differential() -> arm.System:
    """Three wheels with A.u1 = B.u1 + C.u1, each of which a clock turns to a speed: one of them depends on
    the others. A carriage sways.
    """
    s = arm.System("differential")
    for name in "ABC":
        s.body(name, joint=arm.Revolute("z"), mass=1.0, inertia=(0.1, 0.1, 0.2))
    s.constrain("A.u1 - B.u1 - C.u1", name="planets")
    s.body("carriage", joint=arm.Prismatic("x"), mass=2.0, inertia=0)
    s.force("spring", "-80*carriage.q1", s.ground.x, at=s.bodies["carriage"].com)
    s.event("first", "t - 0.1", direction=1, set={"A.u1": "A.u1 + 3"})
    s.event("second", "t - 0.2", direction=1, set={"B.u1": "0.5*B.u1", "carriage.u1": "2*carriage.u1"})
    s.event("third", "t - 0.3", direction=1, set={"C.u1": "A.u1"})
    s.event("fourth", "t - 0.36", direction=1, set={"A.u1": "C.u1", "C.u1": "A.u1"})
    s.start({"A.u1": 2.0, "B.u1": 0.5, "C.u1": 1.5, "carriage.q1": 0.1})
    return s


def five_bar() -> arm.System:
    """A five-bar linkage that exchanges dependent speeds; clocks set speeds, independent or not."""
    s = linked_bars("five bar")
    s.event("one", "sin(70*t + 0.1)", direction=1, set={"A.u1": "A.u1 + 0.1"})
    s.event("two", "sin(50*t + 0.1)", direction=1, set={"B.u1": 11.0, "C.u1": "-0.8"})
    s.event("three", "sin(30*t + 0.1)", direction=1, set={"D.u1": "0.9*D.u1"})
    s.start({"A.q1": 1.8, "B.q1": -0.8, "C.q1": 1.2, "D.q1": 0.9, "A.u1": -6.0})
    return s


@cache
def equations(name: str) -> arm.Equations:
    return {"differential": differential, "five bar": five_bar}[name]().derive()


@cache
def process(name: str, fixed: bool, slow: bool = False) -> arm.Run:
    how: dict[str, Any] = {"method": "dop853", "rtol": TOLERANCE, "atol": 0.01 * TOLERANCE}
    how |= {"max_step": 0.1} if slow else {}
    how = {"method": "rk4", "step": SPAN / STEPS} if fixed else how
    return equations(name).compile().simulate(SPAN, sample=SPAN / 8, **how)


METHODS: dict[str, dict[str, Any]] = {
    "by default": {},
    "fixed": {"step": 0.01},
    "rodas5p": {"method": "rodas5p"},
    "tolerances of states": {"atol": [1e-9] * 7},
}


@pytest.mark.parametrize("how", METHODS.values(), ids=METHODS)
def test_what_is_set_stays_and_the_others_change_least(how: dict[str, Any]) -> None:
    """By hand: C follows A and B, which are independent; where C is set, A and B make up for it in halves.
    The fourth event exchanges two speeds, so that both are those before it.
    """
    assert set(equations("differential").dependents) == {"C.u1"}
    run = equations("differential").compile().simulate(SPAN, sample=0.05, **how)
    assert [e.name for e in run.events] == ["first", "second", "third", "fourth"]
    found = np.array([run[f"{wheel}.u1"][[1, 3, 5, 7, 8]] for wheel in "ABC"]).T
    expected = [
        [2.0, 0.5, 1.5],
        [5.0, 0.5, 4.5],
        [5.0, 0.25, 4.75],
        [5.125, 0.125, 5.0],
        [5.0, -0.125, 5.125],
    ]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("apart", [False, True], ids=["one event", "two events"])
@pytest.mark.parametrize("how", [*METHODS.values()][:3], ids=[*METHODS][:3])
def test_a_joint_is_released_with_the_speed_that_another_had(
    how: dict[str, Any], apart: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A ball that is held takes over all of the speed of another one of its mass, which stops; one event, or
    another at its time, releases it.
    """
    s = arm.System("balls")
    for name in "AB":
        s.body(name, joint=arm.Prismatic("x"), mass=1.0, inertia=0)
    s.lock("A.q1")
    s.event(
        "hit", "t - 0.1", direction=1, set={"A.u1": "B.u1", "B.u1": 0.0}, unlock=[] if apart else ["A.q1"]
    )
    if apart:
        s.event("let go", "t - 0.1", direction=1, unlock="A.q1")
    s.start({"B.u1": 2.0})
    model = s.derive().compile()
    for again in (False, True):  # in the second run the loop has tables of what the first one met
        with monkeypatch.context() as changes:
            if again and "method" not in how:
                changes.setattr(ConfigurationSupply, "__call__", None)
            run = model.simulate(0.2, **how)
        assert [run.final[name] for name in ("A.u1", "B.u1")] == pytest.approx([2.0, 0.0], abs=1e-12)
    if not how:
        ended = loaded(s.derive().export("python", tmp_path / "python") / "balls.py").simulate(0.2)
        assert ended.state[2:] == pytest.approx([2.0, 0.0], abs=1e-12)


@pytest.mark.parametrize(("also", "last"), ["BC", "CB"])
def test_others_follow_the_speed_with_which_a_joint_is_released(also: str, last: str) -> None:
    """The event sets another speed, dependent or not: the last one follows from both, A.u1 = B.u1 + C.u1."""
    s = arm.System("released")
    for name in "ABC":
        s.body(name, joint=arm.Revolute("z"), mass=1.0, inertia=(0.1, 0.1, 0.2))
    s.constrain("A.u1 - B.u1 - C.u1", name="planets")
    s.lock("A.q1")
    s.event("go", "t - 0.1", direction=1, unlock="A.q1", set={"A.u1": f"3 + {also}.u1", f"{also}.u1": 1.0})
    s.event("later", "t - 0.3", direction=1, set={f"{last}.u1": 1.0})
    s.start({f"{also}.u1": 0.5})
    model = s.derive().compile()
    for how in ({}, {"step": 0.01}, {"method": "rodas5p"}):
        run = model.simulate(0.2, **how)
        found = [run.final[f"{name}.u1"] for name in ("A", also, last)]
        assert found == pytest.approx([3.5, 1.0, 2.5], abs=1e-12)


def test_a_linkage_takes_the_least_change_that_its_loops_allow() -> None:
    """Against NumPy's least squares of the five-bar's rows, whose speeds have one size; the first event that
    sets two speeds leaves the other two to follow.
    """
    model, t = equations("five bar").compile(), (2 * np.pi - 0.1) / 50
    before = model.simulate(t - 1e-13, rtol=1e-12, atol=1e-14)
    after = model.simulate(t + 1e-13, rtol=1e-12, atol=1e-14)
    assert [e.name for e in after.events] == ["one", "two"]
    a, b, c, d = (before[f"{name}.q1"][-1] for name in "ABCD")
    J = 0.4 * np.array([
        [-np.sin(a) - np.sin(a + b), -np.sin(a + b), np.sin(c) + np.sin(c + d), np.sin(c + d)],
        [np.cos(a) + np.cos(a + b), np.cos(a + b), -np.cos(c) - np.cos(c + d), -np.cos(c + d)],
    ])  # fmt: skip
    u = np.array([before[f"{name}.u1"][-1] for name in "ABCD"])
    assert np.abs(J @ u).max() < 1e-9
    u[1], u[2] = 11.0, -0.8
    u[[0, 3]] += np.linalg.lstsq(J[:, [0, 3]], -J @ u, rcond=None)[0]
    np.testing.assert_allclose([after[f"{name}.u1"][-1] for name in "ABCD"], u, rtol=1e-9)


PROGRAMS = [("c", "five bar"), *((language, "differential") for language in LANGUAGES if language != "c")]


@pytest.mark.parametrize(("language", "name"), PROGRAMS)
def test_programs_adjust_speeds_as_the_process_does(language: str, name: str, tmp_path: Path) -> None:
    if TOOLS.get(language, "") is None:
        pytest.skip(f"no compiler of {language}")
    options: dict[str, Any] = {}
    if language == "embedded":
        options = {"profile": "embedded", "precision": "double", "measure": False}
    written = "c" if language == "embedded" else language
    folder = equations(name).export(written, tmp_path / language, **options)
    case = Case(differential, SPAN, {}, TOLERANCE, (), 3, STEPS)
    names, rows = LANGUAGES[language](folder, case)
    run = process(name, language in FIXED, language == "matlab")
    for output in run.names:
        found = rows[:, (names or run.names).index(output)]
        np.testing.assert_allclose(found, run[output], rtol=1e-12, atol=1e-12, err_msg=output)


@pytest.mark.skipif(NODE is None, reason="no Node.js")
def test_modules_adjust_speeds(tmp_path: Path) -> None:
    how = {"method": "rk4", "step": SPAN / STEPS, "sample": SPAN / 8}
    folder = equations("differential").export("wasm", tmp_path / "wasm", methods=["rk4"])
    told = run_node(folder, f"""import {{ load }} from "./differential.js";
const { "{ values, status }" } = (await load()).simulate({SPAN}, {json.dumps(how)});
const rows = Object.entries(values).map(([name, row]) => [name, Array.from(row)]);
console.log(JSON.stringify({ "{ status, values: Object.fromEntries(rows) }" }));
""")  # fmt: skip
    assert told["status"] == "finished"
    run = process("differential", True)
    for name in run.names:
        np.testing.assert_allclose(told["values"][name], run[name], rtol=1e-12, atol=1e-12, err_msg=name)


def test_an_fmu_adjusts_speeds(tmp_path: Path) -> None:
    """In co-simulation, and in model exchange, where the importer integrates between events."""
    need_compiler()
    path = equations("differential").export("fmu", tmp_path / "differential.fmu")
    run, names = process("differential", False), ["A.u1", "B.u1", "C.u1", "carriage.q1"]
    for kind in ("CoSimulation", "ModelExchange"):
        how: dict[str, Any] = {"stop_time": SPAN, "output_interval": SPAN / 8, "output": names}
        found = simulate_fmu(path, fmi_type=kind, **how)
        for name in names:
            np.testing.assert_allclose(found[name], run[name], rtol=1e-8, atol=1e-8, err_msg=f"{kind} {name}")


def test_batches_adjust_speeds() -> None:
    model = equations("five bar").compile()
    how: dict[str, Any] = {"rtol": 1e-8, "atol": 1e-10}
    speeds = np.array([-6.0, -5.5, -5.0])
    wanted = {"end": "final(D.u1)"}
    batch = model.simulate_batch(SPAN, initial={"A.u1": speeds}, metrics=wanted, **how)
    for value, end in zip(speeds, batch["end"], strict=True):
        run = model.simulate(SPAN, initial={"A.u1": value}, **how)
        assert end == pytest.approx(run["D.u1"][-1], rel=1e-12)


def test_a_locked_speed_may_be_set_to_zero(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A is latched for good at 0.1; a wall at 0.2 stops A, which has stopped, and turns B back."""
    s = arm.System("latch")
    for name in "AB":
        s.body(name, joint=arm.Prismatic("x"), mass=1.0, inertia=0)
    s.event("latch", "t - 0.1", direction=1, lock="A.q1")
    s.event("wall", "t - 0.2", direction=1, set={"A.u1": 0.0, "B.u1": "-B.u1"})
    s.start({"A.u1": 1.0, "B.u1": 2.0})
    eom = s.derive()
    model, names = eom.compile(), ("A.q1", "B.q1", "A.u1", "B.u1")
    model.simulate(0.3)
    with monkeypatch.context() as changes:
        changes.setattr(
            ConfigurationSupply, "__call__", None
        )  # the loop has tables of what the first run met
        final = model.simulate(0.3).final
    expected = pytest.approx([0.1, 0.2, 0.0, -2.0], abs=1e-12)
    assert [final[name] for name in names] == expected
    ended = loaded(eom.export("python", tmp_path / "python") / "latch.py").simulate(0.3)
    assert [ended.column(name)[-1] for name in names] == expected


def test_speeds_that_contradict_each_other_are_refused(tmp_path: Path) -> None:
    s = differential()
    s.event("all", "t - 0.15", direction=1, set={"A.u1": 1.0, "B.u1": 1.0, "C.u1": 1.0})
    eom = s.derive()
    told = r"after event 'all': the new speeds A.u1, B.u1, C.u1 contradict constraint 'planets'"
    with pytest.raises(arm.ArmillaryError, match=f"{told}.*; set fewer of them"):
        eom.compile().simulate(SPAN)
    run = loaded(eom.export("python", tmp_path / "python") / "differential.py").simulate(SPAN)
    assert run.t == pytest.approx(0.15) and "an event sets speeds that contradict each other" in run.status
    with pytest.raises(arm.ArmillaryError, match=r"'third' sets .*leave out configurations=False"):
        eom.export("c", tmp_path / "c", configurations=False)


@pytest.mark.parametrize("how", [{}, {"method": "rodas5p"}], ids=["compiled", "rodas5p"])
def test_a_dependent_speed_cannot_be_set_to_an_acceleration(how: dict[str, Any]) -> None:
    s = differential()
    turning = arm.dot(arm.angular_acceleration(s.bodies["A"]), s.ground.z)
    s.event("late", "t - 0.05", direction=1, set={"C.u1": s.parameter("T", 1.0, units="s") * turning})
    with pytest.raises(
        arm.ArmillaryError, match=r"'late' sets 'C.u1', which is not a state.*earlier event store"
    ):
        s.derive().compile().simulate(0.1, **how)


def test_a_speed_of_the_start_that_others_contradict_is_told_once(tmp_path: Path) -> None:
    """An export makes several runs; by default Python would show one of the warnings."""
    s = differential()
    s.start({"C.u1": 7.0})
    eom = s.derive()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        eom.export("c", tmp_path / "c")
    assert [str(w.message).split(": ")[1].split(";")[0] for w in told] == [
        "speeds made to agree with the constraints by changing C.u1 from 7 to 1.5"
    ]
    assert told[0].filename == __file__
