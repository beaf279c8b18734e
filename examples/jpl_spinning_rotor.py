"""A spinning rotor and a two-axis platform on a spacecraft, each with a flexible appendage of one mass.

The rotor turns at 10 rad/s, and its appendage vibrates about the shape that this spin gives it, in complex
modes. The platform is slewed by 10 degrees about each of its axes.

Source: Fleischer and Likins (1975), JPL TR 32-1598, section III.C: the sample problem of MBDYFR.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

import armillary as arm

SPIN = 10.0  # rad/s, of the rotor
SLEW = 10 * 3.14159265 / 180  # rad/s, for one second about each axis of the platform
START = {"rotor.u1": SPIN}
SIDEWAYS = [[[1, 0], [0, 1], [0, 0]]]  # shapes of one node that moves along x and y


def rigid(
    mass: float,
    inertia: tuple[float, ...],
    centre: tuple[float, ...],
    node: tuple[float, ...],
    node_mass: float,
) -> dict[str, Any]:
    """What is left of a substructure without its node.

    The report gives mass, mass centre (from the body's origin) and inertia of the whole, and places from
    there.
    """
    own = mass - node_mass
    r = np.array(node)
    com = -node_mass * r / own
    left = np.diag(inertia) - node_mass * _point(r) - own * _point(com)
    # The report's rotor is a flat disc and its node is off the disc: what is left is no real body, nor need
    # it be.
    return {
        "mass": own, "com": tuple(np.array(centre) + com), "inertia": left.tolist(), "check_inertia": False
    }  # fmt: skip


def _point(r: np.ndarray) -> np.ndarray:
    return r @ r * np.eye(3) - np.outer(r, r)


def system(damping: float = 0.01) -> arm.System:
    """Spacecraft, rotor and platform. Springs are such that the report's frequencies result, spin
    included.
    """
    s = arm.System("JPL spinning rotor")
    base = s.body("base", joint=arm.Free(), mass=399.9, inertia=(250.0, 275.0, 350.0))
    node = (0.3333, 0.0, -0.493)
    rotor = s.body(
        "rotor", base, arm.Revolute("z"), at=(0, 0, -2), **rigid(50.1, (10, 10, 20), (0, 0, 0), node, 1.0)
    )
    rotor.flexible(
        nodes={"tip": node}, masses=[1.0], shapes=SIDEWAYS, stiffness=np.diag([399.2, 399.2]),
        damping=damping, spin=(0, 0, SPIN),
    )  # fmt: skip
    above = (0.0, 0.0, 0.56)
    platform = s.body(
        "platform", base, arm.Gimbal("zx"), at=(0, 1, 1), **rigid(50.0, (6, 3, 8), (0, 0.3, 0), above, 5.0)
    )
    platform.flexible(
        nodes={"tip": (0, 0.3, 0.56)}, masses=[5.0], shapes=SIDEWAYS, stiffness=np.diag([400.95, 400.95]),
        damping=damping,
    )  # fmt: skip
    s.memory("phase", 0.0, about="slews begun or ended")
    s.parameter("slew", SLEW, units="rad/s", about="commanded rate")
    for i, (axis, k, begin) in enumerate((("base.z", 250.0, 1.0), ("platform.x", 300.0, 3.0)), start=1):
        s.parameter(f"begin{i}", begin, units="s", about=f"start of slew {i}")
        s.parameter(f"end{i}", begin + 1.0, units="s", about=f"end of slew {i}")
        s.parameter(f"k{i}", k, units="N*m/rad")
        s.parameter(f"c{i}", 50.0, units="N*m*s/rad")
        command = f"slew*(min(max(t, begin{i}), end{i}) - begin{i})"
        s.output(f"command{i}", command, units="rad", about="commanded angle")
        law = f"-k{i}*(platform.q{i} - {command}) - c{i}*platform.u{i}"
        s.moment(f"motor{i}", law, axis, on=platform, reaction=base)
        for edge in ("begin", "end"):  # so that no step of an integrator runs across
            s.event(f"{edge} of slew {i}", f"t - {edge}{i}", direction=1, set={"phase": "phase + 1"})
    for body, place in ((rotor, node), (platform, (0, 0.3, 0.56))):
        moved = arm.position(body.node("tip"), body.point("rest", place))
        s.output(f"{body.name} tip x", arm.dot(moved, body.x), units="mm")
        s.output(f"{body.name} tip y", arm.dot(moved, body.y), units="mm")
    return s


def main(folder: str = "out") -> None:
    """The report's ten seconds."""
    s = system()
    eom = s.derive("mbdyfr")
    print(f"{eom.formalism}: {eom.operations}")
    tight: dict[str, Any] = {"method": "dop853", "sample": 0.02, "rtol": 1e-10, "atol": 1e-12}
    run = eom.compile().simulate(10.0, initial=START, **tight)
    size = run["angular momentum"]
    print(f"angular momentum {size[0]:.6f} N m s, changes by at most {abs(size - size[0]).max():.1e}")
    print(f"the rotor's tip moves by {abs(run['rotor tip x']).max():.3f} mm along x")
    Path(folder).mkdir(parents=True, exist_ok=True)
    run.plot(
        "base.u4", "base.u5", "base.u6", "rotor tip x", "rotor tip y", "platform tip x", "platform tip y",
        path=Path(folder) / "jpl_spinning_rotor.png",
    )  # fmt: skip


if __name__ == "__main__":
    main(*sys.argv[1:2])
