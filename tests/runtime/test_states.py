"""States of the user's own: against closed forms, SciPy, each other and the slider that used to stand in."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import armillary as arm
from armillary.errors import ModelError, ParameterError, UnitsError
from examples import integral_control

FORMALISMS = ("auto", "kane", "recursive", "momentum", "back_substitution", "redundant")
START = {"bob.q1": 0.3, "integral": 0.2, "lag": -0.1}
VALUES = {"kp": 60.0, "ki": 40.0, "kd": 12.0, "ref": 0.7, "tau": 0.05}


def pendulum() -> arm.System:
    """A pendulum under a controller with an integral, whose damping sees a filtered speed."""
    s = arm.System("pendulum with controller")
    s.parameter("kp", VALUES["kp"], units="N*m")
    s.parameter("ki", VALUES["ki"], units="N*m/s")
    s.parameter("kd", VALUES["kd"], units="N*m*s")
    s.parameter("ref", VALUES["ref"], units="rad")
    s.parameter("tau", VALUES["tau"], units="s")
    bob = s.body("bob", joint=arm.Revolute("z"), com=(0, -1, 0), mass=2.0, inertia=(0.1, 0.1, 0.1))
    s.gravity(9.81, -s.ground.y)
    integral = s.state("integral", units="s", about="of the error")
    s.state("lag", "(bob.u1 - lag)/tau", units="rad/s", about="filtered speed")
    s.moment("drive", "kp*(ref - bob.q1) + ki*integral - kd*lag", s.ground.z, on=bob)
    s.rate(integral, "ref - bob.q1")
    s.event("halved", "t - 0.5", direction=1, set={integral: integral / 2})
    s.output("twice", 2 * integral, units="ms")
    s.output("speeding", arm.time_derivative(s.lookup("lag")), units="rad/s^2")
    return s


@pytest.fixture(scope="module")
def models() -> dict[str, arm.CompiledModel]:
    return {name: pendulum().derive(name).compile() for name in FORMALISMS}


@pytest.fixture(scope="module")
def exact() -> np.ndarray:
    """SciPy's motion: angle, speed, integral and filtered speed at 0.5 s (before the event) and 2 s."""

    def rates(t: float, y: np.ndarray) -> list[float]:
        q, u, z, f = y
        drive = VALUES["kp"] * (VALUES["ref"] - q) + VALUES["ki"] * z - VALUES["kd"] * f
        return [u, (drive - 2 * 9.81 * np.sin(q)) / 2.1, VALUES["ref"] - q, (u - f) / VALUES["tau"]]

    how = {"method": "DOP853", "rtol": 1e-12, "atol": 1e-13}
    first = solve_ivp(rates, (0, 0.5), [0.3, 0, 0.2, -0.1], **how).y[:, -1]
    second = solve_ivp(rates, (0.5, 2.0), first * [1, 1, 0.5, 1], **how).y[:, -1]
    return np.array([first, second])


@pytest.mark.parametrize("formalism", FORMALISMS)
def test_a_controller_with_an_integral_moves_as_scipy_says(formalism, models, exact) -> None:
    model = models[formalism]
    how = {"rtol": 1e-12, "atol": 1e-13}
    if formalism == "redundant":
        how = {"step": 1e-3, "method": "projected"}
    run = model.simulate(2.0, initial=START, **how)
    found = [run[name][-1] for name in ("bob.q1", "bob.u1", "integral", "lag")]
    np.testing.assert_allclose(found, exact[1], rtol=0, atol=1e-10)
    assert run["twice"][-1] == pytest.approx(2000 * found[2], rel=1e-12)
    assert (run.units["integral"], run.units["lag"]) == ("s", "rad/s")
    assert model.state_names == model.equations.states == ("integral", "lag")


@pytest.mark.parametrize("formalism", FORMALISMS)
def test_states_follow_the_speeds_and_all_formalisms_give_their_rates(formalism, models) -> None:
    model = models[formalism]
    state = model.state(START)
    assert state[-2:].tolist() == [0.2, -0.1]
    np.testing.assert_allclose(model.derivatives(0.0, state)[-2:], [0.7 - 0.3, 0.1 / 0.05], rtol=1e-12)
    assert model.outputs(0.0, state)["speeding"] == pytest.approx(2.0, rel=1e-12)
    if formalism != "redundant":
        u_dot = (60 * 0.4 + 40 * 0.2 + 12 * 0.1 - 2 * 9.81 * np.sin(0.3)) / 2.1
        assert model.accelerations(0.0, [0.3], [0.0], states=[0.2, -0.1]) == pytest.approx([u_dot], rel=1e-12)
        at_rest = -2 * 9.81 * np.sin(0.7) / 2.1  # the states at their initial values, zero
        assert model.accelerations(0.0, [0.7], [0.0]) == pytest.approx([at_rest], rel=1e-12)


def test_staggered_steps_take_states_along_in_second_order(models, exact) -> None:
    errors = []
    for step in (4e-3, 2e-3):
        run = models["redundant"].simulate(0.5 - 1e-9, step=step, initial=START, method="staggered")
        errors.append([abs(run[name][-1] - exact[0][i]) for i, name in ((2, "integral"), (3, "lag"))])
    assert np.max(errors[0]) < 1e-3
    assert np.all(np.array(errors[1]) < 0.3 * np.array(errors[0]))


def test_a_slider_of_unit_mass_gives_the_same_motion_as_a_state() -> None:
    def made(slider: bool) -> arm.System:
        s = arm.System("lag")
        b = s.body("b", joint=arm.Prismatic("x"), mass=2.0, inertia=0)
        s.force("spring", "-8*b.q1", b.x, at=b.com)
        for name, units in (("w", "1/s^2"), ("d", "1/s"), ("c", "N*s/m"), ("m", "kg")):
            s.parameter(name, 1.0 + 2.0 * (name == "d"), units=units)
        if slider:
            z = s.body("z", joint=arm.Prismatic("x"), mass=1.0, inertia=0)
            s.force("rate", "m*(w*b.q1 - d*z.u1)", b.x, at=z.com)
        else:
            s.state("z", "w*b.q1 - d*z", units="m/s")
        s.force("pull", f"-c*{'z.u1' if slider else 'z'}", b.x, at=b.com)
        return s

    models = [made(slider).derive().compile() for slider in (False, True)]
    runs = [m.simulate(3.0, initial={"b.q1": 1.0}, rtol=1e-12, atol=1e-13) for m in models]
    np.testing.assert_allclose(runs[0]["b.q1"], runs[1]["b.q1"], rtol=0, atol=1e-10)
    np.testing.assert_allclose(runs[0]["z"], runs[1]["z.u1"], rtol=0, atol=1e-10)


def test_a_first_order_lag_and_a_pair_of_states_have_their_closed_forms() -> None:
    s = arm.System("free")
    s.body("b", joint=arm.Prismatic("x"), mass=1.0, inertia=0)
    s.parameter("T", 0.4, units="s")
    s.state("z", "(1 - z)/T", 0.25)
    one, other = s.state("one", initial=1.0), s.state("other")
    s.rate("one", "-3*other")  # each names the other
    s.rate(other, 3 * one)
    run = s.derive().compile().simulate(2.0, rtol=1e-12, atol=1e-13, sample=0.25)
    t = run.time
    np.testing.assert_allclose(run["z"], 1 - 0.75 * np.exp(-t / 0.4), rtol=0, atol=1e-10)
    np.testing.assert_allclose(run["one"], np.cos(3 * t), rtol=0, atol=1e-10)
    np.testing.assert_allclose(run["other"], np.sin(3 * t), rtol=0, atol=1e-10)


def test_relaxation_of_a_tyre_builds_its_force_over_a_length() -> None:
    # ẏ = v − |u| y / σ on a carriage of constant speed u: a force that reaches 1 − 1/e after the length σ.
    s = arm.System("tyre")
    s.parameter("sigma", 0.6, units="m", about="relaxation length")
    s.parameter("u", 15.0, units="m/s")
    rim = s.body("rim", joint=arm.Prismatic("y"), mass=10.0, inertia=0)
    s.prescribe("rim.u1", "0.3")
    s.state("y", "rim.u1 - abs(u)*y/sigma", units="mm", about="deflection of the tread")
    s.force("side", "-5e4*y", s.ground.y, at=rim.com)
    run = s.derive().compile().simulate(0.2, rtol=1e-12, atol=1e-14, sample=0.04)
    steady = 0.3 * 0.6 / 15
    wanted = steady * (1 - np.exp(-run.time * 15 / 0.6))
    np.testing.assert_allclose(run["y"], 1000 * wanted, rtol=1e-9, atol=1e-12)
    assert run["side"][1] == pytest.approx(-5e4 * steady * (1 - np.exp(-1)), rel=1e-9)


def test_a_rate_may_hold_accelerations_and_reactions() -> None:
    # ∫ a dt = v − v₀, and the impulse of the constraint's force is what the momentum lacks.
    for formalism in ("kane", "recursive", "redundant"):
        s = arm.System("pair")
        s.parameter("F", 3.0, units="N")
        a = s.body("a", joint=arm.Prismatic("x"), mass=2.0, inertia=0)
        s.body("b", joint=arm.Prismatic("x"), mass=1.0, inertia=0)
        s.force("push", "F", s.ground.x, at=a.com)
        link = s.constrain("a.q1 - b.q1", name="link")
        s.state("gained", arm.time_derivative(a.u1), units="m/s")
        s.state("impulse", link.force, units="N*s")
        how = {"step": 0.01, "method": "projected"} if formalism == "redundant" else {}
        run = s.derive(formalism).compile().simulate(2.0, initial={"a.u1": 0.5}, **how)
        assert run["gained"][-1] == pytest.approx(2.0, rel=1e-9)
        assert abs(run["impulse"][-1]) == pytest.approx(2.0, rel=1e-9)  # 1 kg at 1 m/s²
        assert run["b.u1"][-1] == pytest.approx(2.5, rel=1e-9)


def test_jpl_formulations_take_states() -> None:
    s = arm.System("vehicle")
    hub = s.body("hub", joint=arm.Free(), mass=100.0, inertia=(10.0, 12.0, 15.0))
    s.body("panel", hub, arm.Revolute("x"), at=(0, 1, 0), com=(0, 1, 0), mass=5.0, inertia=(2.0, 0.1, 2.0))
    s.state("wheel", "-0.4*hub.u4 - 0.2*wheel", 0.3, units="N*m")
    s.moment("torque", "wheel", hub.x, on=hub)
    start = {"hub.u4": 0.1, "hub.u5": -0.2, "panel.q1": 0.3}
    runs = {f: s.derive(f).compile().simulate(3.0, initial=start, rtol=1e-11) for f in ("kane", "mbdyfn")}
    for name in ("wheel", "hub.u4", "panel.u1"):
        np.testing.assert_allclose(runs["mbdyfn"][name], runs["kane"][name], rtol=0, atol=1e-9)


def test_states_live_through_locks_and_changes_of_dependent_speeds() -> None:
    s = arm.System("crank")
    bar = {"mass": 1.0, "inertia": (0.1, 0.1, 0.1)}
    crank = s.body("crank", joint=arm.Revolute("z"), com=(0.5, 0, 0), **bar)
    rod = s.body("rod", crank, arm.Revolute("z"), at=(1, 0, 0), com=(1, 0, 0), **bar)
    s.constrain(arm.dot(arm.position(rod.point((2, 0, 0))), s.ground.y), name="slide")
    s.state("turned", crank.u1, 0.2)
    s.state("clock", 1, units="s")
    s.event("held", "t - 4", direction=1, lock=crank.u1)
    run = s.derive().compile().simulate(5.0, initial={"crank.q1": 0.2, "crank.u1": 2.0}, rtol=1e-11)
    np.testing.assert_allclose(run["turned"], run["crank.q1"], rtol=0, atol=1e-8)
    np.testing.assert_allclose(run["clock"], run.time, rtol=0, atol=1e-12)
    assert run["crank.u1"][-1] == 0.0


def test_an_integral_takes_away_the_error_that_a_load_leaves() -> None:
    # Without it the arm rests where kp (target - q) balances the weights' moment, with it at the target.
    for integral in (False, True):
        run = integral_control.system(integral).derive().compile().simulate(8.0, sample=1.0)
        q, target = run["beam.q1"][-1], np.radians(30)
        held = (2.0 * 0.4 + 3.0 * 0.8) * 9.81 * np.cos(q)
        assert run["motor"][-1] == pytest.approx(held, rel=1e-5)
        assert q == pytest.approx(target if integral else target - held / 150.0, rel=1e-5)


# ---------------------------------------------------------------- all that follows by construction


@pytest.mark.parametrize("formalism", ["kane", "momentum"])
def test_sensitivities_to_and_of_states_are_those_of_differences(formalism, models) -> None:
    model, of = models[formalism], ("bob.q1", "integral", "lag")
    to = {"tau": 0.05, "ki": 40.0, "integral": 0.2, "lag": -0.1, "bob.q1": 0.3}
    found = model.sensitivities(1.0, list(to), of, initial=START, rtol=1e-11, atol=1e-12)

    def final(name: str, value: float) -> np.ndarray:
        given = {"parameters": {name: value}} if name in model.parameters else {}
        initial = START if given else {**START, name: value}
        run = model.simulate(1.0, initial=initial, rtol=1e-12, atol=1e-13, sample=1.0, **given)
        return np.array([run[o][-1] for o in of])

    for name, value in to.items():
        h = 1e-4 * abs(value)
        by_differences = (final(name, value + h) - final(name, value - h)) / (2 * h)
        exact = [found[o, name][-1] for o in of]
        np.testing.assert_allclose(exact, by_differences, rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize(("formalism", "step"), [("kane", 1e-2), ("kane", None), ("momentum", 1e-2)])
def test_batches_give_the_numbers_of_single_runs(formalism, step, models) -> None:
    model = models[formalism]
    integral, tau = np.linspace(-0.2, 0.4, 5), np.linspace(0.03, 0.08, 5)
    initial, metrics = {**START, "integral": integral}, ["final(integral)", "maximum(lag)"]
    batch = model.simulate_batch(
        0.8, step=step, initial=initial, parameters={"tau": tau}, metrics=metrics, outputs=["integral"]
    )
    for i in (0, 3):
        given = {"initial": {**START, "integral": integral[i]}, "parameters": {"tau": tau[i]}}
        single = model.simulate(0.8, step=step, **given)
        assert batch["final(integral)"][i] == pytest.approx(single["integral"][-1], rel=1e-9)
        assert batch["maximum(lag)"][i] == pytest.approx(single["lag"].max(), rel=1e-6)
    whole = np.array([model.state({**START, "integral": x}) for x in integral])
    if formalism == "kane":  # whole states, a row per run
        again = model.simulate_batch(0.8, step=step, initial=whole, parameters={"tau": tau}, metrics=metrics)
        np.testing.assert_array_equal(again["final(integral)"], batch["final(integral)"])


LATER = """
name = "a rate that names a load, which is described after it and names the state"
[states.z]
rate = "pull - z"
initial = 2
[bodies.b]
joint = { prismatic = "x" }
mass = 1
inertia = 0
[loads.pull]
force = "-z"
direction = "b.x"
at = "b"
"""


def test_a_saved_model_has_the_same_states_and_other_orders_of_words_are_read(tmp_path: Path, models) -> None:
    s = pendulum()
    s.save(tmp_path / "saved.toml")
    written = (tmp_path / "saved.toml").read_text(encoding="utf-8")
    assert '[states.integral]\nrate = "ref - bob.q1"' in written
    run = arm.load(tmp_path / "saved.toml").derive().compile().simulate(2.0, initial=START)
    np.testing.assert_array_equal(run["integral"], models["auto"].simulate(2.0, initial=START)["integral"])
    (tmp_path / "t.toml").write_text(LATER)
    loaded = arm.load(tmp_path / "t.toml")
    final = loaded.derive().compile().simulate(1.0, rtol=1e-11)["z"][-1]
    assert final == pytest.approx(2 * np.exp(-2), rel=1e-9)


def test_models_without_states_cost_what_they_did() -> None:
    s = arm.System("plain")
    b = s.body("b", joint=arm.Revolute("z"), com=(0, -1, 0), mass=2.0, inertia=(0.1, 0.1, 0.1))
    s.gravity(9.81, -s.ground.y)
    before = s.derive().operations
    s.state("z", b.u1)
    assert s.derive().operations == before  # the rate of z is there already


# ---------------------------------------------------------------- errors


def made(words) -> None:
    s = arm.System("wrong")
    b = s.body("b", joint=arm.Prismatic("x"), mass=1.0, inertia=0)
    s.state("z", units="m")
    words(s, b)


@pytest.mark.parametrize(
    ("words", "kind", "message"),
    [
        (lambda s, b: s.derive(), ModelError, r"state 'z' has no rate; give it with s.rate\('z', …\)"),
        (lambda s, b: arm.time_derivative(2 * s.lookup("z")), ModelError, r"state 'z' has no rate yet"),
        (lambda s, b: s.rate("z", b.q1), UnitsError, r"rate of state 'z': 'b.q1' has dimension"),
        (lambda s, b: s.rate(b.q1, 0), ModelError, r"'b.q1' is not a state that was made with s.state"),
        (lambda s, b: [s.rate("z", b.u1) for _ in "ab"], ModelError, "state 'z' has a rate already"),
        (lambda s, b: s.state("b"), ModelError, "state 'b': the name is taken by a body already"),
        (lambda s, b: s.parameter("z"), ModelError, "parameter 'z': the name is taken by a state already"),
        (lambda s, b: s.state("y", initial=np.inf), ModelError, "initial value of state 'y'"),
        (lambda s, b: s.constrain("b.q1 - z"), ModelError, "holds a state with a rate of its own"),
        (lambda s, b: s.prescribe("b.q1", "z"), ModelError, "may depend on time, parameters and inputs only"),
        (lambda s, b: s.output("z", 1), ModelError, "every run has a column of that name"),
    ],
)  # fmt: skip
def test_wrong_words_are_refused_by_name(words, kind, message) -> None:
    with pytest.raises(kind, match=message):
        made(words)


def test_a_refused_state_leaves_nothing_behind() -> None:
    s = arm.System("clean")
    s.body("b", joint=arm.Prismatic("x"), mass=1.0, inertia=0)
    with pytest.raises(UnitsError):
        s.state("z", "b.q1", units="m")
    assert "z" not in s.states and not [x for x in s.initial if str(x) == "z"]
    s.state("z", "b.u1", units="m")


def test_unknown_initial_values_are_told_with_the_nearest_state(models) -> None:
    with pytest.raises(ParameterError, match=r"speed or state 'intgral'; did you mean 'integral'"):
        models["kane"].simulate(1.0, initial={"intgral": 1.0})
