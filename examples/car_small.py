"""The car with small variables: roll, side speed and yaw rate are small beside the forward speed.

Source: Sayers (1990), section 9.1 and Appendix B. One description gives both models: the declarations are
used by default and ignored by ``derive(small=False)``.
"""

from __future__ import annotations

import sys
from pathlib import Path

from car import system

SMALL = ("RB.q1", "RB.u1", "NRB.u2", "NRB.u3")  # yaw and the place on the road are not small


def main(folder: str = "out") -> None:
    """Both models' answers to a step of one and of half a degree of steer."""
    s = system()
    s.small(*SMALL)
    small, full = s.derive(), s.derive(small=False)
    print(f"small: {small.operations}")
    print(f"full:  {full.operations}")
    print(small.show())
    models = small.compile(), full.compile()
    for steer in (1.0, 0.5):
        runs = [m.simulate(2.0, step=0.005, method="rk4", parameters={"STEER": steer}) for m in models]
        difference = abs(runs[0]["r"] - runs[1]["r"]).max() / abs(runs[1]["r"]).max()
        print(f"steer {steer} deg: yaw rates differ by {difference:.1e} of their largest value")
    Path(folder).mkdir(parents=True, exist_ok=True)
    run = models[0].simulate(2.0, step=0.025, method="midpoint")
    run.plot("r", "Ay", "alpha_f", "alpha_r", path=Path(folder) / "car_small.png")


if __name__ == "__main__":
    main(*sys.argv[1:2])
