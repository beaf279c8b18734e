"""The car in 8,192 runs: how tyres, load and speed spread its answer to a step of steer, and which count.

The car is that of Sayers (1990), section 9.1; how much its data vary is an assumption: five per cent for
tyres and weights, and speeds of country roads. `car_study.toml` is the same study as a file.
"""

from __future__ import annotations

import sys
from pathlib import Path

from car import system

import armillary as arm

VARY = {
    "CA1": arm.Normal(-444, 22),  # in the parameter's own units, lb/deg
    "CA2": arm.Normal(-428, 22),
    "RBW": arm.Normal(3831, 190),
    "CE": arm.Normal(63.4, 1.5),
    "IZZR": arm.Normal(37080, 1850),
    "SPEED": arm.Uniform("40 mile/hour", "70 mile/hour"),
}
METRICS = {
    "peak yaw rate": "maximum(r)",
    "response time": "crossing(r, 4, rising)",
    "lateral acceleration": "maximum(Ay)",
}


def main(folder: str = "out") -> None:
    """Steer of one degree from the start; what is kept of each run are three numbers, and the yaw rate."""
    eom = system().derive()
    print(f"{eom.formalism}: {eom.operations}")
    study = arm.Study(
        eom.compile(), Path(folder) / "car_study", 2.0, step=0.01, sample=0.05, vary=VARY, metrics=METRICS,
        outputs=["r"], design="saltelli", runs=8192, seed=1,
    )  # fmt: skip
    study.run()
    print(study)
    for metric in METRICS:
        print(study.sensitivity(metric))
    place = Path(folder)
    study.fan("r", title="yaw rate", path=place / "car_study.png")
    study.histogram("peak yaw rate", path=place / "car_study_histogram.png")
    study.sensitivity("peak yaw rate").plot(place / "car_study_sensitivity.png")


if __name__ == "__main__":
    main(*sys.argv[1:2])
