"""A hanging chain of n links on hinges about x, y, z in turn: what a formalism of linear cost is for."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import armillary as arm


def system(n: int = 64, energy: bool = True) -> arm.System:
    """Links of 1 kg and 0.3 m along z, each hinged to the end of the one before."""
    s = arm.System(f"chain of {n}")
    s.gravity(9.81, -s.ground.z)
    link: arm.Body | None = None
    for i in range(n):
        link = s.body(
            f"link{i + 1}",
            parent=link,
            joint=arm.Revolute("xyz"[i % 3]),
            at=(0, 0, 0.3 if i else 0),
            com=(0, 0, 0.15),
            mass=1.0,
            inertia=(0.01, 0.012, 0.005),
        )
    if energy:
        s.output("energy", s.total_energy(), units="J")
    return s


def main(folder: str = "out") -> None:
    """Derivation and compilation with their times, two seconds of motion, and a plot of the energy."""
    began = time.perf_counter()
    eom = system().derive()
    derived = time.perf_counter()
    model = eom.compile()
    compiled = time.perf_counter()
    print(f"{eom.formalism}: {eom.operations}")
    print(f"derived in {derived - began:.2f} s, compiled in {compiled - derived:.2f} s")
    # Hanging almost straight down, since a chain that stands on its end falls chaotically.
    start = {f"link{i + 1}.q1": 0.02 for i in range(64)} | {"link1.q1": 3.0}
    run = model.simulate(2.0, method="dop853", sample=0.01, rtol=1e-10, atol=1e-12, initial=start)
    energy = run["energy"]
    print(f"energy {energy[0]:.9f} J, changed by at most {abs(energy - energy[0]).max():.1e} J")
    Path(folder).mkdir(parents=True, exist_ok=True)
    run.plot("link1.q1", "link2.q1", "link64.q1", path=Path(folder) / "chain.png")


if __name__ == "__main__":
    main(*sys.argv[1:2])
