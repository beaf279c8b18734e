"""Systems at random, made through the verbs of ``System`` as a user would make them; what a verb refuses is
left out.
"""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np

import armillary as arm
from armillary.model.units import SYSTEMS
from tests.files.model.random_words import TEXTS, UNITS, Words


class Teller(Words):
    """A user who says anything: ``said`` counts the verbs that were accepted, by name."""

    def __init__(self, rng: random.Random) -> None:
        super().__init__(rng, arm.System(rng.choice(["plain", *TEXTS[1:]]), rng.choice(sorted(SYSTEMS))))
        self.said: dict[str, int] = {}
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
        except arm.ArmillaryError:
            return
        self.said[verb] = self.said.get(verb, 0) + 1

    # ------------------------------------------------------------ verbs

    def tell_parameter(self) -> None:
        default = self.rng.choice([None, self.size(), self.plain()])
        self.s.parameter(self.name(), default, units=self.rng.choice(UNITS), about=self.rng.choice(TEXTS))

    def tell_body(self) -> None:
        rng = self.rng
        kinds = [
            arm.Fixed(),
            arm.Revolute(self.axis(), small=self.chance(0.2)),
            arm.Prismatic(self.axis()),
            arm.Cylindrical(self.axis()),
            arm.Planar(rng.choice("xyz"), velocity=rng.choice(["parent", "body"])),
            arm.Gimbal(rng.choice(["zx", "zyx", "xyz"])),
            arm.Spherical(),
            arm.Spherical("zyx"),
            arm.Free(),
            arm.Free("xyz", velocity="body"),
            arm.Joint(translate=[self.axis()], rotate=[self.axis()]),
            arm.Joint(rotate=["x", "z"]),
        ]
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
        self.s.body(
            self.name(),
            parent,
            rng.choice(kinds),
            orient=rng.choice(turns),
            mass=rng.choice(masses),
            inertia=rng.choice(inertias),
            **options,
        )

    def tell_point(self) -> None:
        body, name = self.body(), self.name()
        self.rng.choice(
            [
                lambda: body.point(name, self.triple()),
                lambda: body.point(*self.triple(), name=name),
                lambda: body.point(self.triple()),
            ]
        )()

    def tell_flexible(self) -> None:
        beam = arm.Beam(2.0, EI=5.0, mass_per_length=0.3, motions="y", stations={"mid": 1.0})
        tube = arm.Beam(3, E=7e10, nu=0.3, density=2700, section=arm.Section.tube(0.02, 0.001), along="y")
        plate = arm.Plate(2, 1, 0.02, E=7e10, nu=0.3, density=2700)
        lumps = {
            "nodes": {"a": (0, 0, 1), "b": (0, 0, 2)},
            "masses": [1, 2],
            "frequencies": [3.0],
            "shapes": [[[1], [0], [0]], [[2], [0], [0]]],
        }
        body = self.moving()
        ready = arm.System("donor").body("donor", joint=arm.Free()).flexible(beam, modes=2)
        ways = [
            lambda: body.flexible(beam, modes=1, damping=0.01),
            lambda: body.flexible(tube, modes=2, stiffening=True),
            lambda: body.flexible(plate, modes=2),
            lambda: body.flexible(**lumps),
            lambda: body.flexible(ready),
            lambda: body.flexible(
                m=2.0,
                c=(0.1, 0, 0),
                J=np.eye(3),
                P=np.ones((3, 1)),
                H=np.zeros((3, 1)),
                M=[[1.0]],
                frequencies=[2.0],
            ),
            lambda: body.flexible(
                coupling=(np.ones((3, 1)), np.zeros((3, 1))), frequencies=[2.0], about=(0, 0, 0)
            ),
            lambda: body.flexible(
                mass_matrix=np.eye(12),
                stiffness_matrix=np.diag(np.arange(1.0, 13.0)),
                positions=[(0, 0, 0), (1, 0, 0)],
                fixed=["0"],
                modes=2,
            ),
        ]
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
        table = arm.Table(
            [0, 1, 2.5],
            [self.plain(), self.size(), 3],
            kind=self.rng.choice(["linear", "smooth"]),
            name=self.rng.choice([name, name, self.name()]),
        )
        self.s.function(
            name, self.rng.choice([table, lambda x: x * x + 1, lambda k_1: c * arm.sin(k_1) * k, abs])
        )

    def tell_memory(self) -> None:
        every = self.rng.choice([None, None, 0.01, 1 / 3])
        update = self.scalar() if every or self.chance(0.5) else None
        self.s.memory(
            self.name(),
            self.size(),
            update=update,
            every=every,
            units=self.rng.choice(UNITS),
            about=self.rng.choice(TEXTS),
        )

    def tell_state(self) -> None:
        units, about = self.rng.choice(UNITS), self.rng.choice(TEXTS)
        name = self.name()
        if self.chance(0.5):
            self.s.state(name, self.scalar(), self.size(), units=units, about=about)
        else:
            state = self.s.state(name, initial=self.size(), units=units, about=about)
            try:
                self.s.rate(state, self.scalar())
            except arm.ArmillaryError:  # a state without a rate is no description that can be written
                self.s.rate(state, 0)
                raise

    def tell_input(self) -> None:
        self.s.input(self.name(), self.size(), units=self.rng.choice(UNITS), about=self.rng.choice(TEXTS))

    def tell_update(self) -> None:
        if self.s.memories:
            memory = self.rng.choice(list(self.s.memories.values())).symbol
            self.s.update(self.rng.choice([memory, memory.data.name]), self.scalar())

    def tell_define(self) -> None:
        self.s.define(
            self.name(),
            self.rng.choice([self.scalar(2), self.direction()]),
            **({"label": self.name()} if self.chance(0.3) else {}),
        )

    def tell_stop(self) -> None:
        low = self.rng.choice([None, -1, f"-{self.fitting()}"])
        self.s.stop(
            self.name(),
            self.variable(),
            lower=low,
            upper=f"1 + 0.1*{self.fitting()}*t",
            stiffness=1e4,
            damping=self.rng.choice([0, 0.3]),
            exponent=self.rng.choice([1, 1.5]),
        )

    def tell_brake(self) -> None:
        self.s.brake(
            self.name(),
            self.variable(),
            capacity=self.constant(),
            stiffness=1e4,
            damping=self.constant(),
            static=self.rng.choice([None, 9]),
        )

    def tell_contact(self) -> None:
        friction = self.rng.choice(
            [None, arm.SmoothFriction(0.3, 0.01), arm.StickSlip(self.constant(), 1e4, 10)]
        )
        self.s.contact(
            self.name(),
            self.point(),
            plane=(self.point(), self.direction()),
            stiffness=self.constant(),
            friction=friction,
        )

    def tell_wheel(self) -> None:
        drive = self.rng.choice(
            [{"torque": self.scalar(1)}, {"speed": 100}, {"speed": self.constant(), "drive": "speed"}]
        )
        self.s.reaction_wheel(
            self.name(), on=self.moving(), axis=self.axis(), inertia=self.constant(), **drive
        )

    def tell_gyro(self) -> None:
        self.s.control_moment_gyro(
            self.name(),
            on=self.moving(),
            gimbal_axis=self.rng.choice(["x", ["x", "y"]]),
            spin_axis="z",
            wheel_inertia=0.2,
            wheel_speed=self.constant(),
        )

    def tell_thruster(self) -> None:
        pulses = self.rng.choice([None, [(1, 2), (3, 4.5)], f"t*{self.fitting()} < 3"])
        self.s.thruster(self.name(), self.constant(), self.direction(), at=self.point(), on=pulses)

    def tell_solar_pressure(self) -> None:
        self.s.solar_pressure(
            self.name(), at=self.point(), area=self.constant(), sun=self.s.ground.x, specular=0.2
        )

    def tell_attractor(self) -> None:
        self.s.attractor(
            self.name(),
            self.rng.choice([3.986e14, self.constant()]),
            at=self.rng.choice([(0, 0, 0), self.triple()]),
            field=self.rng.choice(["mass centre", "gradient"]),
        )

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
        self.s.event(
            self.label(),
            self.scalar(2),
            direction=self.rng.choice([-1, 0, 1]),
            set=changes,
            stop=self.chance(0.3),
            about=self.rng.choice(TEXTS),
        )

    def tell_output(self) -> None:
        whole = [
            self.s.total_energy,
            self.s.total_mass,
            lambda: arm.dot(self.s.momentum(), self.s.ground.x),
            lambda: arm.magnitude(self.s.reaction_force(self.moving())),
        ]
        value = self.rng.choice(whole)() if self.chance(0.2) else self.scalar(3, late=True)
        units = self.rng.choice(UNITS) if self.chance(0.2) else None
        self.s.output(self.label(), value, units=units, about=self.rng.choice(TEXTS))

    def tell_attitude_output(self) -> None:
        self.s.attitude_output(
            self.label(),
            self.moving(),
            self.rng.choice(["quaternion", "zyx"]),
            relative_to=self.rng.choice([None, self.body()]),
        )

    def tell_start(self) -> None:
        self.s.start({self.variable(): self.rng.choice([self.size(), self.plain(), "0.1*pi"])})

    def tell_start_mass_centre(self) -> None:
        self.s.start_mass_centre(self.moving(), position=self.triple())

    def tell_start_orbit(self) -> None:
        self.s.start_orbit(self.moving(), arm.Orbit(3.986e14, a=7e6, e=0.01, i="51.6 deg"))
