"""A spacecraft under thrust with liquid in a tank: slosh as a pendulum, and as a mass on springs.

The first lateral mode of the liquid in an upright cylinder of radius R, filled to a depth h, moves like a
mass m on a rod of length L, or on springs of stiffness k = m a/L, under the thrust's acceleration a; the rest
of the liquid moves with the tank:

    L = R / (ξ tanh ξh/R)       m / m_liquid = 2 R tanh(ξh/R) / (ξ (ξ² − 1) h)       ξ = 1.8412, J₁'(ξ) = 0

Source: Abramson, ed. (1966), The dynamic behavior of liquids in moving containers, NASA SP-106, chapter 6.
The spacecraft is ours. Both models have the same small motions; the pendulum needs no stiffness that changes
with the thrust, and goes over to free flight when the engine stops.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from math import pi, sqrt, tanh
from pathlib import Path

import armillary as arm

XI = 1.8411837813406593  # first root of J₁'
RADIUS, DEPTH, LIQUID = 0.5, 0.6, 1010.0  # of the tank, of the liquid in it, and its density
DRY = 800.0  # kg
TURN = "select(t < tau, turn*sin(2*pi*t/tau), 0)"  # from rest to rest, by turn tau²/(2π across)
FORMALISMS = ("kane", "recursive", "back_substitution", "momentum")


def equivalent(radius: float = RADIUS, depth: float = DEPTH, density: float = LIQUID) -> tuple[float, ...]:
    """(length of the pendulum, its mass, mass of the liquid that does not slosh)."""
    whole = density * pi * radius**2 * depth
    filled = tanh(XI * depth / radius)
    sloshing = whole * 2 * radius * filled / (XI * (XI**2 - 1) * depth)
    return radius / (XI * filled), sloshing, whole - sloshing


def system(model: str = "pendulum") -> arm.System:
    """Spacecraft and sloshing mass, "pendulum" or "springs"; the thrust acts along z, through the mass centre
    of the spacecraft, from which the pendulum's hinge is ``d`` further along z.
    """
    length, sloshing, fixed = equivalent()
    s = arm.System(f"slosh, {model}")
    s.parameter("thrust", 1000.0, units="N")
    s.parameter("mass", DRY + fixed, units="kg", about="of the spacecraft with the liquid at rest in it")
    s.parameter("across", 600.0, units="kg*m2", about="moment of inertia about x and y")
    s.parameter("m", sloshing, units="kg", about="mass that sloshes")
    s.parameter("L", length, units="m", about="length of the pendulum")
    s.parameter("d", 0.9, units="m", about="height of the hinge above the mass centre")
    s.parameter("zeta", 0.005, units="-", about="damping ratio of the liquid in a tank at rest")
    s.parameter(
        "a", 1000.0 / (DRY + fixed + sloshing), units="m/s2", about="acceleration for which k and c are"
    )
    s.parameter("turn", 20.0, units="N*m", about="moment of the thrusters for a change of course")
    s.parameter("tau", 4.0, units="s", about="time that it takes")
    craft = s.body("craft", joint=arm.Free(), mass="mass", inertia=("across", "across", 300.0))
    s.force("engine", "thrust", craft.z, at=craft.com)
    s.moment("thrusters", TURN, craft.y, on=craft)
    strain: list[arm.Expr] = []
    if model == "pendulum":
        slosh = s.body(
            "slosh", craft, arm.Gimbal("xy"), at=(0, 0, "d"), com=(0, 0, "-L"), mass="m", inertia=0
        )
        for i, axis in enumerate((craft.x, slosh.y), start=1):
            s.moment(f"damper{i}", f"-2*zeta*m*sqrt(a*L^3)*slosh.u{i}", axis, on=slosh, reaction=craft)
    else:
        slosh = s.body("slosh", craft, arm.Joint(translate="xy"), at=(0, 0, "d - L"), mass="m", inertia=0)
        for i, axis in enumerate((craft.x, craft.y), start=1):
            law = f"-m*a/L*slosh.q{i} - 2*zeta*m*sqrt(a/L)*slosh.u{i}"
            s.force(f"spring{i}", law, axis, at=slosh.com, reaction=craft)
            strain.append(s.expression(f"0.5*m*a/L*slosh.q{i}^2"))
    for letter, axis in (("x", craft.x), ("y", craft.y)):
        offset = arm.dot(arm.position(slosh.com, craft), axis)
        s.output(f"slosh {letter}", offset, units="mm", about="of the sloshing mass off the tank's axis")
    s.output("energy", s.kinetic_energy() + sum(strain), units="J", about="motion and springs")
    momentum, angular = s.momentum(), s.angular_momentum("mass centre")
    for letter, axis in zip("xyz", (s.ground.x, s.ground.y, s.ground.z), strict=True):
        s.output(f"p{letter}", arm.dot(momentum, axis), units="N*s", about="momentum")
        s.output(f"h{letter}", arm.dot(angular, axis), units="N*m*s", about="angular momentum")
    return s


def frequency_squared(values: Mapping[str, float]) -> float:
    """ω² of slosh in the freely flying spacecraft, by hand; it diverges where that is negative.

    ω² = a/L (1 + m/M + m d (d − L)/I)       a = thrust/(M + m)
    """
    M, m, L, d = (values[name] for name in ("mass", "m", "L", "d"))
    return values["thrust"] / (M + m) / L * (1 + m / M + m * d * (d - L) / values["across"])


def main(folder: str = "out") -> None:
    """Half a minute of thrust with a change of course at its start, by both models."""
    runs = {}
    for model in ("pendulum", "springs"):
        for formalism in FORMALISMS:
            print(f"{model} by {formalism}: {system(model).derive(formalism).operations}")
        compiled = system(model).derive().compile()
        runs[model] = compiled.simulate(30.0, sample=0.01)
        x, time = runs[model]["slosh x"], runs[model].time
        rises = time[1:][(x[:-1] < 0) & (x[1:] >= 0) & (time[1:] > 4)]
        period = (rises[-1] - rises[0]) / (len(rises) - 1)
        print(f"  slosh of {abs(x).max():.1f} mm at {1 / period:.4f} Hz, by hand "
              f"{sqrt(frequency_squared(runs[model].parameters)) / (2 * pi):.4f} Hz")  # fmt: skip
    gap = abs(runs["pendulum"]["slosh x"] - runs["springs"]["slosh x"]).max()
    print(f"the two models differ by up to {gap:.2f} mm")
    Path(folder).mkdir(parents=True, exist_ok=True)
    names = ("slosh x", "thrusters", "craft.u5")
    runs["pendulum"].plot(*names, path=Path(folder) / "slosh.png")


if __name__ == "__main__":
    main(*sys.argv[1:2])
