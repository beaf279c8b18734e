"""Several contacts at once: a break in billiards, a Geneva drive, the woodpecker toy; batches and exports."""

from __future__ import annotations

import csv
import math
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import armillary as arm
from armillary.verification.cases.impacts import woodpecker

# ---------------------------------------------------------------- billiards


def rack(restitution: float, law: str) -> arm.System:
    """A cue ball, and three balls that touch."""
    s = arm.System("billiards")
    radius = 0.03
    away = 2 * radius * math.cos(math.pi / 6)
    places = {"cue": (-0.3, 0.0), "apex": (0.0, 0.0), "left": (away, radius), "right": (away, -radius)}
    balls = {
        name: s.body(name, joint=arm.Joint(translate=["x", "y"]), at=(x, y, 0), mass=0.17, inertia=0)
        for name, (x, y) in places.items()
    }
    for a, b in (("cue", "apex"), ("apex", "left"), ("apex", "right"), ("left", "right")):
        gap = arm.magnitude(arm.position(balls[b], balls[a])) - 2 * radius
        s.unilateral(f"{a}_{b}", gap, restitution=restitution, law=law)
    s.output("energy", s.kinetic_energy(), units="J")
    s.output("along", arm.dot(s.momentum(), s.ground.x), units="N*s")
    return s


def test_a_symmetric_break_is_one_impact_of_all_balls() -> None:
    """P = (1 + e) m v/1.4 from cue to apex, √3/5 of it on to each of the others, by Newton's law."""
    for restitution in (1.0, 0.9):
        run = rack(restitution, "newton").derive().compile().simulate(
            0.2, initial={"cue.u1": 2.0}, max_step=0.01
        )  # fmt: skip
        blow = (1 + restitution) * 2.0 / 1.4
        on = blow * math.sqrt(3) / 5
        expected = {
            "cue.u1": 2.0 - blow, "apex.u1": blow - on * math.sqrt(3), "left.u1": on * math.sqrt(3) / 2,
            "left.u2": on / 2, "right.u1": on * math.sqrt(3) / 2, "right.u2": -on / 2,
        }  # fmt: skip
        for name, value in expected.items():
            assert abs(run.final[name] - value) < 1e-8, name
        assert abs(run.events[0].time - 0.12) < 1e-9  # 0.24 m at 2 m/s
        assert abs(run.final["along"] - 0.34) < 1e-12
        lost = 0.5 * 0.17 * 0.5 * (1 - restitution**2) * 2.0**2 * blow / (2.0 * (1 + restitution)) * 2
        assert abs(run["energy"][0] - run.final["energy"] - lost) < 1e-9


def test_poissons_law_conserves_the_energy_of_a_break() -> None:
    run = rack(1.0, "poisson").derive().compile().simulate(0.2, initial={"cue.u1": 2.0}, max_step=0.01)
    assert abs(run.final["along"] - 0.34) < 1e-12
    assert abs(run.final["energy"] - 0.34) < 1e-9
    assert abs(run.final["left.u1"] - run.final["right.u1"]) < 1e-12


# ---------------------------------------------------------------- a Geneva drive


def test_a_geneva_wheel_follows_its_pin_within_the_clearance() -> None:
    """ψ = −atan(sin θ/(√2 − cos θ)) while the pin is in a slot, |θ| < π/4; a brake holds the wheel else."""
    a, clearance = 0.05, 1e-4
    d = a * math.sqrt(2)
    s = arm.System("Geneva drive")
    driver = s.body("driver", joint=arm.Revolute("z"), mass=0.3, inertia=(1e-4,) * 3)
    wheel = s.body("wheel", joint=arm.Revolute("z"), at=(d, 0, 0), mass=0.2, inertia=(2e-4,) * 3)
    s.prescribe(driver.q1, "2*t - 1")
    s.brake("felt", wheel.q1, capacity=0.01)
    s.define("px", f"{a}*cos(driver.q1) - {d}")
    s.define("py", f"{a}*sin(driver.q1)")
    s.define("away", "sqrt(px*px + py*py)")
    s.define("aside", "away*sin(mod(atan2(py, px) - wheel.q1 + pi/4, pi/2) - pi/4)")  # of the nearest slot
    for name, side in (("front", "+"), ("back", "-")):
        s.unilateral(name, f"select(away < {a}, {clearance} {side} aside, 1)")
    run = s.derive().compile().simulate(7.0, initial={"wheel.q1": math.pi / 4}, sample=2e-3, max_step=0.02)
    theta = (2 * run.time - 1 + math.pi) % (2 * math.pi) - math.pi
    turns = np.round((2 * run.time - 1 - theta) / (2 * math.pi))
    law = -np.arctan2(np.sin(theta), math.sqrt(2) - np.cos(theta)) - turns * math.pi / 2
    away = np.sqrt(a * a + d * d - 2 * a * d * np.cos(theta))
    driven = np.abs(theta) < math.pi / 4 - 1e-3
    assert np.max(np.abs(run["wheel.q1"] - law)[driven] * away[driven]) < clearance * (1 + 1e-4)
    held = np.abs(theta) > math.pi / 4 + 0.1
    assert np.max(np.abs(run["wheel.u1"][held])) < 1e-12
    assert turns[-1] == 2 and abs(run["wheel.q1"][held][-1] + 3 * math.pi / 4) < 1.01 * clearance / a


# ---------------------------------------------------------------- batches of the woodpecker toy


def test_batches_are_equal_to_single_runs() -> None:
    model = woodpecker().derive().compile()
    speeds = np.array([-0.3411, -0.2, -0.1])
    names = ["sleeve.q1", "bird.q1", "bird.u1", "lower_status"]
    batch = model.simulate_batch(
        0.5, initial={"sleeve.u1": speeds}, metrics={n: f"final({n})" for n in names}
    )
    for i, speed in enumerate(speeds):
        alone = model.simulate(0.5, initial={"sleeve.u1": speed}, sample=5e-4)
        assert len(alone.events) > 20
        for name in names:
            assert batch[name][i] == pytest.approx(alone.final[name], rel=1e-10, abs=1e-13), name


# ---------------------------------------------------------------- exports


@pytest.fixture(scope="module")
def tumbling() -> arm.Equations:
    s = arm.System("bar")
    bar = s.body("bar", joint=arm.Joint(translate=["x", "y"], rotate=["z"]), mass=1.0, inertia=(0.1,) * 3)
    s.gravity(9.81, -s.ground.y)
    for name, x in (("left", -0.5), ("right", 0.5)):
        end = bar.point(name, (x, 0, 0))
        s.contact(name, end, plane=(s.ground, s.ground.y), restitution=0.4, friction=0.2, law="poisson")
    s.start({"bar.q2": 0.8, "bar.q3": 0.3, "bar.u1": 1.0})
    return s.derive()


@pytest.mark.parametrize("language", ["c", "python"])
def test_exported_programs_have_the_same_impacts(
    tumbling: arm.Equations, language: str, tmp_path: Path
) -> None:
    run = tumbling.compile().simulate(2.0, method="dopri5", sample=0.1)
    assert len(run.events) > 20 and run.final["left_status"] == run.final["right_status"] == 1
    tumbling.export(language, tmp_path)
    (tmp_path / "now.toml").write_text('[run]\nduration = 2.0\nmethod = "dopri5"\nsample = 0.1\n')
    if language == "c":
        if shutil.which("cc") is None:
            pytest.skip("no C compiler")
        flags = ["-std=c99", "-O0", "-Wall", "-Wextra", "-Werror"]
        files = ["main.c", "bar.c", "bar_solver.c"]
        subprocess.run(["cc", *flags, *files, "-o", "program", "-lm"], cwd=tmp_path, check=True)
        subprocess.run(["./program", "now.toml", "now.csv"], cwd=tmp_path, check=True)
    else:
        subprocess.run([sys.executable, "-I", "-S", "bar.py", "now.toml"], cwd=tmp_path, check=True)
    with (tmp_path / "now.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 21
    for name in ("bar.q1", "bar.q2", "bar.q3", "bar.u1", "left_status", "right_status"):
        column = next(c for c in rows[0] if c.split(" [")[0] == name)
        found = np.array([float(row[column]) for row in rows])
        assert np.max(np.abs(found - run[name])) < 1e-7, name


def test_a_ball_that_closes_gently_beside_brakes_stops_with_them() -> None:
    """Brakes hold the centre of a ball, whose point of contact approaches and slips negligibly. Rows of the
    contact and of the brakes are redundant; with the slip left, the product of it and the spin made their
    accelerations contradict each other, and no forces were found (random mechanism 550424.1).
    """
    s = arm.System("held ball")
    body = s.body("b", joint=arm.Free(), mass=1.0, inertia=(0.4, 0.4, 0.4))
    s.gravity(9.81, -s.ground.y)
    for k in (1, 2, 3):
        s.brake(f"hold{k}", f"b.q{k}", capacity=100.0)
    floor = (s.ground.point("low", (0, -0.7, 0)), s.ground.y)
    s.contact("ball", body.point("side", (0.3, 0, 0)), plane=floor, radius=0.7, friction=0.5)
    length = math.hypot(0.3, 0.7)
    start = {"b.u4": 0.3 / length + 1e-5, "b.u5": -0.7 / length, "b.u6": -1e-8}
    run = s.derive().compile(tier="quick").simulate(1e-3, initial=start)
    assert np.all(run["ball_status"] == 1)
    # The spin that is left is about the line from the centre to the point of contact.
    assert run["b.u6"][0] == pytest.approx(0.0, abs=1e-15)
    assert -0.7 * run["b.u4"][0] - 0.3 * run["b.u5"][0] == pytest.approx(0.0, abs=1e-15)
