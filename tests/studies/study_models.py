"""Studies of a pendulum for the tests, and one that dies while it writes.

python -m tests.studies.study_models FOLDER PIECE     killed when the so-manyth piece of a file is written
"""

from __future__ import annotations

import os
import signal
import sys
from functools import cache
from pathlib import Path
from typing import Any

from armillary.model.joints import Revolute
from armillary.run_files.resolve import example_system
from armillary.stages import System
from armillary.stages.model import Model
from armillary.studies import Study
from armillary.studies import folder as folders
from armillary.studies.sampling import Normal, Uniform

RUNS, BLOCK = 200, 30  # seven blocks, the last with 20 runs


@cache
def pendulum() -> Model:
    return example_system("pendulum").derive().compile()


def pendulum_study(folder: Path, **changed: Any) -> Study:
    """Two histories, a histogram and three metrics of a swing."""
    how: dict[str, Any] = {
        "t_end": 1.0,
        "step": 0.01,
        "vary": {"L": Uniform(0.5, 2.0), "g": Normal(9.81, 0.1), "bob.q1": Uniform(-1.0, 1.0)},
        "design": "random",
        "runs": RUNS,
        "seed": 7,
        "block": BLOCK,
        "metrics": {
            "peak": "maximum(bob.u1)",
            "down": "crossing(bob.q1, 0)",
            "end": "final(height)",
            "spread": "histogram(bob.q1, -1, 1, 4)",
        },
        "outputs": ["bob.q1", "energy"],
        "sample": 0.1,
        "model": pendulum(),
    } | changed
    return Study(how.pop("model"), folder, how.pop("t_end"), **how)


class Hinge(Revolute):
    """A joint of the user's own, which no text can say."""


def weighted() -> Model:
    """A pendulum whose mass is a parameter."""
    s = System("weighted")
    s.body("A", joint=Revolute("z"), com=(1, 0, 0), mass="m", inertia=(0, 1, 1))
    s.gravity(9.81, -s.ground.y)
    return s.derive().compile()


def hinged() -> System:
    """A rod on that joint."""
    s = System("hinged")
    s.parameter("L", 0.5, units="m")
    rod = s.body("rod", joint=Hinge("z"), com=("L", 0, 0), mass=1, inertia=(0, 0.1, 0.1))
    s.gravity(9.81, -s.ground.y)
    s.output("angle", rod.q1, units="rad")
    return s


def die_at(piece: int) -> None:
    """This process ended, as hard as can be, with half of a piece of a file written."""
    write, left = folders._write_all, piece

    def written(file: Any, content: Any) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            write(file, bytes(content)[: len(content) // 2])
            os.kill(os.getpid(), signal.SIGKILL)
        write(file, content)

    folders._write_all = written


if __name__ == "__main__":
    die_at(int(sys.argv[2]))
    pendulum_study(Path(sys.argv[1])).run()
