"""Mechanisms with rigid contacts at random.

A mechanism is text: verbs of ``System`` with named parameters, so that one that fails can be written down as
a script of plain numbers (`Mechanism.script`). Parameters and starts have exponents of length, mass and time,
so that one compiled model serves all sizes; contacts may be told in reversed order, and the whole be
mirrored.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import armillary as arm

ONE, LENGTH, MASS, TIME = (0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)
SPEED, RATE, GRAVITY = (1, 0, -1), (0, 0, -1), (1, 0, -2)
INERTIA, FORCE, MOMENT, ENERGY = (2, 1, 0), (1, 1, -2), (2, 1, -2), (2, 1, -2)
UNITS = {
    ONE: "1",
    LENGTH: "m",
    MASS: "kg",
    GRAVITY: "m/s^2",
    INERTIA: "kg*m^2",
    FORCE: "N",
    MOMENT: "N*m",
}
Exponents = tuple[int, int, int]
PLAIN = (1.0, 1.0, 1.0)
MOST_STEPS = 20000


@dataclass
class Quantity:
    """A number with the exponents of its dimension; ``odd`` where a mirror changes its sign."""

    value: float
    exponents: Exponents
    odd: bool = False

    def scaled(self, scale: Sequence[float], mirror: bool = False) -> float:
        """Return the number where lengths, masses and times are so much larger."""
        factor = math.prod(s**k for s, k in zip(scale, self.exponents, strict=True))
        return self.value * factor * (-1.0 if mirror and self.odd else 1.0)


@dataclass
class Touch:
    """A contact: its statement, its mirrored statement, and what is to be checked."""

    name: str
    kind: str  # point, disc, plane, pair, stop, brake, clutch
    text: str
    mirrored: str
    friction: str | None = None  # the parameter with its coefficient, or capacity
    slips: int = 0
    angular: bool = False
    outputs: tuple[str, ...] = ()


@dataclass
class Mechanism:
    """Statements, parameters and a start."""

    seed: int
    law: str
    bodies: list[str] = field(default_factory=list)
    contacts: list[Touch] = field(default_factory=list)
    values: dict[str, Quantity] = field(default_factory=dict)
    initial: dict[str, Quantity] = field(default_factory=dict)
    loop: bool = False
    duration: float = 1.0
    origin: int = 0  # the seed with which the generator made it

    @property
    def one_sided(self) -> list[Touch]:
        return [c for c in self.contacts if c.kind not in ("brake", "clutch")]

    @property
    def conserves(self) -> bool:
        """Whether energy cannot be gained by the laws of its impacts."""
        frictionless = all(c.slips == 0 for c in self.one_sided)
        return self.law == "poisson" or (frictionless and len(self.one_sided) == 1)

    def statements(self, reverse: bool = False, mirror: bool = False) -> list[str]:
        """Return the statements that describe the system, without its parameters."""
        contacts = self.contacts[::-1] if reverse else self.contacts
        told = [c.mirrored if mirror else c.text for c in contacts]
        outputs = [line for c in self.contacts for line in c.outputs]
        signs = {"{sx}": "-1" if mirror else "1"}
        lines = [*self.bodies, *told, *outputs]
        lines += ['s.output("energy", s.kinetic_energy() + s.potential_energy())']
        return [line.replace("{sx}", signs["{sx}"]) for line in lines]

    def describe(self, reverse: bool = False, mirror: bool = False) -> arm.System:
        """Return the system."""
        scope: dict[str, Any] = {"arm": arm, "s": arm.System(f"mechanism {self.seed}")}
        for name, q in self.values.items():
            units = None if q.exponents == ONE else UNITS[q.exponents]
            scope["s"].parameter(name, q.scaled(PLAIN, mirror), units=units)
        exec("\n".join(self.statements(reverse, mirror)), scope)
        system: arm.System = scope["s"]
        return system

    def compile(self, reverse: bool = False, mirror: bool = False) -> Any:
        """Return the compiled model."""
        return self.describe(reverse, mirror).derive().compile()

    def settings(
        self, scale: Sequence[float] = PLAIN, mirror: bool = False, rtol: float = 1e-9
    ) -> dict[str, Any]:
        """Return arguments of ``simulate``: parameters, start and tolerances in these sizes."""
        length, _, time = scale
        sizes = {LENGTH: length, SPEED: length / time, RATE: 1 / time, ONE: 1.0}
        kinds = {name: q.exponents for name, q in self.initial.items()}
        # A loop takes the place of one speed; those it may be are alike.
        states = [k for k in self.initial if ".q" in k]
        states += [k for k in self.initial if ".u" in k][int(self.loop) :]
        atol = np.array([1e-2 * rtol * sizes[kinds[name]] for name in states])
        return {
            "parameters": {k: q.scaled(scale, mirror) for k, q in self.values.items()},
            "initial": {
                k: q.scaled(scale, mirror) for k, q in self.initial.items() if not self.loop or q.value
            },
            "rtol": rtol,
            "atol": atol,
            "max_steps": MOST_STEPS,
        }

    def script(self, scale: Sequence[float] = PLAIN, what: str = "", **how: Any) -> str:
        """Return a program that makes one run of the mechanism."""
        reverse, mirror = how.pop("reverse", False), how.pop("mirror", False)
        lines = [f"# {what}", "import armillary as arm", "", 's = arm.System("mechanism")']
        for name, q in self.values.items():
            units = "" if q.exponents == ONE else f', units="{UNITS[q.exponents]}"'
            lines.append(f's.parameter("{name}", {q.scaled(scale, mirror)!r}{units})')
        lines += self.statements(reverse, mirror)
        start = {k: q.scaled(scale, mirror) for k, q in self.initial.items() if q.value}
        lines += ["model = s.derive().compile()", f"start = {start!r}"]
        length, _, time = scale
        tolerance = min(1.0, length, length / time, 1 / time) * 1e-11
        given = {"atol": tolerance, "max_steps": MOST_STEPS, **how}
        options = ", ".join(f"{k}={v!r}" for k, v in given.items())
        lines.append(f"run = model.simulate({self.duration * time!r}, initial=start, {options})")
        lines.append('print(run.info["status"], run.events[:20])')
        for c in self.one_sided:
            gap, push = f'run["{c.name}_gap"].min()', f'run["{c.name}"].min()'
            lines.append(f'print("{c.name}", "smallest gap", {gap}, "force", {push})')
        lines.append('gain = run["energy"][1:] - run["energy"][:-1]')
        lines.append('print("largest gain of energy", gain.max(), "at", run.time[gain.argmax()])')
        return "\n".join(lines) + "\n"


# ---------------------------------------------------------------- mechanisms at random


@dataclass
class _Body:
    """A body as the generator knows it: where it is at the start."""

    name: str
    place: np.ndarray
    turn: np.ndarray
    joints: list[tuple[str, str, bool, str]]  # coordinate, speed, whether a mirror changes it, kind
    planar: bool


def rotation(axis: str, angle: float) -> np.ndarray:
    """Return the matrix that turns vectors about an axis."""
    i = "xyz".index(axis)
    j, k = (i + 1) % 3, (i + 2) % 3
    R = np.eye(3)
    R[j, j] = R[k, k] = math.cos(angle)
    R[k, j], R[j, k] = math.sin(angle), -math.sin(angle)
    return R


class OtherNumbers(random.Random):
    """Choices of a seed, which make the structure of a mechanism, with numbers of another seed."""

    numbers: random.Random

    def uniform(self, a: float, b: float) -> float:
        super().uniform(a, b)
        return self.numbers.uniform(a, b)

    def gauss(self, mu: float = 0.0, sigma: float = 1.0) -> float:
        super().gauss(mu, sigma)
        return self.numbers.gauss(mu, sigma)


class Maker:
    """A generator of mechanisms."""

    def __init__(
        self,
        seed: int,
        most_bodies: int = 4,
        most_contacts: int = 20,
        law: str | None = None,
        numbers: int | None = None,
    ) -> None:
        self.rng = rng = random.Random(seed) if numbers is None else OtherNumbers(seed)
        if isinstance(rng, OtherNumbers):
            rng.numbers = random.Random(numbers)
        self.planar = rng.random() < 0.6
        self.m = Mechanism(seed, law or rng.choice(["newton", "poisson"]))
        self.made: list[_Body] = []
        self.grounds: dict[tuple[float, float], list[tuple[str, float]]] = {}
        self.value("g", rng.uniform(3, 10), GRAVITY)
        self.m.bodies.append('s.gravity("g", -s.ground.y)')
        count = rng.choice([1, 1, 2, 2, 3, rng.randint(1, most_bodies)])
        count = min(count, most_bodies)
        if self.planar and most_bodies >= 3 and rng.random() < 0.15:
            self.slider_crank()
        else:
            for i in range(count):
                self.body(i)
        few = rng.randint(1, 4) if rng.random() < 0.7 else rng.randint(1, most_contacts)
        wanted = min(few, most_contacts)
        self.smooth = rng.random() < 0.25  # no friction at all
        tries = 0
        while len(self.m.contacts) < wanted and tries < 10 * wanted:
            tries += 1
            kind = rng.choice(["point", "point", "point", "disc", "stop", "plane", "pair", "brake", "clutch"])
            getattr(self, f"add_{kind}")(f"c{len(self.m.contacts)}")
        self.set_grounds()
        self.m.duration = rng.uniform(1, 2)

    def value(self, name: str, number: float, exponents: Exponents, odd: bool = False) -> str:
        self.m.values[name] = Quantity(number, exponents, odd)
        return name

    def triple(self, name: str, size: float) -> tuple[str, np.ndarray]:
        """A place as text and numbers."""
        rng = self.rng
        at = np.array([rng.uniform(-size, size), rng.uniform(-size, size), rng.uniform(-size, size)])
        if self.planar:
            at[2] = 0.0
        texts = [
            f'"{self.value(f"{name}{a}", float(x), LENGTH, a == "x")}"' if x else "0"
            for a, x in zip("xyz", at, strict=True)
        ]
        return f"({', '.join(texts)})", at

    def start(self, name: str, number: float, exponents: Exponents, odd: bool) -> None:
        self.m.initial[name] = Quantity(number, exponents, odd)

    def body(self, i: int, parent: _Body | None = None, kind: str | None = None, moves: bool = True) -> _Body:
        """Add a body with its place at the start."""
        rng, name = self.rng, "ABCDEF"[i]
        if parent is None and self.made and rng.random() < 0.65:
            parent = rng.choice(self.made)
        if kind is None and parent is None:
            kind = rng.choice(["free", "free", "free", "revolute", "prismatic", "point"])
        elif kind is None:
            kind = rng.choice(["revolute", "revolute", "prismatic", "ball"])
        if self.planar and kind == "ball":
            kind = "revolute"
        at, place = self.triple(f"{name}_at_", 1.0)
        R, origin = (np.eye(3), np.zeros(3)) if parent is None else (parent.turn, parent.place)
        place = origin + R @ place
        joints: list[tuple[str, str, bool, str]] = []
        if kind in ("free", "point"):
            free = kind == "free"
            if self.planar:
                turn = ', rotate=["z"]' if free else ""
                joint = f'arm.Joint(translate=["x", "y"]{turn})'
                axes: list[tuple[str, str]] = [("t", "x"), ("t", "y")] + ([("r", "z")] if free else [])
            else:
                joint = "arm.Free()" if free else 'arm.Joint(translate=["x", "y", "z"])'
                axes = [("t", "x"), ("t", "y"), ("t", "z")] + ([("Q", "")] if free else [])
        elif kind == "ball":
            joint, axes = "arm.Spherical()", [("Q", "")]
        else:
            axis = ("z" if self.planar else rng.choice("xyz")) if kind == "revolute" else rng.choice("xy")
            joint = f'arm.{"Revolute" if kind == "revolute" else "Prismatic"}("{axis}")'
            axes = [("r" if kind == "revolute" else "t", axis)]
        k = 1
        for what, axis in axes:
            if what == "t":
                q, u, odd = rng.uniform(-0.5, 0.5), rng.uniform(-2, 2), axis == "x"
                self.start(f"{name}.q{k}", q, LENGTH, odd)
                self.start(f"{name}.u{k}", u if moves else 0.0, SPEED, odd)
                place = place + q * R[:, "xyz".index(axis)]
                joints.append((f"{name}.q{k}", f"{name}.u{k}", odd, f"t{axis}"))
            elif what == "r":
                q, u, odd = rng.uniform(-3, 3), rng.uniform(-3, 3), axis != "x"
                self.start(f"{name}.q{k}", q, ONE, odd)
                self.start(f"{name}.u{k}", u if moves else 0.0, RATE, odd)
                R = R @ rotation(axis, q)
                joints.append((f"{name}.q{k}", f"{name}.u{k}", odd, f"r{axis}"))
            else:
                e = np.array([rng.gauss(0, 1) for _ in range(4)])
                e = e / np.linalg.norm(e)
                w, v = e[0], e[1:]
                for j, x in enumerate(e):
                    self.start(f"{name}.q{k + j}", float(x), ONE, j > 1)
                for j in range(3):
                    self.start(f"{name}.u{k + j}", rng.uniform(-3, 3), RATE, j > 0)
                K = np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])
                R = R @ (np.eye(3) + 2 * w * K + 2 * K @ K)
            k += 1
        mass = self.value(f"{name}_m", rng.uniform(0.2, 3), MASS)
        size = rng.uniform(0.05, 1.0)
        inertia = [
            self.value(f"{name}_i{a}", size * rng.uniform(0.8, 1.2), INERTIA)
            for a in (("",) if self.planar else "xyz")
        ]
        inertia = inertia * 3 if self.planar else inertia
        com = f", com={self.triple(f'{name}_com_', 0.2)[0]}" if rng.random() < 0.3 else ""
        owner = "None" if parent is None else f'"{parent.name}"'
        moments = ", ".join(f'"{x}"' for x in inertia)
        self.m.bodies.append(
            f'{name} = s.body("{name}", {owner}, {joint}, at={at}, mass="{mass}", inertia=({moments}){com})'
        )
        made = _Body(name, place, R, joints, self.planar)
        self.made.append(made)
        return made

    def slider_crank(self) -> None:
        """Three bodies, two of which are a crank and a rod whose end slides along a line."""
        self.m.loop = True
        a = self.body(0, kind="revolute", moves=False)
        b = self.body(1, a, "revolute", moves=False)
        text, at = self.triple("end_", 1.0)
        end = b.place + b.turn @ at
        line = self.value("line", float(end[1]), LENGTH)
        self.m.bodies.append(f'end = B.point("end", {text})')
        self.m.bodies.append(
            f's.close_loop(end, s.ground.point("line", (0, "{line}", 0)), directions=[s.ground.y])'
        )
        if self.rng.random() < 0.5:
            self.body(2, b, moves=False)

    # ------------------------------------------------------------ contacts

    def rebound(self, name: str, slips: int) -> tuple[str, str | None]:
        rng = self.rng
        e = rng.choice([0.0, rng.uniform(0, 0.9), rng.uniform(0, 0.9)])
        text = f', restitution="{self.value(f"{name}_e", e, ONE)}", law="{self.m.law}"'
        if not slips or self.smooth or rng.random() < 0.15:
            return text, None
        mu = self.value(f"{name}_mu", rng.choice([rng.uniform(0, 1.2), rng.uniform(0, 0.4)]), ONE)
        return f'{text}, friction="{mu}"', mu

    def on_plane(self, name: str, kind: str, radius: str, above: float) -> None:
        """A contact with the floor, a wall or a slope; its place follows when all are known."""
        rng = self.rng
        body = rng.choice(self.made)
        text, at = self.triple(f"{name}_p", 0.6)
        point = body.place + body.turn @ at
        normal = rng.choice([(0.0, 1.0)] * 4 + [(1.0, 0.0), (-1.0, 0.0), (0.6, 0.8), (-0.28, 0.96)])
        n = f"(s.ground.x*({{sx}}*{normal[0]}) + s.ground.y*{normal[1]})"
        plane = f"plane{[*self.grounds, normal].index(normal)}"
        slips = 1 if self.planar else 2
        more, mu = self.rebound(name, slips)
        size = f', radius="{radius}"' if radius else ""
        touch = (
            f'{name}_p = {body.name}.point("{name}_p", {text})\n'
            f'{name}_o = s.ground.point("{name}_o", ("{plane}x", "{plane}y", 0))\n'
            f's.contact("{name}", {name}_p, plane=({name}_o, {n}){size}{more})'
        )
        slip_of = f"arm.velocity({name}_p)"
        if radius:
            slip_of += f' - arm.cross(arm.angular_velocity({body.name}), s.parameters["{radius}"]*{n})'
        less = f' - s.parameters["{radius}"]' if radius else ""
        gap = f's.output("{name}_gap", arm.dot(arm.position({name}_p, {name}_o), {n}){less})'
        outputs = (gap, slip_output(name, slip_of, n)) if mu else (gap,)
        self.m.contacts.append(Touch(name, kind, touch, touch, mu, slips if mu else 0, outputs=outputs))
        height = float(normal[0] * point[0] + normal[1] * point[1]) - above
        self.grounds.setdefault(normal, []).append((name, height))

    def set_grounds(self) -> None:
        """Put planes where nothing is below them, and something often touches."""
        for i, (normal, points) in enumerate(self.grounds.items()):
            low = min(height for _, height in points)
            low -= self.rng.choice([0.0, self.rng.uniform(0, 0.3), self.rng.uniform(0, 1)])
            self.value(f"plane{i}x", low * normal[0], LENGTH, odd=True)
            self.value(f"plane{i}y", low * normal[1], LENGTH)

    def add_point(self, name: str) -> None:
        self.on_plane(name, "point", "", 0.0)

    def add_disc(self, name: str) -> None:
        radius = self.rng.uniform(0.05, 0.6)
        self.on_plane(name, "disc", self.value(f"{name}_r", radius, LENGTH), radius)

    def add_plane(self, name: str) -> None:
        """A point of a body on a plane of another."""
        if len(self.made) < 2:
            return
        a, b = self.rng.sample(self.made, 2)
        text, at = self.triple(f"{name}_p", 0.6)
        point = b.turn.T @ (a.place + a.turn @ at - b.place)
        away = self.rng.choice([0.0, self.rng.uniform(0, 0.5)])
        high = self.value(f"{name}_h", float(point[1]) - away, LENGTH)
        slips = 1 if self.planar else 2
        more, mu = self.rebound(name, slips)
        touch = (
            f'{name}_p = {a.name}.point("{name}_p", {text})\n'
            f'{name}_o = {b.name}.point("{name}_o", (0, "{high}", 0))\n'
            f's.contact("{name}", {name}_p, plane=({name}_o, {b.name}.y){more})'
        )
        gap = f's.output("{name}_gap", arm.dot(arm.position({name}_p, {name}_o), {b.name}.y))'
        slip_of = f"arm.velocity({name}_p, {b.name})"
        outputs = (gap, slip_output(name, slip_of, f"{b.name}.y")) if mu else (gap,)
        self.m.contacts.append(Touch(name, "plane", touch, touch, mu, slips if mu else 0, outputs=outputs))

    def add_pair(self, name: str) -> None:
        """Balls about points of two bodies."""
        if len(self.made) < 2:
            return
        a, b = self.rng.sample(self.made, 2)
        text, at = self.triple(f"{name}_p", 0.6)
        apart = float(np.linalg.norm(a.place + a.turn @ at - b.place))
        if apart < 0.1:
            return
        share = self.rng.choice([1.0, self.rng.uniform(0.3, 1)])
        sum_of_radii = self.value(f"{name}_d", apart * share * (1 - 1e-15), LENGTH)
        more, _ = self.rebound(name, 0)
        gap = f'arm.magnitude(arm.position({name}_p, {b.name})) - s.parameters["{sum_of_radii}"]'
        touch = f'{name}_p = {a.name}.point("{name}_p", {text})\ns.unilateral("{name}", {gap}{more})'
        self.m.contacts.append(Touch(name, "pair", touch, touch, outputs=(f's.output("{name}_gap", {gap})',)))

    def coordinate(self) -> tuple[str, str, bool, str] | None:
        joints = [j for b in self.made for j in b.joints]
        return self.rng.choice(joints) if joints else None

    def add_stop(self, name: str) -> None:
        chosen = self.coordinate()
        if chosen is None:
            return
        q, _, odd, kind = chosen
        turns = kind[0] == "r"
        side = self.rng.choice([1, -1])
        away = self.rng.choice([0.0, self.rng.uniform(0, 0.6)])
        end = self.value(
            f"{name}_end", self.m.initial[q].value - side * away, ONE if turns else LENGTH, odd=odd
        )
        more, _ = self.rebound(name, 0)

        def tell(sign: int) -> str:
            return f's.stop("{name}", "{q}", {"lower" if sign > 0 else "upper"}="{end}"{more})'

        flip = "{sx}*" if odd else ""
        gap = f's.output("{name}_gap", "{flip}({side})*({q} - {end})")'
        self.m.contacts.append(
            Touch(name, "stop", tell(side), tell(-side if odd else side), angular=turns, outputs=(gap,))
        )

    def add_brake(self, name: str) -> None:
        chosen = self.coordinate()
        if chosen is None:
            return
        q, u, _, kind = chosen
        turns = kind[0] == "r"
        capacity = self.value(f"{name}_cap", self.rng.uniform(0, 15), MOMENT if turns else FORCE)
        text = f's.brake("{name}", "{q}", capacity="{capacity}")'
        slip = f's.output("{name}_slip", "1*{u}")'
        self.m.contacts.append(Touch(name, "brake", text, text, capacity, 1, turns, (slip,)))

    def add_clutch(self, name: str) -> None:
        joints = [j for b in self.made for j in b.joints]
        pairs = [(a, b) for i, a in enumerate(joints) for b in joints[i + 1 :] if a[3] == b[3]]
        if not pairs:
            return
        a, b = self.rng.choice(pairs)
        turns = a[3][0] == "r"
        capacity = self.value(f"{name}_cap", self.rng.uniform(0, 15), MOMENT if turns else FORCE)
        ratio = self.value(f"{name}_ratio", self.rng.uniform(0.5, 2), ONE)
        text = f's.clutch("{name}", "{a[0]}", "{b[0]}", capacity="{capacity}", ratio="{ratio}")'
        slip = f's.output("{name}_slip", "{a[1]} - {ratio}*{b[1]}")'
        self.m.contacts.append(Touch(name, "clutch", text, text, capacity, 1, turns, (slip,)))


def slip_output(name: str, velocity: str, normal: str) -> str:
    """Return the statement of the output of a slip velocity's magnitude, for the part across a normal."""
    return (
        f"{name}_v = {velocity}\n"
        f's.output("{name}_slip", arm.magnitude({name}_v - arm.dot({name}_v, {normal})*{normal}))'
    )


def make_mechanism(seed: int, **limits: Any) -> Mechanism:
    """Return the mechanism of a seed; one with at least one contact."""
    for turn in range(100):
        made = Maker(seed + 1_000_003 * turn, **limits).m
        drop_refused(made)
        if made.contacts:
            made.seed, made.origin = seed, made.seed
            return made
    raise AssertionError(f"no contacts with seed {seed}")


def drop_refused(mechanism: Mechanism) -> None:
    """Leave out contacts that cannot move, such as that of two points of one revolute joint's axis."""
    while mechanism.contacts:
        try:
            mechanism.describe()
            return
        except arm.ModelError as error:
            kept = [c for c in mechanism.contacts if f"'{c.name}'" not in str(error)]
            if len(kept) == len(mechanism.contacts):
                raise
            mechanism.contacts = kept


def vary(mechanism: Mechanism, seed: int) -> Mechanism:
    """Return the same structure with other masses, coefficients and speeds."""
    rng = random.Random(seed)
    values = dict(mechanism.values)
    for name, q in values.items():
        if name.endswith(("_m", "_cap")):
            values[name] = Quantity(q.value * rng.uniform(0.3, 3), q.exponents, q.odd)
        elif name.endswith("_e"):
            values[name] = Quantity(rng.choice([0.0, rng.uniform(0, 0.9)]), q.exponents)
        elif name.endswith("_mu"):
            values[name] = Quantity(rng.uniform(0, 1.2), q.exponents)
    initial = dict(mechanism.initial)
    still = rng.random() < 0.2
    for name, q in initial.items():
        if q.exponents in (SPEED, RATE) and not mechanism.loop:
            initial[name] = Quantity(0.0 if still else rng.uniform(-2, 2), q.exponents, q.odd)
    return Mechanism(
        mechanism.seed, mechanism.law, mechanism.bodies, mechanism.contacts, values, initial,
        mechanism.loop, rng.uniform(1, 2), mechanism.origin,
    )  # fmt: skip


def redraw(mechanism: Mechanism, numbers: int) -> Mechanism | None:
    """Return another mechanism of the same structure: places, sizes, masses, coefficients and starts are all
    drawn again, so that one compiled model serves both. Return None if the structure depends on the numbers.
    """
    made = Maker(mechanism.origin, numbers=numbers).m
    kept = {c.name for c in mechanism.contacts}
    made.contacts = [c for c in made.contacts if c.name in kept]
    if made.statements() != mechanism.statements() or list(made.values) != list(mechanism.values):
        return None
    made.seed, made.origin = mechanism.seed, mechanism.origin
    return made


def random_scale(rng: random.Random) -> tuple[float, float, float]:
    """Return factors of length, mass and time from 1e-9 to 1e9."""
    return (10 ** rng.uniform(-9, 9), 10 ** rng.uniform(-9, 9), 10 ** rng.uniform(-9, 9))
