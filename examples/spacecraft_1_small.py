"""Spacecraft 1 with small variables: the bus and the boom move little, clock and camera do not.

Source: Sayers (1990), section 9.4. The boom's root is stiff and declared so: the torques of its small
deflections are not small.
"""

from __future__ import annotations

import sys
from pathlib import Path

from spacecraft_1 import START, system

SMALL = [f"B.{letter}{i}" for letter in "qu" for i in range(1, 7)] + ["E.q1", "E.u1", "F.q1", "F.u1"]
LARGE = ("KB", "BB")


def main(folder: str = "out") -> None:
    """30 s with both models, thrusters switched by events."""
    s = system(thrusters="events")
    s.small(*SMALL)
    s.large(*LARGE)
    small, full = s.derive(), s.derive(small=False)
    print(f"small: {small.operations}")
    print(f"full:  {full.operations}")
    print("\n".join(str(small.neglected).splitlines()[:8]))
    runs = [eom.compile().simulate(30.0, initial=START, max_step=0.02, rtol=1e-9) for eom in (small, full)]
    for name in ("B.q4", "B.q5", "B.q6"):
        largest, difference = abs(runs[1][name]).max(), abs(runs[0][name] - runs[1][name]).max()
        print(f"{name}: at most {largest:.5f} rad, models differ by {difference:.1e}")
    Path(folder).mkdir(parents=True, exist_ok=True)
    runs[0].plot("B.q4", "B.q5", "B.q6", path=Path(folder) / "spacecraft_1_small.png")


if __name__ == "__main__":
    main(*sys.argv[1:2])
