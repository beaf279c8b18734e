"""Everything that one small system prints, kept in a file: ``python -m tests.kept_prints`` writes it anew.

Numbers are compared to four digits, so that last bits do not matter; blanks count as one.
"""

from __future__ import annotations

import contextlib
import json
import re
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import numpy as np
from click.testing import CliRunner

import armillary as arm
from armillary.algebra.arguments import core_of
from armillary.cli.app import app
from armillary.viewer.appearance import Appearance

KEPT = Path(__file__).with_name("kept_prints.txt")
TIME = re.compile(r"\b(load|derive|compile|simulate|save) [\d.]+ (?:ms|µs|s)\b")
NUMBER = re.compile(r"(?<![\w.])[-−+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?")


@cache
def wagon() -> arm.System:
    """A wagon on a buffer with a rod below it, an input, a lag, an event and outputs."""
    s = arm.System("wagon")
    k = s.parameter("k", 40.0, units="N/m", about="stiffness of the buffer")
    c = s.parameter("c", 1.5, units="N*s/m", about="damping of the buffer")
    m = s.parameter("m", 2.0, units="kg", about="mass of the rod")
    body = s.body("wagon", joint=arm.Prismatic("x"), mass=5.0, inertia=0)
    rod = s.body("rod", body, arm.Revolute("y"), mass=m, com=(0, 0, -0.4), inertia=(0.1, 0.12, 0.02))
    s.gravity(9.81, -s.ground.z)
    s.force("drive", s.input("pull", 0.0, units="N"), s.ground.x, at=body)
    s.force("buffer", -k * body.q1 - c * body.u1, s.ground.x, at=body)
    ends = body.point((0.3, 0, 0.2)), s.ground.point((1.5, 0, 0.3))
    s.strut("bar", "-3*(x - 1) - 0.2*v", between=ends)
    tip = arm.position(rod.point((0, 0, -0.8)))
    s.output("tip", arm.dot(tip, s.ground.x), units="m", about="way of the rod's end")
    s.event("through", rod.q1, about="the rod hangs")
    return s


@cache
def yard() -> arm.System:
    """Bodies on joints of all kinds, solids by their inertia and given shapes, a closed loop, springs."""
    s = arm.System("yard")
    s.gravity(9.81, -s.ground.z)
    turn = s.body(
        "turn", joint=arm.Revolute("z"), at=(0.2, 0, 0.5), mass=2, com=(0.3, 0, 0), inertia=(0.01, 0.2, 0.2)
    )
    s.body("plate", turn, arm.Revolute("y"), at=(0.6, 0, 0), mass=3, inertia=(0.3, 0.3, 0.59))
    s.body(
        "rod",
        turn,
        arm.Revolute((1, 1, 0)),
        at=(0.6, 0.1, 0),
        mass=1,
        com=(0, 0, 0.2),
        inertia=(0.1, 0.1, 0.004),
    )
    s.body("brick", joint=arm.Prismatic("x"), at=(0, 1, 0), mass=4, inertia=(0.2, 0.3, 0.4))
    s.body("ball", joint=arm.Spherical(), at=(0, 2, 0), mass=1, com=(0, 0, -0.4), inertia=(0.1, 0.1, 0.1))
    s.body("gimbal", joint=arm.Gimbal("xyz"), at=(1, 2, 0), mass=1, com=(0, 0.3, 0), inertia=(0.1, 0.2, 0.15))
    flat = s.body("flat", joint=arm.Planar("z"), at=(2, 0, 0), mass=1, inertia=(0.1, 0.1, 0.1))
    s.body("screw", joint=arm.Cylindrical("y"), at=(2, 1, 0), mass=1, inertia=(0.02, 0.01, 0.02))
    free = s.body("free", joint=arm.Free(), mass=1.5, inertia=(0.1, 0.12, 0.2))
    crank = s.body(
        "crank", joint=arm.Revolute("y"), at=(3, 0, 0), mass=1, com=(0.2, 0, 0), inertia=(0, 0.1, 0.1)
    )
    link = s.body(
        "link", crank, arm.Revolute("y"), at=(0.4, 0, 0), mass=1, com=(0.3, 0, 0), inertia=(0, 0.1, 0.1)
    )
    s.close_joint("revolute", link.point((0.6, 0, 0), name="end"), s.ground.point((3.7, 0, 0.2)), axis="y")
    s.strut("spring", "-30*(x - 0.4) - v", between=(flat.point((0.1, 0, 0)), s.ground.point((2.5, 0.5, 0.3))))
    s.start({"crank.q1": -0.6, "link.q1": 0.5})
    flat.shape(arm.Box(0.4, 0.3, 0.1), at=(0.05, 0, 0), colour="#cc5500")
    flat.shape(arm.Cone(0.1, 0.3, axis=(1, 0, 0)))
    free.shape(arm.Capsule(0.1, 0.4, axis="y"), orient=("x", 0.5))
    free.shape(arm.Ellipsoid(0.1, 0.2, 0.3), at=(0, 0, 0.2))
    free.shape(arm.Cylinder(0.05, 0.5))
    free.shape(arm.Sphere(0.07), at=(0.3, 0, 0))
    top, hook = flat.point((0.1, 0, 0.2), name="top"), s.ground.point((2.0, 0.3, 1.0), name="hook")
    s.shape("coil", arm.Spring(0.1, coils=4), between=(hook, top))
    s.shape("damping", arm.Damper(), between=(top, hook))
    s.shape("rope", arm.Cable(0.01, length=1.5), between=(top, hook))
    return s


def pictured() -> str:
    """Parts of all bodies as pages and films draw them, line by line."""
    eom = yard().derive()
    look = Appearance(core_of(eom), {})
    lines = [f"up {look.up()}, pull {look.pull():.4f}, size {look.size:.4f}"]
    for name, body in yard().bodies.items():
        lines += [f"{name}: {json.dumps(part, default=np.ndarray.tolist)}" for part in look.parts(body)]
    lines += [f"{body.name} closes at {at.round(6).tolist()}" for body, at in look.closures()]
    lines += [f"spring: {json.dumps(one, default=str)}" for one in look.springs()]
    return "\n".join(lines)


def prints() -> dict[str, Callable[[], object]]:
    """What is printed, by name."""
    s = wagon()
    eom = s.derive()
    model = eom.compile()
    run = model.simulate(1.0, sample=0.25, initial={"rod.q1": 0.5})
    other = model.simulate(1.0, sample=0.25, initial={"rod.q1": 0.45}, parameters={"k": 60.0})
    linear = model.linearize(inputs=["pull"], outputs=["tip", "rod.q1"])
    point = model.equilibrium()
    modes = linear.modes()
    locus = arm.root_locus(model, "k", np.linspace(10.0, 90.0, 5))
    base = eom.base_parameters()
    way = {"rod.q1": np.linspace(-0.5, 1.0, 7)}
    return {
        "system": lambda: s,
        "equations": lambda: eom,
        "equations, M u' = f": lambda: eom.show(),
        "LaTeX": lambda: eom.latex(),
        "LaTeX, rows": lambda: eom.latex("rows"),
        "LaTeX, M u' + h = Q": lambda: eom.latex("M u' + h = Q", symbols={"rod.q1": "theta"}),
        "HTML": lambda: eom.html(),
        "model": lambda: model,
        "run": lambda: run,
        "run in a notebook": lambda: run._repr_html_(),
        "comparison": lambda: run.compare(other),
        "linear": lambda: linear,
        "linear in a notebook": lambda: linear._repr_html_(),
        "transfer functions": lambda: linear.transfer_function(output="tip"),
        "modes": lambda: modes,
        "modes in a notebook": lambda: modes._repr_html_(),
        "point": lambda: point,
        "point in a notebook": lambda: point._repr_html_(),
        "locus": lambda: locus,
        "trim": lambda: model.trim({"wagon.q1": 0.05}, inputs=["pull"]),
        "branch": lambda: model.trace(point, "k", 40.0, 90.0),
        "base parameters": lambda: base,
        "sweep": lambda: model.sweep(way),
        "sweep in a notebook": lambda: model.sweep(way)._repr_html_(),
        "solutions": lambda: model.solve({"tip": -0.2}, start={"wagon.q1": 0.1}),
        "efforts": lambda: model.inverse(run),
        "sensitivities": lambda: model.sensitivities(0.5, to=["k", "c"], initial={"rod.q1": 0.5}),
        "batch": lambda: model.simulate_batch(0.5, parameters={"k": [30.0, 40.0, 50.0]}),
        "sketch": lambda: s.draw(),
        "parts": pictured,
        "equations of a yard": lambda: yard().derive(),
    }


COMMANDS = (
    "derive wagon.toml --equations text --section outputs",
    "check wagon.toml",
    "linearize wagon.toml --inputs pull --outputs tip",
    "bode wagon.toml --inputs pull --outputs tip --from 1 --to 10",
    "bode wagon.toml --inputs pull --outputs tip --from 1 --to 2 --hz --decibels",
    "modes wagon.toml --energies",
    "modes wagon.toml --sweep k=20:60:3",
    "trim wagon.toml --fixed wagon.q1=0.05 --inputs pull",
    "sweep wagon.toml rod.q1=0:1:4 --outputs tip --derivatives",
    "solve wagon.toml tip=-0.2 --hold wagon.q1",
    "run wagon.toml --duration 0.5 --set k=50 -o run.csv",
    "run wagon.toml --duration 0.5 -o other.csv",
    "diff run.csv other.csv",
    "inverse wagon.toml run.csv",
)


def printed_by_commands() -> Iterator[str]:
    """The output of commands, in a folder of their own."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        wagon().save("wagon.toml")
        for command in COMMANDS:
            found = CliRunner().invoke(app, command.split())
            yield f"==== armillary {command}: {found.exit_code}"
            yield from (line.rstrip() for line in TIME.sub(r"\1 …", found.output).splitlines())
        yield from Path("wagon.toml").read_text(encoding="utf-8").splitlines()


def printed() -> Iterator[str]:
    for name, make in prints().items():
        yield f"==== {name}"
        try:
            yield from (line.rstrip() for line in str(make()).splitlines())
        except arm.ArmillaryError as error:
            yield f"{type(error).__name__}: {error}"
    yield from printed_by_commands()


if __name__ == "__main__":
    KEPT.write_text("\n".join(printed()) + "\n", encoding="utf-8")
