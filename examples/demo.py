"""A tour of Armillary with the Stanford arm: description, equations, cost, speed, a run, a picture.

    python examples/demo.py [folder for the picture]

Published operation counts: Sayers (1990), Table 9.6.1, for the arm without controller. They include what
uncoupling the equations takes; sines and cosines are not counted.
"""

from __future__ import annotations

import math
import sys
import time
from pathlib import Path

from stanford_arm import TARGETS, system

import armillary as arm

PUBLISHED = (
    ("Hussain and Noble, Macsyma", 1902, 5406),
    ("Walker and Orin, numeric Newton-Euler", 1255, 1627),
    ("Kane and Nielan, Macsyma", 521, 858),
    ("SD/EXACT", 465, 718),
    ("Kane and Levinson, by hand", 459, 732),
    ("SD/FAST", 390, 576),
    ("Wampler, by hand", 318, 448),
    ("SYMBA", 268, 384),
    ("AUTOSIM", 240, 353),
)
LINES = 12  # of the equations, shown


def heading(text: str) -> None:
    print(f"\n{text}\n{'-' * len(text)}")


def describe() -> arm.System:
    heading("1. A description becomes equations")
    described = system(controller=False)
    print(f"{described.name}: {len(described.bodies)} bodies, {len(described.speeds)} degrees of freedom\n")
    for body in described.bodies.values():
        assert body.parent is not None
        print(f"  {body.name} on {body.parent.name:7} {body.joint.describe():12} {body.q1.data.about}")
    return described


def derive(described: arm.System) -> None:
    start = time.perf_counter()
    eom = described.derive()
    seconds = time.perf_counter() - start
    lines = eom.show().splitlines()
    print(f"\nDerived in {1000 * seconds:.0f} ms by the formalism '{eom.formalism}'. The program begins:\n")
    print("\n".join(f"  {line}" for line in lines[: LINES + 1]))
    print(f"  ... and {len(lines) - LINES - 1} lines more")

    heading("2. What one evaluation costs")
    ours = eom.operations
    print(f"  {'':38} {'+ -':>6} {'x /':>6}")
    for name, additions, products in PUBLISHED:
        print(f"  {name:38} {additions:6} {products:6}")
    products = ours.multiplications + ours.divisions
    print(f"  {'Armillary':38} {ours.additions:6} {products:6}   and {ours.functions} sines and cosines")


def simulate(folder: Path) -> None:
    heading("3. Compiled and run, with the published controller")
    eom = system().derive()
    model = eom.compile()
    print(f"Compiled in {1000 * model.compile_seconds:.0f} ms: {eom.operations}")
    for duration in (0.1, 10.0):  # the integrator is compiled at its first use, which is not timed
        start = time.perf_counter()
        run = model.simulate(duration, step=1e-4, method="rk4", sample=0.01, initial={"B.q1": math.pi / 2})
        seconds = time.perf_counter() - start
    evaluations = int(run.info["evaluations"])
    each = 1e9 * seconds / evaluations
    print(f"10 s of motion in {1000 * seconds:.0f} ms: {evaluations} evaluations of {each:.0f} ns,")
    print("integrator included.\n")
    for name, target in TARGETS.items():
        end, wanted = run.final[name], run.parameters[target]
        print(f"  {name}  ends at {end:8.5f} {run.units[name]:3}  target {wanted:8.5f}")
    path = folder / "stanford_arm.png"
    picture(run, path)
    page = run.animate(folder / "stanford_arm.html")
    print(f"\nPicture: {path}\nMotion:  {page}, to be opened in a browser")


def picture(run: arm.Run, path: Path) -> None:
    """The coordinates over time; dashed, their targets."""
    path.parent.mkdir(parents=True, exist_ok=True)
    figure = run.plot(*TARGETS, path=path)
    angles, slider = figure.axes
    angles.axhline(run.parameters["AROT"], color="grey", linestyle="--")
    slider.axhline(run.parameters["CDISP"], color="grey", linestyle="--")
    figure.savefig(path)


def main(folder: str = "out") -> None:
    start = time.perf_counter()
    derive(describe())
    simulate(Path(folder))
    print(f"All in {time.perf_counter() - start:.1f} s. The other files in examples/ run in the same way.")


if __name__ == "__main__":
    main(*sys.argv[1:2])
