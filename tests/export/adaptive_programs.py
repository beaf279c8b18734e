"""A stiff system, run by the exported programs of several languages."""

from __future__ import annotations

import csv
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np

import armillary as arm

RTOL, ATOL, DURATION, SAMPLE = 1e-7, 1e-9, 2.0, 0.05


ROOM = 1e-3 * (RTOL * 20.0 + ATOL)  # of values below 20


@cache
def equations() -> arm.Equations:
    """A spinning body on a spring, with Euler parameters, and an event that turns a force."""
    s = arm.System("toy")
    s.parameter("k", 30.0, units="N/m")
    hub = s.body("hub", joint=arm.Spherical(), mass=1, inertia=(1.0, 2.0, 3.0))
    slider = s.body("slider", hub, arm.Prismatic("x"), mass=0.5, inertia=0)
    push = s.memory("push", initial=2.0, units="N")
    s.force("spring", "-k*(slider.q1 - 0.5) + push", slider.x, at=slider.com, reaction=hub.origin)
    s.event("far", "slider.q1 - 0.7", set={push: -push})
    s.start({"hub.u1": 0.4, "hub.u2": 3.0, "hub.u3": 0.1, "slider.q1": 0.6})
    return s.derive()


@cache
def model() -> arm.CompiledModel:
    return equations().compile()


@cache
def process(method: str) -> arm.Run:
    return model().simulate(DURATION, method=method, rtol=RTOL, atol=ATOL, sample=SAMPLE)


def table(text: str) -> np.ndarray:
    return np.array([[float(x) for x in row] for row in list(csv.reader(text.splitlines()))[1:]])


def ran(command: list[str], folder: Path) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def run_file(method: str) -> str:
    settings = {"duration": DURATION, "sample": SAMPLE, "rtol": RTOL, "atol": ATOL}
    return "\n".join(["[run]", f'method = "{method}"', *(f"{k} = {v}" for k, v in settings.items()), ""])


def in_python(folder: Path, method: str) -> np.ndarray:
    (folder / "now.toml").write_text(run_file(method))
    ran([sys.executable, "-I", "-S", "toy.py", "now.toml"], folder)
    return table((folder / "now.csv").read_text())
