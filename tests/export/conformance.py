"""Models that together hold everything a program can, and what exported code must find for them.

`CASES` names the models. `expected(name)` holds the in-process results at a few states and of a run, each
with the room that a right implementation may use:

    room = 64 ulp·|value| + 8 · the largest change when every input is changed by up to 4 ulp

Fused operations, another order of a library's rounding and other sines change results by about an ulp per
operation; an ill-conditioned result magnifies that as it magnifies the ulps of its inputs. Inputs of a run
are its initial state and parameters, and the time of an event has room by the same rule. Nothing here is a
tolerance chosen to pass.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache

import numpy as np

import armillary as arm
from armillary.algebra.arguments import core_of
from armillary.export.text.description import at, example_parameters, start_values
from armillary.stages.equations import Equations
from armillary.stages.model import Model
from examples import bouncing_ball, car, four_bar, spinning_boom

ULP = 2.0**-52
ULPS_OF_VALUE = 64
CHANGES = 8
ULPS_OF_INPUTS = 4
FACTOR = 8
NATIVE = [] if platform.machine() in {"aarch64", "arm64"} else ["-march=native"]
"""For fused operations; all 64-bit Arm processors have them, and there Clang 14 does not know "native"."""


@dataclass(frozen=True)
class Case:
    """A model and a run of it: rk4 with this step; initial values, parameters and memory by name."""

    system: Callable[[], arm.System]
    duration: float
    step: float
    initial: dict[str, float] = field(default_factory=dict)
    parameters: dict[str, float] = field(default_factory=dict)
    memory: dict[str, float] = field(default_factory=dict)
    formalism: str = "auto"


# ---------------------------------------------------------------- models


def small_car() -> arm.System:
    """The car with what is small declared so."""
    s = car.system()
    s.small("RB.q1", "RB.u1", "NRB.u2", "NRB.u3")
    return s


def linkage() -> arm.System:
    """A closed loop, without outputs that are zero except for rounding, for which no bound has a meaning."""
    s = four_bar.system()
    for axis in "xy":
        del s.outputs[f"gap along ground.{axis}"]
    return s


def tumbler() -> arm.System:
    """A free body with Euler parameters, spun by a moment that follows its attitude."""
    s = arm.System("tumbler")
    b = s.body(
        "b", joint=arm.Free(), com=(0.1, 0.02, -0.03), mass=2.0, inertia=(0.3, 0.2, 0.15, 0.01, 0, 0.02)
    )
    s.gravity(9.81, -s.ground.z)
    s.moment("tau", "-0.2*b.u4 + 0.1*sin(2*t)*b.q5", b.x, on=b)
    s.output("height", arm.dot(arm.position(b.com), s.ground.z), units="mm")
    return s


def looked_up() -> arm.System:
    """A slider pushed by tables of every kind."""
    s = arm.System("looked up")
    a = s.body("a", joint=arm.Prismatic("x"), mass=1.5, inertia=0)
    b = s.body("b", a, arm.Prismatic("x"), mass=0.5, inertia=0)
    x, y = [-1.0, -0.2, 0.3, 1.0, 2.0], [-2.0, 0.0, 1.5]
    z = np.array([[1.0, 3.0, 2.0], [0.0, -1.0, 4.0], [2.0, 2.0, 1.0], [-1.0, 0.5, 0.0], [1.0, 1.0, -2.0]])
    total = None
    for kind in ("linear", "smooth"):
        for outside in ("clamp", "extend"):
            one = arm.Table(
                x, [5.0, 1.0, -1.5, -2.0, -7.0], kind=kind, outside=outside, name=f"{kind} {outside}"
            )
            two = arm.Table2(x, y, z, kind=kind, outside=outside, name=f"{kind} {outside} surface")
            force = one(a.q1) + 0.3 * two(a.q1, b.u1)
            total = force if total is None else total + force
            s.output(f"slope {kind} {outside}", one.derivative()(a.q1))
            s.output(
                f"slopes {kind} {outside}", two.derivative(0)(a.q1, b.u1) + two.derivative(1)(a.q1, b.u1)
            )
    s.force("push", total, a.x, at=a.com)
    s.parameter("table_1", 3.0, about="called as generated code may call a table")
    s.force("pull", "-table_1*b.q1 - 0.1*b.u1", a.x, at=b.com, reaction=a.com)
    return s


def controlled() -> arm.System:
    """A pendulum under a sampled controller, with a filter renewed at every step, an input and an alarm."""
    s = arm.System("controlled pendulum")
    s.parameter("L", 80.0, units="cm", about="length")
    s.parameter("gain", 12.0, units="N*m/rad", about="gain of the controller")
    target = s.input("target", 5.0, units="deg", about="angle requested")
    bob = s.body("bob", joint=arm.Revolute("z"), com=(0, "-L", 0), mass=1.0, inertia=0)
    s.gravity(9.81, -s.ground.y)
    s.memory("slow", 0.0, update="slow + 0.1*(bob.q1 - slow)", about="filtered angle")
    s.memory("held", 0.0, update="-gain*(slow - target) - 2*bob.u1", every=0.05, units="N*m", about="moment")
    s.memory("crossings", 0.0, about="how often the bob passed the vertical")
    s.moment("motor", "held", s.ground.z, on=bob)
    s.event("vertical", bob.q1, set={"crossings": "crossings + 1"}, about="the bob hangs straight down")
    s.event("alarm", "bob.q1 - 2.0", direction=1, stop=True, about="too far")
    s.output("target seen", target, units="deg")
    return s


def functions() -> arm.System:
    """A slider whose force and outputs use every function and comparison."""
    s = arm.System("functions of everything")
    a = s.body("a", joint=arm.Prismatic("x"), mass=1.0, inertia=0)
    s.parameter("p", 0.7)
    s.parameter("double", 1.3, about="a keyword elsewhere */ /* and a hostile description \\ ??/")
    s.parameter("metre", 1.0, units="m")
    s.parameter("second", 1.0, units="s")
    s.parameter("newton", 1.0, units="N")
    q, u, t = "(a.q1/metre)", "(a.u1*second/metre)", "(t/second)"
    force = f"-4*{q} - select({u} > 0, 0.2, -0.3) + min({q}, 0.1*p) - max({u}, max({t}, -1))/3"
    s.force("f", f"newton*({force})", a.x, at=a.com)
    texts = [
        f"tan({q}) + asin(0.3*{q}) + acos(0.2*{u}) + atan({q}/p)",
        f"atan2({u}, {q}) + atan2(-{q}, 0.0*{q} - 1)",
        f"exp(-{q}^2) + log(2 + {q}) + sqrt(3 + {u})",
        f"abs({q}) + sign({u}) + sign(0*{q})",
        f"({q} + 3)^0.3 + ({q} + 2)^1.5 + ({q} + 2)^(-2.5) + (2 + {q})^double",
        f"{q}^2 + {u}^3 + {q}^4 - {u}^9/7",
        f"1/({q} + 4)^2 - 1/(2*({u} + 5)*({q} + 4))",
        f"select({q} < {u}, {q}, select({q} >= 0.5, 2.0, {u}))",
        f"select(({q} < {u} and {u} > 0) or not ({q} > p), 1.5, -{q})",
        f"select(sign({q}) == 1, 1, 0) + select(sign({u}) != -1, 2, 3)",
        f"({q} <= {u}) + 2*({q} > 0.1)",
        "sin(double) + cos(3*p) + sin(900000.0*p)",
        f"sin({t}) - cos({q} + {t})",
        f"tanh({u}) + floor(7*{q}) - 2*ceil(5*{u} + p) + hypot({q}, {u}) + mod(3*{q}, 0.7) - mod({u}, -p)",
    ]
    for i, text in enumerate(texts):
        s.output(f"f{i}", text)
    return s


def pendulums() -> arm.System:
    """Two pendulums, to be derived with momenta as states."""
    s = arm.System("double pendulum")
    upper = s.body("upper", joint=arm.Revolute("z"), com=(0, -0.4, 0), mass=1.2, inertia=(0.05, 0.01, 0.05))
    s.body(
        "lower",
        upper,
        arm.Gimbal("zx"),
        at=(0, -0.8, 0),
        com=(0, -0.3, 0.05),
        mass=0.7,
        inertia=(0.02, 0.01, 0.03),
    )
    s.gravity(9.81, -s.ground.y)
    s.output("energy", s.total_energy(), units="J")
    return s


def flexible() -> arm.System:
    """A boom with two modes on a hub that is turned."""
    s = arm.System("boom")
    hub = s.body("hub", joint=arm.Revolute("z"), mass=1.0, inertia=(1.0, 1.0, 1.0))
    made = spinning_boom.boom(s, "boom", hub, True, 2, motions="y")
    s.moment("motor", 3.0, hub.z, on=hub)
    s.output("shortening", -arm.dot(made.deflection("tip"), hub.x), units="mm")
    return s


def falling() -> arm.System:
    """A ball that bounces and counts, until a time that is no grid point of its steps: the run ends there."""
    s = bouncing_ball.system()
    s.memory("bounces", 0.0)
    s.state("path", "abs(ball.u1)", units="cm", about="since the last bounce")
    bounce = s.events.pop("bounce")
    changes = {"ball.u1": "-e*ball.u1", "bounces": "bounces + 1", "path": "0.25*path"}
    s.event("bounce", bounce.expression, direction=-1, set=changes)
    s.event("enough", "t - 1.6", direction=1, stop=True)
    return s


def door() -> arm.System:
    """A door in inches, pounds and degrees: every number of a user's has a factor, in and out."""
    s = arm.System("door", units="in-lb-s-deg")
    s.parameter("k", 3.0, units="lb*in/deg", about="stiffness of the closer")
    s.parameter("c", 2.0, units="lb*in*s/rad", about="its damping")
    s.parameter("rest", -5.0, units="deg", about="where it is at rest")
    s.parameter("limit", 0.2, units="rad", about="where the door is ajar")
    s.input("push", 8.0, units="N*m", about="moment of a hand")
    leaf = s.body("leaf", joint=arm.Revolute("z"), com=(14, 0, 0), mass=0.05, inertia=(1.0, 4.0, 5.0))
    ball = s.body("ball", leaf, arm.Prismatic("x"), at=(20, 0, 0), mass=0.01, inertia=0)
    s.memory("slow", 2.0, units="deg", update="slow + 0.2*(leaf.q1 - slow)", about="filtered angle")
    s.memory("speed", 0.0, units="rpm", about="when it was last ajar")
    s.memory("ajar", 0.0, about="how often it was")
    s.parameter("tau", 40.0, units="ms", about="time of the lag")
    s.state("lag", "(leaf.u1 - lag)/tau", 5.0, units="deg/s", about="speed that the closer's damper sees")
    s.state("spent", "c*lag*leaf.u1", units="J", about="what the damper took")
    s.moment("closer", "-k*(slow - rest) - c*lag + push", s.ground.z, on=leaf)
    s.force("spring", "-0.4*ball.q1 - 0.01*ball.u1", leaf.x, at=ball.com, reaction=leaf.origin)
    s.event("opened", "leaf.q1 - limit", set={"ajar": "ajar + 1", "speed": "leaf.u1"})
    s.output("opening", "leaf.q1", units="mrad")
    s.output("held", "slow", units="deg")
    s.output("reach", "20*cos(leaf.q1) + ball.q1*cos(leaf.q1)", units="mm")
    return s


CASES: dict[str, Case] = {
    "car": Case(car.system, 0.5, 0.025, parameters={"STEER": 2.0}),
    "small car": Case(small_car, 0.5, 0.025),
    "tumbler": Case(tumbler, 0.5, 0.01, {"b.u4": 0.5, "b.u5": -1.0, "b.u6": 2.0}),
    "four bar": Case(linkage, 0.02, 1e-3, {"A.q1": 0.1, "A.u1": 0.5}),
    "tables": Case(looked_up, 0.5, 0.01, {"a.q1": 0.1, "a.u1": 1.0}),
    "controller": Case(controlled, 1.0, 0.0125, {"bob.q1": -0.3}, memory={"target": 20.0}),
    "functions": Case(functions, 0.5, 0.01, {"a.q1": 0.4, "a.u1": -0.5}),
    "momenta": Case(pendulums, 0.3, 0.01, {"upper.q1": 0.5, "lower.u1": 1.0}, formalism="momentum"),
    "bouncing": Case(falling, 2.0, 0.0123, {"ball.q1": 0.3}),
    "door": Case(
        door,
        1.5,
        0.01,
        {"leaf.q1": 3.0, "leaf.u1": 40.0, "ball.q1": 0.5, "spent": 0.2},
        {"k": 2.5, "rest": 4.0},
        {"push": 6.0, "slow": 1.0},
    ),
    "boom": Case(flexible, 0.2, 0.01, {"hub.u1": 0.5}),
}
# Those whose programs differ in more than their expressions, which C has of every case.
DIFFERENT = ("tumbler", "four bar", "tables", "controller", "functions", "bouncing", "door")


# ---------------------------------------------------------------- what they give


@dataclass(frozen=True)
class Numbers:
    """Values and the room about each."""

    values: np.ndarray
    room: np.ndarray

    def check(self, found: Sequence[float] | np.ndarray, what: str) -> None:
        """An assertion that names the worst of the numbers that are off."""
        found = np.asarray(found, dtype=float)
        assert found.shape == self.values.shape, f"{what}: {found.shape}, expected {self.values.shape}"
        off = np.abs(found - self.values)
        same = (off <= self.room) | (np.isnan(found) & np.isnan(self.values))
        if not np.all(same):
            with np.errstate(all="ignore"):
                k = int(np.argmax(np.where(same, 0.0, np.nan_to_num(off / self.room, nan=np.inf))))
            i = np.unravel_index(k, found.shape)
            place = f"{what}{list(map(int, i))}"
            raise AssertionError(
                f"{place} is {found[i]!r}, expected {self.values[i]!r}, room {self.room[i]:.2g}"
            )


@dataclass(frozen=True)
class At:
    """Results at one state; sections that the program lacks are empty."""

    t: float
    state: np.ndarray
    memory: np.ndarray
    derivatives: Numbers
    outputs: Numbers
    events: Numbers
    update: Numbers


@dataclass(frozen=True)
class Happened:
    """Rows of a run, a row per step, and its events (hidden ones left out)."""

    time: np.ndarray
    rows: Numbers
    events: tuple[tuple[str, float], ...]
    event_room: float


@dataclass(frozen=True)
class Expected:
    """All numbers of one case; parameters in the user's units, values of a start in the model's."""

    equations: Equations
    parameters: dict[str, float]
    constants: Numbers
    start: dict[str, float]
    memory: np.ndarray
    points: tuple[At, ...]
    run: Happened


@cache
def equations(name: str) -> Equations:
    """A case derived."""
    return CASES[name].system().derive(CASES[name].formalism)


@cache
def expected(name: str) -> Expected:
    """What exported code must find for a case."""
    case, eom = CASES[name], equations(name)
    model = eom.compile()
    parameters = {**example_parameters(core_of(eom)), **case.parameters}
    random = np.random.default_rng(7)
    count = len(eom.program.constants)
    constants = _bounded(
        model.constants(parameters)[:count],
        [model.constants(_changed(random, parameters))[:count] for _ in range(CHANGES)],
    )
    begin = start_values(core_of(model), parameters, case.initial)
    start, memory = np.array(begin.state), np.array(begin.memory)
    for place, (key, record) in enumerate(eom.system.memories.items()):
        memory[place] = case.memory[key] * record.factor if key in case.memory else memory[place]
    points = tuple(_at(model, parameters, start, memory, k, random) for k in range(3))
    run = _run(case, model, parameters, random)
    given = dict(zip([s.data.name for s in begin.symbols], begin.given, strict=True))
    return Expected(eom, parameters, constants, given, memory, points, run)


def _changed(random: np.random.Generator, values: dict[str, float]) -> dict[str, float]:
    return {key: value * (1 + ULPS_OF_INPUTS * ULP * random.uniform(-1, 1)) for key, value in values.items()}


def _bounded(values: np.ndarray, others: Sequence[np.ndarray]) -> Numbers:
    values = np.asarray(values, dtype=float)
    spread = np.max([np.abs(np.nan_to_num(o - values)) for o in others], axis=0) if len(others) else 0.0
    return Numbers(values, ULPS_OF_VALUE * ULP * np.abs(np.nan_to_num(values)) + FACTOR * spread + 1e-300)


def _at(
    model: Model,
    parameters: dict[str, float],
    start: np.ndarray,
    memory: np.ndarray,
    k: int,
    random: np.random.Generator,
) -> At:
    t, state = 0.1 * k, start + 0.05 * (1 + np.abs(start)) * random.standard_normal(len(start))
    memory = memory + 0.05 * random.standard_normal(len(memory))
    point = at(core_of(model), t, state, parameters, memory)

    def perturbed(values: np.ndarray) -> np.ndarray:
        return values * (1 + ULPS_OF_INPUTS * ULP * random.uniform(-1, 1, len(values)))

    others = [
        at(core_of(model), t, perturbed(state), _changed(random, parameters), perturbed(memory))
        for _ in range(CHANGES)
    ]
    sections = ("derivatives", "outputs", "events", "update")
    found = [
        _bounded(np.array(getattr(point, s)), [np.array(getattr(o, s)) for o in others]) for s in sections
    ]
    return At(t, state, memory, *found)


def _run(case: Case, model: Model, parameters: dict[str, float], random: np.random.Generator) -> Happened:
    def simulated(initial: dict[str, float], values: dict[str, float]) -> arm.Run:
        return model.simulate(
            case.duration, step=case.step, method="rk4", initial=initial, parameters=values,
            memory=case.memory, progress=False,
        )  # fmt: skip

    run = simulated(case.initial, parameters)
    others = [simulated(_changed(random, case.initial), _changed(random, parameters)) for _ in range(CHANGES)]
    events = tuple((e.name, e.time) for e in run.events)
    same = [o for o in others if o.values.shape == run.values.shape]
    apart = [abs(a.time - b.time) for o in others for a, b in zip(o.events, run.events, strict=False)]
    moved = FACTOR * max(apart, default=0.0) + 16 * ULP * case.duration
    rows = _bounded(run.values, [o.values for o in same])
    # Roundings of earlier rows are carried along: where a column passes zero they are of its size elsewhere.
    carried = ULPS_OF_INPUTS * ULP * np.max(np.abs(np.nan_to_num(run.values)), axis=0)
    return Happened(run.time, Numbers(rows.values, rows.room + carried), events, moved)
