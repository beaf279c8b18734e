"""Small promises of the interface: pickles, units in texts, names that are public, zeros without a sign."""

from __future__ import annotations

import copy
import importlib
import os
import pickle
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import armillary as arm
from armillary.algebra.arguments import core_of
from armillary.cli.app import app
from armillary.stages.shared import VERBS


def pendulum() -> arm.System:
    s = arm.System("pendulum")
    s.parameter("L", 1.0, units="m")
    s.body("b", joint=arm.Revolute("z"), com=(0, "-L", 0), mass=1, inertia=0)
    s.gravity(9.81, -s.ground.y)
    s.memory("offset", 0.0, units="mm")
    s.output("height", "dot(position(b.com), ground.y) + offset", units="m")
    return s


@pytest.fixture(scope="module")
def model() -> arm.CompiledModel:
    return pendulum().derive().compile()


# ---------------------------------------------------------------- pickles


@pytest.mark.parametrize(
    "again", [lambda s: pickle.loads(pickle.dumps(s)), copy.deepcopy], ids=["pickle", "copy"]
)
def test_systems_are_pickled_as_their_texts(again, model: arm.CompiledModel) -> None:
    s = pendulum()
    other = again(s)
    assert other is not s and other.bodies["b"] is not s.bodies["b"]
    state, found = [0.3, 0.2], other.derive().compile()
    np.testing.assert_array_equal(found.derivatives(0.0, state), model.derivatives(0.0, state))


def test_flexible_systems_are_pickled_with_their_arrays() -> None:
    s = arm.System("boom")
    s.body("boom", joint=arm.Revolute("z")).flexible(arm.Beam(2.0, EI=50.0, mass_per_length=0.5), modes=2)
    other = pickle.loads(pickle.dumps(s))
    mine, theirs = s.flexibles["boom"].part, other.flexibles["boom"].part
    np.testing.assert_allclose(theirs.frequencies, mine.frequencies, rtol=1e-14)


def test_what_is_not_pickled_says_how_to_send_it(model: arm.CompiledModel) -> None:
    for thing in (model, model.equations):
        with pytest.raises(arm.ArmillaryError, match="Send the System instead, or its file"):
            pickle.dumps(thing)
    q = pendulum().bodies["b"].q1
    with pytest.raises(arm.ArmillaryError, match=r"'b.q1' cannot be pickled"):
        pickle.dumps(q)
    assert copy.deepcopy({"angle": q})["angle"] is q


def test_results_of_analyses_are_pickled_as_plain_data(model: arm.CompiledModel, tmp_path: Path) -> None:
    """Worker processes hand them back; the code that they were found with stays there."""
    op = model.equilibrium()
    linear = model.linearize(at=op, inputs=["L"], outputs=["height"])
    batch = model.simulate_batch(0.02, step=0.01, initial={"b.q1": [0.1, 0.2]}, progress=False)
    branch = model.trace(op, "L", 1.0, 1.2, points=3)
    for thing in (op, linear, linear.modes(), model.undamped_modes(op), batch, branch):
        found = pickle.loads(pickle.dumps(thing))
        assert type(found) is type(thing) and str(found) == str(thing)
    assert copy.copy(op) is op
    found = pickle.loads(pickle.dumps(op))
    np.testing.assert_array_equal(
        model.simulate(0.1, initial=found).values, model.simulate(0.1, initial=op).values
    )
    np.testing.assert_array_equal(
        pickle.loads(pickle.dumps(linear)).modes().eigenvalues, linear.modes().eigenvalues
    )
    with pytest.raises(arm.ArmillaryError, match="from another process"):
        pickle.loads(pickle.dumps(branch)).point(0)
    again = pickle.loads(pickle.dumps(linear))
    for frozen in (again.parameters, again.operating_point):
        with pytest.raises(TypeError, match="does not support item assignment"):
            frozen["L"] = 2.0
    with pytest.raises(ValueError, match="read-only"):
        again.A[0, 0] = 1.0


def test_names_are_imported_by_one_thread_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python ends the import of a package by one thread and of its module by another as a deadlock."""
    together, most, whole = [0], [0], importlib.import_module

    def slow(name: str) -> Any:
        together[0] += 1
        most[0] = max(most[0], together[0])
        time.sleep(0.01)
        together[0] -= 1
        return whole(name)

    monkeypatch.setattr(importlib, "import_module", slow)
    with ThreadPoolExecutor(4) as pool:
        assert len(set(pool.map(lambda name: getattr(arm, name), ("Run", "Batch", "Study", "Fmu")))) == 4
    assert most == [1]


def test_wrong_keys_of_results_get_a_sentence(model: arm.CompiledModel) -> None:
    """What users write in brackets and hand to methods of results: errors of Python and NumPy came back."""
    op = model.equilibrium()
    lin = model.linearize(at=op, inputs=["L"], outputs=["height"])
    sens = model.sensitivities(0.02, ["L"], of=["height"], step=0.01)
    locus, frequencies = arm.root_locus(model, "L", [1.0, 1.2]), lin.frequency_response([1.0])
    y, table = model.regressor([0.1], [0.2], [0.3]), model.equations.configurations
    design = arm.Design({"L": [1.0, 2.0]}, "list")
    assert "b.q2" not in op and op.get("b.q2") is None  # an unknown name is a KeyError, too
    for call, sentence in (
        (lambda: sens[3], "sensitivities are given by two names, .* not by 3"),
        (lambda: sens["height", "L", "m"], "sensitivities are given by two names"),
        (lambda: sens["height", 3], "no derivative by '3'"),
        (lambda: sens.plot(to=3), "to= must be"),
        (lambda: frequencies[0], "frequency responses are given by two names, .* not by 0"),
        (lambda: frequencies[1, 2], "the linear model has no output '1'"),
        (lambda: lin.modes().named("weave"), "a mapping of numbers to names, {0: 'weave'}, is needed"),
        (lambda: locus.named(["weave"]), "a mapping of numbers to names, {0: 'weave'}, is needed"),
        (lambda: locus[5], "there is no branch 5; they are numbered 0 to 0"),
        (lambda: y.efforts(3), r"must hold the \d base parameters? of 'pendulum', .* has the shape \(\)"),
        (lambda: y.efforts("m"), "parameters= must be a number or an array of numbers, not 'm'"),
        (lambda: table["open"], "there is no configuration 'open'; they are numbered 0 to 0"),
        (lambda: table.equations(1), "there is no configuration 1"),
        (lambda: design.values("first"), "there is no run first"),
        (lambda: op["b.q2"], r"the operating point of 'pendulum' has no 'b.q2'; did you mean 'b.q1'\?"),
        (lambda: core_of(model).loops, "'pendulum' has no loops to close"),
        (
            lambda: model.simulate(0.02, step=0.01).plot(ax=3),
            "ax: one axes of Matplotlib, .* is needed, not 3",
        ),
        (lambda: lin.modes(tolerance=np.nan), "tolerance= must be a number from 0 to 1, not nan"),
        (lambda: arm.Table([0, 1], [0, 1]).derivative("x"), "no axis 'x'; they are numbered"),
        (lambda: design.block(0, 1.5), r"there are no runs 0 to 1.5: the design has runs 0 to 1"),
        (lambda: arm.Design.from_data(3), "a design must hold values by name, .* not 3"),
        (lambda: model.equations.mass_matrix.evaluate(2.0), "values by symbol or name are needed"),
    ):
        with pytest.raises(arm.ArmillaryError, match=sentence):
            call()


def test_tables_by_name_explain_a_name_that_they_do_not_hold(model: arm.CompiledModel) -> None:
    run = model.simulate(0.02, step=0.01)
    batch = model.simulate_batch(0.02, step=0.01, runs=2, metrics={"top": arm.Maximum("height")})
    system = model.equations.system  # a frozen copy
    for table, kind, known in (
        (system.bodies, "body", "b"),
        (system.outputs, "output", "height"),
        (model.parameters, "parameter", "L"),
        (run.final, "output", "height"),
        (run.units, "output", "height"),
        (pickle.loads(pickle.dumps(run)).units, "output", "height"),
        (pickle.loads(pickle.dumps(batch)).metrics, "metric", "top"),
    ):
        assert known in table and table.get("weight") is None
        with pytest.raises(KeyError) as raised:
            table["weight"]
        assert isinstance(raised.value, arm.ArmillaryError)
        assert str(raised.value).startswith(f"there is no {kind} 'weight'; ")
    with pytest.raises(KeyError, match="there is no body 'c'"):
        pendulum().bodies["c"]


def test_a_process_without_a_console_runs(model: arm.CompiledModel, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where stdout and stderr are closed, and under pythonw, sys.stdout and sys.stderr are None."""
    closed = open(os.devnull, "w")  # noqa: SIM115
    closed.close()
    for missing in (None, closed):
        monkeypatch.setattr(sys, "stderr", missing)
        for _ in range(3):
            assert model.simulate(0.1, initial={"b.q1": 0.2}).time[-1] == 0.1
        model.simulate_batch(0.02, step=0.01, initial={"b.q1": [0.1, 0.2]})
    monkeypatch.setattr(sys, "stdout", None)
    assert app.main(["schema", "model"], standalone_mode=False) == 0


def test_saved_solutions_are_solutions_again(model: arm.CompiledModel, tmp_path: Path) -> None:
    found = model.solve({"height": -0.9}, starts=3)
    found.save(tmp_path / "found.csv")
    again = arm.load_sweep(tmp_path / "found.csv")
    assert type(again) is arm.Solutions and str(again) == str(found)
    with pytest.raises(arm.ArmillaryError, match="ERD files are over time"):
        found.save(tmp_path / "found.erd")


def test_parts_of_a_system_that_are_not_pickled_are_named() -> None:
    s = pendulum()
    b = s.bodies["b"]
    for thing, message in (
        (b, r"Body\(b, .*\) cannot be pickled.*pickle the system instead.*system.bodies\['b'\]"),
        (b.com, r"Point\(b.com\) cannot be pickled.*system.bodies\['b'\].point\('com'\)"),
        (s.ground, r"cannot be pickled.*system.ground"),
        (b.x, "the vector 'b.x' cannot be pickled.*pickle the system instead"),
        (arm.outer(b.x, b.y), r"the dyadic '.*b.x\*b.y' cannot be pickled.*pickle the system instead"),
        (b.frame, r"Frame\('b'\) cannot be pickled.*pickle the system instead"),
    ):
        with pytest.raises(arm.ArmillaryError, match=message):
            pickle.dumps(thing)
    assert copy.deepcopy([b, b.com, b.x]) == [b, b.com, b.x]
    assert (copy.copy(b).name, copy.copy(b).q1) == ("b", b.q1)


def test_a_system_that_no_text_can_hold_says_so() -> None:
    s = pendulum()
    s.function("anything", lambda *x: sum(x))
    with pytest.raises(arm.ModelError, match=r"any number of arguments.*pickled, and copied, as its text"):
        pickle.dumps(s)


# ---------------------------------------------------------------- units in texts


def test_values_may_be_texts_with_units(model: arm.CompiledModel) -> None:
    """ω² = g/L: 50 cm and 0.5 m are one pendulum; angles in degrees, speeds in rpm."""
    expected = model.simulate(
        0.5, step=1e-2, parameters={"L": 0.5}, initial={"b.q1": np.pi / 18, "b.u1": np.pi}
    )
    found = model.simulate(
        0.5, step=1e-2, parameters={"L": "50 cm"}, initial={"b.q1": "10 deg", "b.u1": "30 rpm"}
    )
    np.testing.assert_allclose(found["b.q1"], expected["b.q1"], rtol=1e-13, atol=1e-15)
    rate = model.derivatives(0.0, [0.1, 0.0], {"L": "50 cm"})[1]
    assert rate == pytest.approx(-9.81 / 0.5 * np.sin(0.1), rel=1e-14)
    assert model.state({"b.q1": "pi/18"})[0] == pytest.approx(np.pi / 18)
    raised = model.simulate(0.01, step=1e-2, memory={"offset": "2 cm"})["height"][0]
    assert raised == pytest.approx(-1.0 + 0.02)
    batch = model.simulate_batch(
        0.1, step=1e-2, parameters={"L": "50 cm"}, initial={"b.q1": [0.1, 0.2]}, metrics=["final(b.q1)"]
    )
    assert np.all(np.isfinite(batch["final(b.q1)"]))


def test_values_of_many_runs_may_be_texts_with_units(model: arm.CompiledModel) -> None:
    texts = {
        "parameters": {"L": ["50 cm", 0.8, "1"]},
        "initial": {"b.q1": ("10 deg", "pi/9", 0.1), "b.u1": np.array(["30 rpm", "0", "1"])},
        "memory": {"offset": ["2 cm", 0.0, "1 mm"]},
    }
    numbers = {
        "parameters": {"L": [0.5, 0.8, 1.0]},
        "initial": {"b.q1": [np.pi / 18, np.pi / 9, 0.1], "b.u1": [np.pi, 0.0, 1.0]},
        "memory": {"offset": [20.0, 0.0, 1.0]},  # in mm
    }
    asked = {"step": 1e-2, "metrics": ["final(b.q1)", "final(height)"], "progress": False}
    found, expected = (model.simulate_batch(0.1, **asked, **given) for given in (texts, numbers))
    for metric in asked["metrics"]:
        np.testing.assert_allclose(found[metric], expected[metric], rtol=1e-13)
    with pytest.raises(arm.ParameterError, match=r"parameter 'L' has units of \[m\] \(m\), but '3 kg'"):
        model.simulate_batch(0.1, parameters={"L": ["3 mm", "3 kg"]}, **asked)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"parameters": {"L": "50 kg"}}, r"parameter 'L' has units of \[m\] \(m\), but '50 kg' has \[kg\]"),
        ({"parameters": {"L": "50 cmm"}}, "parameter 'L': unknown unit 'cmm'"),
        ({"parameters": {"L": "long"}}, "parameter 'L' needs a number, or text such as '2.5 m', not 'long'"),
        ({"initial": {"b.q1": "3 m"}}, "the initial value of 'b.q1' has units of"),
        ({"memory": {"offset": "3 s"}}, "memory 'offset' has units of"),
    ],
)
def test_texts_of_other_units_are_refused(options, message: str, model: arm.CompiledModel) -> None:
    with pytest.raises(arm.ParameterError, match=message):
        model.simulate(0.1, step=1e-2, **options)


# ---------------------------------------------------------------- text models


@pytest.mark.parametrize(
    ("letter", "numbers"), [("-x", (-1, 0, 0)), ("-y", (0, -1, 0)), ("-z", (0, 0, -1))], ids=str
)
def test_negative_letter_axes_are_saved(letter: str, numbers: tuple[int, ...], tmp_path: Path) -> None:
    """The same motion as with the axis in numbers, before and after it went through a file."""

    def system(axis: object) -> arm.System:
        s = arm.System("s")
        a = s.body("a", joint=arm.Revolute(axis), com=(0.1, 0.2, 0.3), mass=1, inertia=(1, 1.5, 2))
        b = s.body("b", a, arm.Prismatic(axis), com=(0.3, 0.1, 0), mass=1, inertia=(1, 1, 1))
        c = s.body("c", b, arm.Cylindrical(axis), com=(0.3, 0.1, 0), mass=1, inertia=(1, 1, 1))
        d = s.body("d", c, arm.Planar(axis), com=(0.3, 0.1, 0), mass=1, inertia=(1, 1, 1))
        s.body(
            "e", d, arm.Joint(translate=[axis], rotate=[axis]), com=(0.1, 0, 0.2), mass=1, inertia=(1, 1, 1)
        )
        s.gravity(9.81, s.ground.frame.vector((0.1, 0.2, -1)))
        return s

    system(letter).save(tmp_path / "s.toml")
    again = arm.load(tmp_path / "s.toml")
    assert again.bodies["a"].joint.describe() == f"revolute {letter}"
    state = np.linspace(-0.4, 0.5, 18)
    found = [s.derive("kane").compile().derivatives(0.0, state) for s in (again, system(numbers))]
    np.testing.assert_allclose(found[0], found[1], rtol=1e-12, atol=1e-12)


def test_planar_speeds_in_body_axes_need_a_positive_letter() -> None:
    with pytest.raises(arm.ModelError, match="needs the normal 'x', 'y' or 'z'"):
        arm.Planar("-y", velocity="body")


@pytest.mark.parametrize("lock", ["b.q1", "expression", ["b.q1"]], ids=str)
def test_events_that_lock_one_joint_are_saved(lock: object, tmp_path: Path) -> None:
    s = pendulum()
    s.event("caught", "t - 1", lock=s.bodies["b"].q1 if lock == "expression" else lock)
    s.event("freed", "t - 2", unlock="b.u1")
    s.save(tmp_path / "s.toml")
    events = arm.load(tmp_path / "s.toml").events
    assert [str(u) for u in events["caught"].lock] == [str(u) for u in events["freed"].unlock] == ["b.u1"]


# ---------------------------------------------------------------- names, zeros, advice


def test_dir_shows_what_is_public_and_nothing_else() -> None:
    shown = [name for name in dir(arm) if not name.startswith("__")]
    assert sorted(shown) == sorted(arm.__all__)
    assert all(hasattr(arm, name) for name in shown)


def test_no_zero_has_a_sign(model: arm.CompiledModel, tmp_path: Path) -> None:
    """A pendulum at rest: its acceleration is −(g/L) sin 0."""
    assert not np.signbit(model.derivatives(0.0, [0.0, 0.0])).any()
    run = model.simulate(0.1, step=1e-2, initial={"b.q1": -0.0})
    assert not np.signbit(run.values[run.values == 0]).any()
    run.save(tmp_path / "run.csv")
    assert "-0," not in (tmp_path / "run.csv").read_text().replace("-0.0,", "-0,")
    batch = model.simulate_batch(0.1, step=1e-2, initial={"b.q1": [-0.0, 0.0]}, metrics=["final(b.u1)"])
    assert not np.signbit(batch["final(b.u1)"]).any()


@pytest.mark.parametrize("compile", ["full", "quick"])
def test_code_of_outputs_leaves_no_zero_with_a_sign(compile: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows are not looked at again after the run: a state, its opposite, a product and a number."""
    monkeypatch.setenv("ARMILLARY_COMPILE", compile)
    s = arm.System("slider")
    b = s.body("b", joint=arm.Prismatic("x"), mass=1, inertia=0)
    for name, value in {"opposite": -b.q1, "product": b.q1 * b.u1, "number": -0.0}.items():
        s.output(name, value)
    model = s.derive().compile()
    state = np.array([-0.0, 3.0])
    rows = np.full(len(model.output_names), 7.0)
    places = [a.ctypes.data for a in (state, model.constants({}), np.zeros(1), rows)]
    core_of(model).function("outputs")(0.0, *places)
    assert dict(zip(model.output_names, rows.tolist(), strict=True)).keys() >= {"b.q1", "opposite", "product"}
    assert rows[model.output_names.index("b.u1")] == 3.0
    assert not np.signbit(rows).any()
    state[:] = 0.0, -0.0
    core_of(model).function("outputs")(0.0, *places)
    assert not rows.any() and not np.signbit(rows).any()


def test_times_have_no_zero_with_a_sign(model: arm.CompiledModel) -> None:
    for how in ({"sample": [-0.0, 0.05]}, {"t0": -0.0}, {"t0": -0.1, "t_end": -0.0}, {"step": 0.05}):
        run = model.simulate(**{"t_end": 0.1, "step": 1e-2, **how})
        assert 0.0 in run.time and not np.signbit(run.time[run.time == 0]).any()


def test_a_motion_that_follows_the_state_is_advised_an_actuator() -> None:
    with pytest.raises(arm.ModelError, match=r"not on 'b.u1'; .*actuator: moment\(\) or force\(\)"):
        pendulum().prescribe("b.q1", "0.1*b.u1")


def test_recursion_on_a_loop_with_a_massless_link_advises_kane() -> None:
    s = arm.System("loop")
    rod = {"com": (0.5, 0, 0), "mass": 1, "inertia": (0.1, 0.1, 0.1)}
    a = s.body("a", joint=arm.Revolute("z"), **rod)
    b = s.body("b", a, arm.Revolute("z"), at=(1, 0, 0), mass=0, inertia=0)
    c = s.body("c", joint=arm.Revolute("z"), at=(2, 0, 0), **rod)
    s.close_loop(b.point("e", (1, 0, 0)), c.point("e", (0, 1, 0)), [s.ground.x, s.ground.y])
    s.start({"a.q1": 0.5, "b.q1": -0.5, "c.q1": 0.2})
    with pytest.raises(arm.ModelError, match="use formalism='kane'"):
        s.derive("recursive")
    assert s.derive("kane").formalism == "kane"


@pytest.mark.parametrize(
    ("wrong", "hint"),
    [
        (lambda m: m.equations.system.simulate, r"; write system.derive\(\).compile\(\).simulate$"),
        (lambda m: m.equations.system.operations, r"; write system.derive\(\).operations$"),
        (lambda m: m.equations.equilibrium, r"; write equations.compile\(\).equilibrium$"),
        (lambda m: m.export, r"; write model.equations.export$"),
        (lambda m: m.modes, r"; write model.linearize\(…\).modes$"),
        (lambda m: m.equations.system.torque, r"; write system.moment$"),
        (lambda m: m.simulat, "; did you mean 'simulate'"),
        (lambda m: m._nothing, "'_nothing'$"),
        (lambda m: arm.Slider, "; the joint is called Prismatic$"),
        (lambda m: arm.load_runs, "; did you mean 'load_run'"),
    ],
)
def test_a_name_of_another_stage_shows_the_way(model, wrong, hint):
    with pytest.raises(AttributeError, match=hint):
        wrong(model)


def test_the_verbs_of_other_stages_are_there(model):
    lin, run = model.linearize(), model.simulate(0.1)
    stages = {x._stage: x for x in (model.equations.system, model.equations, model)}
    for stage, names in VERBS.items():
        owner = (stages | {"LinearModel": lin, "Run": run})[stage]
        assert not [name for name in names.split() if not hasattr(owner, name)]


def test_a_property_that_fails_keeps_its_own_error(monkeypatch):
    monkeypatch.setattr(arm.System, "broken", property(lambda self: self.body.nothing), raising=False)
    with pytest.raises(AttributeError, match="nothing"):
        assert pendulum().broken


def test_grams_are_not_gravities(model):
    with pytest.raises(arm.UnitsError, match="'g' is a gram, 'gee' standard gravity"):
        pendulum().output("a", "magnitude(acceleration(b.com))", units="g")


def test_texts_call_no_methods():
    with pytest.raises(arm.ExpressionError, match="functions have names without dots"):
        pendulum().output("a", "b.deflection(1)")


def test_names_that_are_listed_are_for_users(model: arm.CompiledModel) -> None:
    """Completion of names in an editor shows verbs and results, which all have a docstring; equations and
    models hold what the package itself calls in one private field.
    """
    system, equations = model.equations.system, model.equations
    for stage, verbs in ((system, VERBS["System"]), (equations, VERBS["Equations"]), (model, VERBS["Model"])):
        assert set(verbs.split()) <= set(dir(stage))
    for stage in (equations, model):
        public = [name for name in dir(stage) if not name.startswith("_")]
        assert not {"targets", "reduction", "run_with", "run_functions", "compiler"} & set(public)
        assert not [name for name in public if name != "equations" and not getattr(type(stage), name).__doc__]
    assert {name for name in vars(model) if not name.startswith("_")} == {"equations"}
