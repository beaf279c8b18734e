"""Systems as text models: what is saved reads back as the same system, and saves as the same text."""

from __future__ import annotations

import importlib
import tomllib
from pathlib import Path

import numpy as np
import pytest

import armillary as arm
from armillary.algebra import functions as fn
from armillary.model.snapshot import find_differences
from armillary.text_tables import toml_text

FOLDER = Path(__file__).parents[3] / "examples"
EXAMPLES = sorted(p.stem for p in FOLDER.glob("*.py"))
IN_PYTHON = {"bowling_ball": "OnPlane"}  # a joint that is a class of Python
RUN = ["car", "four_bar", "spinning_boom", "spacecraft_1", "rolling_disc"]


@pytest.fixture(autouse=True)
def examples_on_path(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))


def system_of(example: str) -> arm.System:
    module = importlib.import_module(example)
    if not hasattr(module, "system"):
        pytest.skip("not an example of a system")
    return module.system()


@pytest.mark.parametrize("example", [e for e in EXAMPLES if e not in IN_PYTHON])
def test_examples_read_back_the_same_and_save_the_same(example, tmp_path, monkeypatch):
    system = system_of(example)
    first, second = tmp_path / "model.toml", tmp_path / "again" / "model.toml"
    second.parent.mkdir()
    system.save(first)
    again = arm.load(first)
    assert find_differences(system, again) == []
    monkeypatch.setattr(
        "armillary.files.model.save._find_loss", lambda *_, **how: ""
    )  # what was just looked for
    again.save(second)
    assert second.read_text() == first.read_text()


@pytest.mark.parametrize("example", RUN)
def test_a_text_model_has_the_same_equations_to_the_last_bit(example, tmp_path):
    system = system_of(example)
    system.save(tmp_path / "model.toml")
    again = arm.load(tmp_path / "model.toml")
    one, other = system.derive(), again.derive()
    assert one.operations == other.operations
    a, b = one.compile(), other.compile()
    state = a.state() + 0.01 * np.random.default_rng(1).normal(size=len(a.state()))
    assert np.array_equal(a.derivatives(0.3, state), b.derivatives(0.3, state))
    assert a.outputs(0.3, state) == pytest.approx(b.outputs(0.3, state), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("example", IN_PYTHON)
def test_what_is_code_of_python_is_refused_and_leaves_no_file(example, tmp_path):
    with pytest.raises(arm.ModelError, match=IN_PYTHON[example]):
        system_of(example).save(tmp_path / "model.toml")
    assert list(tmp_path.iterdir()) == []


def test_a_saved_model_says_the_calls_that_the_user_made(tmp_path):
    system = system_of("car")
    system.save(tmp_path / "car.toml")
    data = tomllib.loads((tmp_path / "car.toml").read_text())
    assert data["outputs"]["Ay"]["value"] == (
        "dot(acceleration(RB.com), direction(project(RB.y, ground.z)))/GEES"
    )
    assert data["bodies"]["NRB"]["joint"] == {"planar": "z", "velocity": "body"}
    assert data["parameters"]["L"] == {"value": 125.5, "units": "in", "about": "wheelbase"}
    assert "expressions" not in data


def test_a_saved_model_does_not_say_what_is_so_by_default(tmp_path):
    """Arguments that were given with the value that they have anyway are left out."""
    s = arm.System("cart")
    cart = s.body("cart", joint=arm.Prismatic("x"), at=(0, 0, 0), com=(0, 0, 0), mass=1.0, inertia=0)
    s.force("push", "3*t", s.ground.x, at=cart.com, reaction=None)
    s.output("place", "cart.q1", units="m", about="")
    s.save(tmp_path / "cart.toml")
    data = tomllib.loads((tmp_path / "cart.toml").read_text())
    assert data["bodies"]["cart"] == {"joint": {"prismatic": "x"}, "mass": 1.0, "inertia": 0}
    assert data["loads"]["push"] == {"force": "3*t", "direction": "ground.x", "at": "cart.com"}
    assert set(data["outputs"]["place"]) == {"value", "units"}


def test_an_energy_taken_before_gravity_is_saved_as_it_was(tmp_path):
    s = arm.System("early")
    bob = s.body("bob", joint=arm.Revolute("z"), com=(0, -1, 0), mass=1, inertia=0)
    s.output("energy", s.total_energy())
    s.gravity(9.81, -s.ground.y)
    s.save(tmp_path / "early.toml")
    again = arm.load(tmp_path / "early.toml")
    at = {"bob.q1": 0.7, "bob.u1": 2.0}
    assert arm.evaluate(again.outputs["energy"].expression, at) == pytest.approx(2.0)
    assert bob.name in again.bodies


def everything() -> arm.System:
    """A system with every verb that there is."""
    s = arm.System("everything")
    s.parameter("k", 100.0, units="N/m", about='stiffness "quoted" \\ é')
    s.parameter("c", units="N*s/m")
    s.parameter("w", 2.0, units="rad/s")
    s.parameter("kt", 2.0, units="N*m/rad")
    s.parameter("mu", 3.986004418e14, units="m^3/s^2")
    ramp = s.function("ramp", arm.Table([0, 1, 2], [0, 5, 5], kind="smooth", name="ramp"))
    surface = arm.Table2([0, 1], [0, 1, 3], [[0, 1, 2], [3, 4, 5]], name="surface")
    s.function("square", lambda x: x * x)
    s.input("steer", 5.0, units="deg", about="from outside")
    s.memory("level", 0.5, about="filtered")
    s.memory("sampled", 1.0, update="0.5*sampled", every=0.01)
    slow = s.state("slow", initial=0.2, units="mm", about="a lag")
    s.state("total", slow, units="mm*s")
    s.rate(slow, "(0.001*sin(t) - slow)/0.3")
    hub = s.body("hub", joint=arm.Free(velocity="body"), mass=100, inertia=(10, 12, 14, 0.1, 0, -0.2))
    arm_ = s.body(
        "arm", hub, arm.Joint(translate=["x"], rotate=[(0, "cos(tilt)", "sin(tilt)")], small=True),
        at=(1, 0, 0), orient=("zx", 0.1, "tilt"), com=(0.5, 0, 0), inertia=(0.1, 0.2, 0.2),
    )  # fmt: skip
    boom = s.body("boom", hub, arm.Spherical("xyz"), at=(-1, 0, 0))
    beam = arm.Beam(
        3.0, E=70e9, nu=0.3, density=2700, section=arm.Section.tube(0.02, 0.001), stations={"mid": 1.5}
    )
    boom.flexible(beam, modes=2, damping=0.01, stiffening=True)
    s.body("load", boom.node("tip"), arm.Prismatic("z"), mass=2, inertia=0)
    panel = s.body("panel", hub, at=(0, 1, 0))
    panel.flexible(arm.Plate(2, 1, 0.02, E=7e10, nu=0.3, density=2700, along="y"), modes=3)
    lumps = s.body("lumps", hub, arm.Fixed())
    lumps.flexible(
        nodes={"a": (0, 0, 1), "b": (0, 0, 2)}, masses=[1, 2],
        shapes=[[[1], [0], [0]], [[2], [0], [0]]], frequencies=[3.0], damping=0.02,
    )  # fmt: skip
    s.body("slider", joint=arm.Prismatic("x"), mass=1, inertia=0)
    s.body("turner", joint=arm.Revolute("z"), mass=1, inertia=(1, 1, 1), com=(0.2, 0, 0))
    oblique = arm.Gimbal(["z", ("cos(tilt)", 0.6, 0)])
    s.body("follower", s.bodies["turner"], oblique, at=(1, 0, 0), mass=1, inertia=(1, 1, 1))
    s.body("rod", joint=arm.Cylindrical("y"), mass=1, inertia=(1, 1, 1))
    s.update("level", "0.9*level + 0.1*square(hub.q1)")
    s.reaction_wheel("RW", on=hub, axis=(1, 1, 0), inertia=0.1, torque="-0.1*hub.u4", speed=100)
    s.control_moment_gyro(
        "CMG", on=hub, gimbal_axis=["x", "y"], spin_axis="z", wheel_inertia=0.2, wheel_speed=500,
        gimbal_rate=["0.1*cos(w*t)", None], gimbal_torque=[None, "-0.2*CMG_inner.u1"],
    )  # fmt: skip
    s.attractor("earth", "mu", J2=1.08262668e-3, radius=6378136.3, field="gradient")
    s.gravity(1.62, -s.ground.z)
    s.gravity(0.1, s.ground.x)
    tip = arm_.point("tip", (1, 0, 0))
    s.force("push", surface(hub.q1, ramp(s.time)) * hub.u2, hub.x, at=tip, reaction=hub.com)
    s.moment("twist", "-kt*arm.q2 + steer*kt", hub.y, on=arm_, reaction=hub)
    s.strut("spring", lambda x, v: -s.parameters["k"] * (x - 1) - 3 * v, between=(tip, s.bodies["slider"]))
    s.stop("end", "slider.q1", lower=-1, upper="1 + 0.1*t", stiffness=1e4, damping=0.3, exponent=1.5)
    s.brake("brake", s.bodies["turner"].q1, capacity=5, stiffness=1e4, damping=10, static=6)
    s.contact(
        "foot",
        tip,
        plane=("ground.origin", "ground.z"),
        stiffness="k",
        friction=arm.SmoothFriction(0.3, 0.01),
    )
    s.thruster("jet", 22.0, -hub.z, at=hub.com, on=[(1, 2), (3, 4.5)], specific_impulse=220)
    s.solar_pressure("sunlight", at=panel, area=2, sun=s.ground.x, normal=panel.x, specular=0.2)
    s.constrain("slider.q1 - 0.5*turner.q1", name="gear", eliminate="turner.q1")
    s.constrain(s.bodies["rod"].q1 - 2 * s.bodies["rod"].q2)
    s.prescribe("follower.q2", "0.1*sin(w*t)")
    s.lock(s.bodies["load"].q1)
    s.small(hub.u4, "hub.u5")
    s.large("k")
    s.event(
        "click", "slider.q1 - 0.5", direction=1, set={"level": "level + 1", "slider.u1": 0}, about="latch"
    )
    s.event("free", "t - 2", unlock=["load.q1"])
    s.event("over", "t - 100", stop=True)
    s.output("power", arm.dot(arm.velocity(tip), hub.x) * s.loads["push"].magnitude, units="kW")
    s.output("joint", arm.magnitude(s.reaction_force(arm_)), units="N")
    s.output("motor", s.effort("follower.u2"))
    s.output("gear force", s.constraints["gear"].force)
    s.output("rate", hub.system.accelerations[hub.u1])
    s.output("spin", arm.dot(s.angular_momentum("mass centre"), s.ground.z))
    s.attitude_output("attitude", hub, "zyx", relative_to=arm_, units="deg")
    s.start({hub.u5: 0.01, "arm.q1": 0.1})
    s.start_orbit(hub, arm.Orbit(3.986004418e14, a=7e6, e=0.01, i="51.6 deg"), around="earth")
    return s


def test_every_verb_reads_back_the_same(tmp_path):
    system = everything()
    system.save(tmp_path / "all.toml")
    again = arm.load(tmp_path / "all.toml")
    assert find_differences(system, again) == []
    (tmp_path / "b").mkdir()
    again.save(tmp_path / "b" / "all.toml")
    assert (tmp_path / "b" / "all.toml").read_text() == (tmp_path / "all.toml").read_text()


def test_ready_parts_and_large_arrays_go_to_a_file_beside_the_model(tmp_path):
    s = arm.System("flexible")
    donor = arm.System("donor").body("donor", joint=arm.Free())
    part = donor.flexible(arm.Beam(2.0, EI=5.0, mass_per_length=0.3, motions="y"), modes=3)
    s.body("ready", joint=arm.Revolute("z")).flexible(part)
    M, K = np.eye(30) * 0.1, np.diag(np.arange(1.0, 31.0))
    places = [(0.1 * i, 0, 0) for i in range(5)]
    s.body("dense", joint=arm.Revolute("z")).flexible(
        mass_matrix=M, stiffness_matrix=K, positions=places, modes=4, basis="fixed", fixed=["1"]
    )
    s.save(tmp_path / "flexible.toml")
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "flexible.dense.npz", "flexible.ready.npz", "flexible.toml"
    ]  # fmt: skip
    again = arm.load(tmp_path / "flexible.toml")
    assert find_differences(s, again) == []
    assert again.derive().operations == s.derive().operations


def test_long_lists_are_broken_at_the_width_of_a_page():
    numbers, texts = [i / 8 for i in range(40)], [f"word {i}" for i in range(30)]
    written = toml_text({"short": [1, 2], "numbers": numbers, "texts": texts}, {})
    assert tomllib.loads(written) == {"short": [1, 2], "numbers": numbers, "texts": texts}
    assert 90 < max(len(line) for line in written.splitlines()) <= 110
    assert "short = [1, 2]" in written.splitlines()


def test_systems_that_differ_in_the_default_of_a_parameter_alone_are_not_the_same():
    def mass(value: float) -> arm.System:
        s = arm.System("mass")
        s.body("b", joint=arm.Prismatic("x"), mass=s.parameter("m", value, units="kg"), inertia=0)
        return s

    assert find_differences(mass(2.0), mass(2.0)) == []
    assert "'m' among its parameters" in find_differences(mass(2.0), mass(3.0))


@pytest.mark.parametrize("taken", ["parameter", "body", "load", "input"])
def test_names_of_shared_expressions_are_none_that_the_model_has(taken, tmp_path):
    s = arm.System("names")
    own = {one: "z1" if one == taken else one for one in ("parameter", "body", "load", "input")}
    b = s.body(own["body"], joint=arm.Prismatic("x"), mass=2, inertia=0)
    p, given = s.parameter(own["parameter"], 3.0, units="N/m"), s.input(own["input"], 1.0, units="m")
    pull = fn.named(p * (b.q1 - given), "pull")
    s.force(own["load"], -pull * (1 + b.q1 * pull / 7), b.x, at=b.com)
    s.save(tmp_path / "names.toml")
    assert "z2" in (tmp_path / "names.toml").read_text(encoding="utf-8")
    assert find_differences(s, arm.load(tmp_path / "names.toml")) == []


def test_a_bare_one_before_a_parameter_reads_back_with_its_unknown_dimension(tmp_path):
    s = arm.System("one")
    m = s.parameter("m", 2.0, units="kg")
    b = s.body("b", joint=arm.Prismatic("x"), mass=1.0 * m, inertia=0)
    s.force("f", -(1.0 * m) * 3.0 * b.q1, b.x, at=b.com)
    s.save(tmp_path / "one.toml")
    assert arm.load(tmp_path / "one.toml").derive().compile().derivatives(0.0, [0.5, 0.0])[1] == -1.5


def test_a_one_before_several_factors_reads_back_with_its_dimension(tmp_path):
    """A bare one, and that of a mass of 1 kg: neither shows in a product, and both belong to its units."""
    s = arm.System("one")
    a, c = s.parameter("a", 2.0, units="m"), s.parameter("c", 3.0, units="s")
    b = s.body("b", joint=arm.Prismatic("x"), mass=1, inertia=0)
    for i, made in enumerate((0.5 * (2 * a * c), -0.5 * (2 * a / c), b.mass * b.q1 * b.u1, -b.mass * a**2)):
        s.output(f"o{i}", arm.sin(made) if i == 1 else made)
    s.save(tmp_path / "one.toml")
    assert find_differences(s, arm.load(tmp_path / "one.toml")) == []
