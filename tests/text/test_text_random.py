"""Random systems as text models: whatever the verbs accept is saved, reads back the same and saves the same."""

from __future__ import annotations

import math
import random
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import armillary as arm
from armillary.model.unit_system import SYSTEMS
from armillary.text.same import differences

# Names that a careless writer of texts would take for something else.
NAMES = ["k", "k1", "k_1", "K", "x", "v", "z1", "z2", "e5", "_", "_0", "inf", "nan", "true", "q1", "com", "origin",
         "angular", "total", "tip", "world", "A", "A_tip", "value", "name"]  # fmt: skip
TEXTS = [
    "",
    "plain",
    'say "so" \\ or \\n',
    "tab\tline\nend",
    "größe µ ≤ 2",
    "漢字 🛰",
    "\x7f\x01",
    "# no comment",
    "'''",
    "[a]",
]
NUMBERS = [
    0,
    1,
    -1,
    2,
    0.1,
    1 / 3,
    -2.5,
    1e-300,
    1e300,
    5e-324,
    1.7976931348623157e308,
    2**53 + 1,
    1e15,
    1e16,
    -1e22,
]
UNITS = [None, "", "m", "mm", "N/m", "kg", "rad/s", "deg", "N*m/rad", "s", "in", "lb/in", "m/s^2"]
ONE = ["sin", "cos", "tan", "atan", "exp", "abs", "sign", "sqrt", "log", "asin", "acos"]
TWO = ["atan2", "min", "max"]
RELATIONS = ["<", "<=", ">", ">=", "==", "!="]


class Teller:
    """A user who says anything: ``said`` counts the verbs that were accepted, by name."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.s = arm.System(rng.choice(["plain", *TEXTS[1:]]), rng.choice(sorted(SYSTEMS)))
        self.said: dict[str, int] = {}
        self.count = 0
        for _ in range(rng.randint(1, 5)):
            self.say("parameter")
        for _ in range(rng.randint(1, 3)):
            self.say("body")
        verbs = [name.removeprefix("tell_") for name in dir(self) if name.startswith("tell_")]
        for _ in range(rng.randint(1, 14)):
            self.say(rng.choice(verbs))

    def say(self, verb: str) -> None:
        """A verb, if the system accepts what it says."""
        try:
            getattr(self, f"tell_{verb}")()
        except (arm.ArmillaryError, OverflowError):
            return
        self.said[verb] = self.said.get(verb, 0) + 1

    # ------------------------------------------------------------ words

    def chance(self, share: float) -> bool:
        return self.rng.random() < share

    def name(self) -> str:
        base = self.rng.choice(NAMES)
        return base if self.chance(0.6) else f"{base}_{self.rng.randint(1, 99)}"

    def label(self) -> str:
        return self.name() if self.chance(0.7) else self.rng.choice(TEXTS[1:])

    def size(self) -> Any:
        """A number of any kind."""
        if self.chance(0.4):
            return self.rng.choice(NUMBERS)
        made = self.rng.gauss(0, 1) * 10.0 ** self.rng.randint(-20, 20)
        return self.rng.choice([float, np.float64, round])(made)

    def plain(self) -> float:
        """A number as engineers use them."""
        return self.rng.choice([1.0, 2, 0.5, round(self.rng.uniform(0.1, 3), 3), self.rng.uniform(0.1, 3)])

    def fit(self) -> arm.Expr:
        """A new parameter without units: of the dimension that makes things fit."""
        self.count += 1
        return self.s.parameter(f"c{self.count}", self.plain())

    def fitting(self) -> str:
        """The same in a text, where an unknown name makes one."""
        self.count += 1
        return f"c{self.count}"

    def constant(self) -> Any:
        """A constant: number, text or expression."""
        ways = [self.plain, lambda: f"{self.plain()}*{self.fitting()}", lambda: self.fit() * self.plain(), self.fitting,
                self.fit]  # fmt: skip
        return self.rng.choice(ways)()

    def triple(self) -> tuple[Any, ...]:
        return tuple(self.rng.choice([0, 0, self.constant()]) for _ in range(3))

    def axis(self) -> Any:
        return self.rng.choice(
            ["x", "y", "z", (0, 0.6, 0.8), (1, 1, 0), (0, f"cos({(c := self.fitting())})", f"sin({c})")]
        )

    def body(self) -> arm.Body:
        return self.rng.choice([self.s.ground, *self.s.bodies.values(), *self.s.bodies.values()])

    def moving(self) -> arm.Body:
        return self.rng.choice(list(self.s.bodies.values()) or [self.s.ground])

    def point(self) -> Any:
        body = self.body()
        made = self.rng.choice([*body.points.values(), body])
        return made if self.chance(0.5) else self.text_of(("point", made))

    def either(self, tree: Any) -> Any:
        """A tree as text or as a Python expression."""
        return self.text_of(tree) if self.chance(0.5) else self.made(tree)

    def scalar(self, depth: int = 3, *, late: bool = False) -> Any:
        return self.either(self.tree(depth, late))

    def direction(self) -> Any:
        return self.either(self.arrow(1, False))

    # ------------------------------------------------------------ trees of expressions

    def tree(self, depth: int, late: bool) -> Any:
        """A scalar; ``late`` allows what only outputs may hold."""
        rng, s = self.rng, self.s
        if depth <= 0 or self.chance(0.2):
            symbols = [*s.coordinates, *s.speeds, s.time, *(m.symbol for m in s.memories.values())]
            symbols += [*s.parameters.values(), *([*s.accelerations.values()] if late else [])]
            fit = ("symbol", self.fit())
            kinds = [("number", self.plain()), ("number", self.size()), fit]
            return rng.choice([*kinds, *[("times", [fit, ("symbol", n)]) for n in symbols]])
        down = depth - 1
        kind = rng.choice(["plus", "minus", "times", "over", "power", "one", "two", "select", "negative", "dot",
                           "magnitude", "angle", "function", "named", "plus"])  # fmt: skip
        if kind in ("plus", "times"):
            return (kind, [self.tree(down, late) for _ in range(rng.randint(2, 3))])
        if kind in ("minus", "over"):
            return (kind, [self.tree(down, late), self.tree(down, late)])
        if kind == "power":
            return (kind, [self.tree(down, late)], rng.choice([2, -1, 0.5, 3, -2, 1.5, 0.1]))
        if kind == "one":
            return ("call", rng.choice(ONE), [self.tree(down, late)])
        if kind == "two":
            return ("call", rng.choice(TWO), [self.tree(down, late), self.tree(down, late)])
        if kind == "select":
            condition = (
                "relation",
                rng.choice(RELATIONS),
                [self.tree(down - 1, late), self.tree(down - 1, late)],
            )
            return ("call", "select", [condition, self.tree(down, late), self.tree(down, late)])
        if kind == "negative":
            return (kind, [self.tree(down, late)])
        if kind == "dot":
            return ("call", "dot", [self.arrow(down - 1, late), self.arrow(down - 1, late)])
        if kind == "magnitude":
            return ("call", "magnitude", [self.arrow(down - 1, late)])
        if kind == "angle":
            return ("call", "angle", [self.arrow(down - 1, late), self.arrow(down - 1, late)])
        if kind == "function" and s.functions:
            return ("call", rng.choice(list(s.functions)), [self.tree(down, late)])
        if s.loads and self.chance(0.5):
            return ("symbol", s.loads[rng.choice(list(s.loads))].magnitude)
        return self.tree(0, late)

    def arrow(self, depth: int, late: bool) -> Any:
        """A vector."""
        rng = self.rng
        if depth <= 0 or self.chance(0.3):
            return ("axis", self.body(), rng.choice("xyz"))
        down = depth - 1
        kind = rng.choice(["scaled", "plus", "cross", "position", "velocity", "angular_velocity", "project", "direction",
                           *(["acceleration", "angular_acceleration"] if late else [])])  # fmt: skip
        if kind == "scaled":
            return ("times", [self.tree(down, late), self.arrow(down, late)])
        if kind == "plus":
            return ("plus", [self.arrow(down, late), self.arrow(down, late)])
        if kind in ("cross", "project"):
            return ("call", kind, [self.arrow(down, late), self.arrow(down, late)])
        if kind == "direction":
            return ("call", kind, [self.arrow(down, late)])
        point = ("point", rng.choice(list(self.body().points.values())))
        if kind in ("angular_velocity", "angular_acceleration"):
            return ("call", kind, [("point", self.body())])
        return ("call", kind, [point])

    def text_of(self, tree: Any) -> str:
        kind = tree[0]
        if kind == "number":
            shown = repr(float(tree[1])) if not isinstance(tree[1], int) else str(tree[1])
            return f"({shown})" if shown.startswith("-") else shown
        if kind == "symbol":
            if tree[1].kind != "symbol":
                return next(name for name, load in self.s.loads.items() if load.magnitude is tree[1])
            plain = tree[1].data.name.replace(".", "").isidentifier()
            return tree[1].data.name if plain else f"`{tree[1].data.name}`"
        if kind == "axis":
            return f"{tree[1].name}.{tree[2]}"
        if kind == "point":
            return tree[1].name if isinstance(tree[1], arm.Body) else f"{tree[1].body.name}.{tree[1].name}"
        parts = [self.text_of(part) for part in (tree[2] if kind in ("call", "relation") else tree[1])]
        if kind == "call":
            return f"{tree[1]}({', '.join(parts)})"
        if kind == "relation":
            return f"({parts[0]} {tree[1]} {parts[1]})"
        if kind == "power":
            return f"({parts[0]})^({tree[2]})"
        if kind == "negative":
            return f"(-{parts[0]})"
        sign = {"plus": " + ", "minus": " - ", "times": "*", "over": "/"}[kind]
        return f"({sign.join(parts)})"

    def made(self, tree: Any) -> Any:
        kind = tree[0]
        if kind in ("number", "symbol", "point"):
            return tree[1]
        if kind == "axis":
            return getattr(tree[1], tree[2])
        parts = [self.made(part) for part in (tree[2] if kind in ("call", "relation") else tree[1])]
        if kind == "call":
            return (
                getattr(arm, tree[1])(*parts)
                if hasattr(arm, tree[1])
                else self.s.functions[tree[1]][0](*parts)
            )
        try:
            return _combined(kind, tree, parts)
        except (ZeroDivisionError, OverflowError, TypeError) as error:  # numbers of Python alone
            raise arm.ArmillaryError(str(error)) from None

    # ------------------------------------------------------------ verbs

    def tell_parameter(self) -> None:
        default = self.rng.choice([None, self.size(), self.plain()])
        self.s.parameter(self.name(), default, units=self.rng.choice(UNITS), about=self.rng.choice(TEXTS))

    def tell_body(self) -> None:
        rng = self.rng
        kinds = [arm.Fixed(), arm.Revolute(self.axis(), small=self.chance(0.2)), arm.Prismatic(self.axis()),
                 arm.Cylindrical(self.axis()), arm.Planar(rng.choice("xyz"), velocity=rng.choice(["parent", "body"])),
                 arm.Gimbal(rng.choice(["zx", "zyx", "xyz"])), arm.Spherical(), arm.Spherical("zyx"), arm.Free(),
                 arm.Free("xyz", velocity="body"), arm.Joint(translate=[self.axis()], rotate=[self.axis()]),
                 arm.Joint(rotate=["x", "z"])]  # fmt: skip
        m = self.plain()
        masses = [m, None, self.constant(), self.constant()]
        inertias = [
            0,
            None,
            (m, m, m),
            (c := self.fitting(), c, f"1.5*{c}"),
            (2, 3, 4, 0.1, 0, -0.2),
            np.diag([1.0, 2.0, 2.5]),
        ]
        turns = [
            None,
            None,
            ("zx", 0.1, self.constant()),
            ("z", math.pi / 2),
            [[0, -1, 0], [1, 0, 0], [0, 0, 1]],
        ]
        options = {"at": self.triple(), "com": self.triple()} if self.chance(0.7) else {}
        parent = rng.choice([None, self.body(), self.body().name])
        self.s.body(self.name(), parent, rng.choice(kinds), orient=rng.choice(turns), mass=rng.choice(masses),
                    inertia=rng.choice(inertias), **options)  # fmt: skip

    def tell_point(self) -> None:
        body, name = self.body(), self.name()
        self.rng.choice([lambda: body.point(name, self.triple()), lambda: body.point(*self.triple(), name=name),
                         lambda: body.point(self.triple())])()  # fmt: skip

    def tell_flexible(self) -> None:
        beam = arm.Beam(2.0, EI=5.0, mass_per_length=0.3, motions="y", stations={"mid": 1.0})
        tube = arm.Beam(3, E=7e10, nu=0.3, density=2700, section=arm.Section.tube(0.02, 0.001), along="y")
        plate = arm.Plate(2, 1, 0.02, E=7e10, nu=0.3, density=2700)
        lumps = {"nodes": {"a": (0, 0, 1), "b": (0, 0, 2)}, "masses": [1, 2], "frequencies": [3.0],
                 "shapes": [[[1], [0], [0]], [[2], [0], [0]]]}  # fmt: skip
        body = self.moving()
        ready = arm.System("donor").body("donor", joint=arm.Free()).flexible(beam, modes=2)
        ways = [lambda: body.flexible(beam, modes=1, damping=0.01), lambda: body.flexible(tube, modes=2, stiffening=True),
                lambda: body.flexible(plate, modes=2), lambda: body.flexible(**lumps), lambda: body.flexible(ready),
                lambda: body.flexible(m=2.0, c=(0.1, 0, 0), J=np.eye(3), P=np.ones((3, 1)), H=np.zeros((3, 1)),
                                      M=[[1.0]], frequencies=[2.0]),
                lambda: body.flexible(coupling=(np.ones((3, 1)), np.zeros((3, 1))), frequencies=[2.0], about=(0, 0, 0)),
                lambda: body.flexible(mass_matrix=np.eye(12), stiffness_matrix=np.diag(np.arange(1.0, 13.0)),
                                      positions=[(0, 0, 0), (1, 0, 0)], fixed=["0"], modes=2)]  # fmt: skip
        self.rng.choice(ways)()

    def tell_node(self) -> None:
        flexible = [b for b in self.s.bodies.values() if b.flex is not None]
        if flexible:
            body = self.rng.choice(flexible)
            body.node(self.rng.choice([*body.flex.part.nodes, 0.5, (0.5, 0.2)]))

    def tell_gravity(self) -> None:
        down = self.rng.choice(
            [-self.s.ground.y, "ground.z", "3*ground.x - 4*ground.y", self.s.ground.x * 2 + self.s.ground.z]
        )
        self.s.gravity(self.constant(), down)

    def tell_force(self) -> None:
        reaction = self.rng.choice([None, self.point(), self.body()])
        self.s.force(self.name(), self.scalar(), self.direction(), at=self.point(), reaction=reaction)

    def tell_moment(self) -> None:
        reaction = self.rng.choice([None, self.body(), self.body().name])
        self.s.moment(self.name(), self.scalar(), self.direction(), on=self.body(), reaction=reaction)

    def tell_strut(self) -> None:
        c, d, k = self.fit(), self.fit(), self.plain()
        laws = [
            "-c0*(x - 1) - 2*v*d0",
            lambda x, v: -c * x * k - d * v,
            lambda length, rate: -c * length**2,
            -3.0 * c,
        ]
        self.s.strut(self.name(), self.rng.choice(laws), between=(self.point(), self.point()))

    def tell_function(self) -> None:
        name, c, k = self.name(), self.fit(), self.size()
        table = arm.Table([0, 1, 2.5], [self.plain(), self.size(), 3], kind=self.rng.choice(["linear", "smooth"]),
                          name=self.rng.choice([name, name, self.name()]))  # fmt: skip
        self.s.function(
            name, self.rng.choice([table, lambda x: x * x + 1, lambda k_1: c * arm.sin(k_1) * k, abs])
        )

    def tell_memory(self) -> None:
        every = self.rng.choice([None, None, 0.01, 1 / 3])
        update = self.scalar() if every or self.chance(0.5) else None
        self.s.memory(self.name(), self.size(), update=update, every=every, units=self.rng.choice(UNITS),
                      about=self.rng.choice(TEXTS))  # fmt: skip

    def tell_input(self) -> None:
        self.s.input(self.name(), self.size(), units=self.rng.choice(UNITS), about=self.rng.choice(TEXTS))

    def tell_update(self) -> None:
        if self.s.memories:
            memory = self.rng.choice(list(self.s.memories.values())).symbol
            self.s.update(self.rng.choice([memory, memory.data.name]), self.scalar())

    def tell_define(self) -> None:
        self.s.define(self.name(), self.rng.choice([self.scalar(2), self.direction()]),
                      **({"label": self.name()} if self.chance(0.3) else {}))  # fmt: skip

    def tell_stop(self) -> None:
        low = self.rng.choice([None, -1, f"-{self.fitting()}"])
        self.s.stop(self.name(), self.variable(), lower=low, upper=f"1 + 0.1*{self.fitting()}*t", stiffness=1e4,
                    damping=self.rng.choice([0, 0.3]), exponent=self.rng.choice([1, 1.5]))  # fmt: skip

    def tell_brake(self) -> None:
        self.s.brake(self.name(), self.variable(), capacity=self.constant(), stiffness=1e4, damping=self.constant(),
                     static=self.rng.choice([None, 9]))  # fmt: skip

    def tell_contact(self) -> None:
        friction = self.rng.choice(
            [None, arm.SmoothFriction(0.3, 0.01), arm.StickSlip(self.constant(), 1e4, 10)]
        )
        self.s.contact(self.name(), self.point(), plane=(self.point(), self.direction()), stiffness=self.constant(),
                       friction=friction)  # fmt: skip

    def tell_wheel(self) -> None:
        drive = self.rng.choice(
            [{"torque": self.scalar(1)}, {"speed": 100}, {"speed": self.constant(), "drive": "speed"}]
        )
        self.s.reaction_wheel(
            self.name(), on=self.moving(), axis=self.axis(), inertia=self.constant(), **drive
        )

    def tell_gyro(self) -> None:
        self.s.control_moment_gyro(self.name(), on=self.moving(), gimbal_axis=self.rng.choice(["x", ["x", "y"]]),
                                   spin_axis="z", wheel_inertia=0.2, wheel_speed=self.constant())  # fmt: skip

    def tell_thruster(self) -> None:
        pulses = self.rng.choice([None, [(1, 2), (3, 4.5)], f"t*{self.fitting()} < 3"])
        self.s.thruster(self.name(), self.constant(), self.direction(), at=self.point(), on=pulses)

    def tell_solar_pressure(self) -> None:
        self.s.solar_pressure(self.name(), at=self.point(), area=self.constant(), sun=self.s.ground.x,
                              specular=0.2)  # fmt: skip

    def tell_attractor(self) -> None:
        self.s.attractor(self.name(), self.rng.choice([3.986e14, self.constant()]), at=self.rng.choice([(0, 0, 0), self.triple()]),
                         field=self.rng.choice(["mass centre", "gradient"]))  # fmt: skip

    def variable(self) -> Any:
        known = [*self.s.coordinates, *self.s.speeds]
        chosen = self.rng.choice(known or [self.s.time])
        return self.rng.choice([chosen, chosen.data.name])

    def tell_constrain(self) -> None:
        known = self.s.coordinates or [self.s.time]
        sides = [f"{self.fitting()}*{self.rng.choice(known).data.name}" for _ in range(2)]
        name = self.rng.choice([None, self.label()])
        self.s.constrain(
            self.rng.choice([" - 2*".join(sides), self.scalar(2)]), name=name, about=self.rng.choice(TEXTS)
        )

    def tell_close_loop(self) -> None:
        axes = self.rng.choice([None, self.direction(), [self.direction(), self.direction()]])
        self.s.close_loop(self.point(), self.point(), axes, name=self.rng.choice([None, self.label()]))

    def tell_close_joint(self) -> None:
        kind = self.rng.choice(["revolute", "spherical", "distance", "fixed", "universal", "cylindrical"])
        options: dict[str, Any] = {"axis": self.axis()} if self.chance(0.5) else {}
        length = {"length": self.constant()} if kind == "distance" else {}
        self.s.close_joint(
            kind, self.point(), self.point(), **options, **length, name=self.rng.choice([None, self.label()])
        )

    def tell_prescribe(self) -> None:
        self.s.prescribe(
            self.variable(),
            self.rng.choice([f"{self.fitting()}*sin({self.fitting()}*t)", self.s.time * self.fit(), 0.1]),
        )

    def tell_lock(self) -> None:
        self.s.lock(self.variable())

    def tell_judgement(self) -> None:
        thing = self.rng.choice([self.variable(), self.scalar(1), self.fit()])
        (self.s.small if self.chance(0.7) else self.s.large)(thing)

    def tell_event(self) -> None:
        changes = {self.variable(): self.scalar(1)} if self.chance(0.5) else {}
        changes |= {name: self.scalar(1) for name in list(self.s.memories)[:1]}
        self.s.event(self.label(), self.scalar(2), direction=self.rng.choice([-1, 0, 1]), set=changes,
                     stop=self.chance(0.3), about=self.rng.choice(TEXTS))  # fmt: skip

    def tell_output(self) -> None:
        whole = [self.s.total_energy, self.s.total_mass, lambda: arm.dot(self.s.momentum(), self.s.ground.x),
                 lambda: arm.magnitude(self.s.reaction_force(self.moving()))]  # fmt: skip
        value = self.rng.choice(whole)() if self.chance(0.2) else self.scalar(3, late=True)
        units = self.rng.choice(UNITS) if self.chance(0.2) else None
        self.s.output(self.label(), value, units=units, about=self.rng.choice(TEXTS))

    def tell_attitude_output(self) -> None:
        self.s.attitude_output(self.label(), self.moving(), self.rng.choice(["quaternion", "zyx"]),
                               relative_to=self.rng.choice([None, self.body()]))  # fmt: skip

    def tell_start(self) -> None:
        self.s.start({self.variable(): self.rng.choice([self.size(), self.plain(), "0.1*pi"])})

    def tell_start_mass_centre(self) -> None:
        self.s.start_mass_centre(self.moving(), position=self.triple())

    def tell_start_orbit(self) -> None:
        self.s.start_orbit(self.moving(), arm.Orbit(4e14, a=7e6, e=0.01, i="51.6 deg"))


def _combined(kind: str, tree: Any, parts: list[Any]) -> Any:
    """Parts put together by Python's own operators."""
    if kind == "relation":
        compare = {"==": arm.equal, "!=": arm.not_equal, "<": lambda a, b: a < b, "<=": lambda a, b: a <= b,
                   ">": lambda a, b: a > b, ">=": lambda a, b: a >= b}  # fmt: skip
        return compare[tree[1]](*parts)
    if kind == "negative":
        return -parts[0]
    if kind == "power":
        return parts[0] ** tree[2]
    whole = parts[0]
    for part in parts[1:]:
        whole = {"plus": lambda a, b: a + b, "minus": lambda a, b: a - b, "times": lambda a, b: a * b,
                 "over": lambda a, b: a / b}[kind](whole, part)  # fmt: skip
    return whole


def faults(system: arm.System, folder: Path) -> list[str]:
    """What a text model does not keep of a system."""
    first, second = folder / "model.toml", folder / "again" / "model.toml"
    second.parent.mkdir()
    system.save(first)
    again = arm.load(first)
    found = differences(system, again)
    again.save(second)
    return found + ([] if second.read_text() == first.read_text() else ["the text of the second file"])


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(st.randoms(use_true_random=False))
def test_whatever_the_verbs_accept_reads_back_the_same(rng):
    with TemporaryDirectory() as folder:
        assert faults(Teller(rng).s, Path(folder)) == []
