"""A small text model for the tests of run files and commands: a damped pendulum, angles in degrees."""

from __future__ import annotations

from pathlib import Path

MODEL = """
armillary = 1
name = "swing"
units = "SI-deg"

[parameters]
L = { value = 0.5, units = "m", about = "length of the rod" }
c = { value = 0.3, units = "N*m*s/rad" }
m = { value = 2.0, units = "kg", about = "mass of the bob" }
g = { value = 9.81, about = "gravity" }

[inputs]
push = { units = "N*m", about = "drive" }

[memory.peak]
initial = 0.0
update = "max(peak, abs(bob.q1))"
units = "deg"

[bodies.bob]
joint = { revolute = "z" }
com = [0, "-L", 0]
mass = "m"
inertia = 0

[gravity]
magnitude = "g"
direction = "-ground.y"

[loads.damper]
moment = "-c*bob.u1 + push"
direction = "ground.z"
on = "bob"

[outputs.height]
value = "dot(position(bob.com), ground.y)"
units = "mm"
about = "of the bob"

[start]
"bob.q1" = 10
"""

RUN = """
model = "swing.toml"
title = "a push"

[parameters]
L = "20 in"
m = 1.5

[initial]
bob.u1 = "0.1 rev/s"

[inputs]
push = "2 lb*in"

[run]
duration = "500 ms"
step = 0.01
"""


def write_swing(folder: Path, run: str = RUN) -> Path:
    """The model and a run file in a folder; the path of the run file."""
    (folder / "swing.toml").write_text(MODEL, encoding="utf-8")
    path = folder / "push.toml"
    path.write_text(run, encoding="utf-8")
    return path
