"""The problems of `examples/optimal_motions.py` against Pontryagin's conditions, mechanics and IPOPT."""

import numpy as np
import pytest
from scipy.integrate import simpson, solve_bvp

import armillary as arm
from armillary import control
from examples.optimal_motions import GAIT, NAMES, PROBLEMS, RABBIT, ROAD, SIDE, STEP
from tests.control.systems import slider


def test_the_swing_up_of_the_double_pendulum_takes_the_least_effort():
    """As Pontryagin's conditions say. Absolute angles a, b of rods of 1 m and 1 kg from below:

    4/3 a'' + 1/2 cos(a−b) b'' + 1/2 sin(a−b) b'² + 3/2 g sin a = M
    1/2 cos(a−b) a'' + 1/3 b'' − 1/2 sin(a−b) a'² + 1/2 g sin b = 0
    """
    g = 9.81

    def rates(x, M):
        a, b, p, q = x
        s, c = np.sin(a - b), np.cos(a - b)
        left, right = M - s * q * q / 2 - 1.5 * g * np.sin(a), s * p * p / 2 - 0.5 * g * np.sin(b)
        det = 4 / 9 - c * c / 4
        return np.array([p, q, (left / 3 - c * right / 2) / det, (4 / 3 * right - c * left / 2) / det])

    def torque(x, costate):
        c = np.cos(x[0] - x[1])
        det = 4 / 9 - c * c / 4
        return -0.5 * (costate[2] / 3 - costate[3] * c / 2) / det

    def slopes(_, y):
        x, costate = y[:4], y[4:]
        M = torque(x, costate)
        back = []
        for i in range(4):
            z = x.astype(complex)
            z[i] += 1e-30j
            back.append(-np.imag(np.sum(costate * rates(z, M), axis=0)) / 1e-30)
        return np.vstack([rates(x, M), back])

    found = PROBLEMS["double pendulum, effort"].solve(inputs=["M"], accuracy=1e-4).check()
    run, goal = found.run, np.array([np.pi, np.pi, 0, 0])
    states = np.array([
        run["upper.q1"], run["upper.q1"] + run["lower.q1"], run["upper.u1"], run["upper.u1"] + run["lower.u1"]
    ])  # fmt: skip
    known = solve_bvp(
        slopes, lambda a, b: np.concatenate([a[:4], b[:4] - goal]), run.time,
        np.vstack([states, np.zeros_like(states)]), tol=1e-6, max_nodes=5000,
    )  # fmt: skip
    assert known.success
    y = known.sol(np.linspace(0, 1.8, 3001))
    assert found.cost == pytest.approx(simpson(torque(y[:4], y[4:]) ** 2, dx=1.8 / 3000), rel=2e-5)


def speeds_after_impact(angles, speeds):
    """Absolute rates of the five links after the swing foot strikes and stays, by impulses on a free walker.

    [M −Jᵀ; J 0] [q̇⁺; Λ] = [M q̇⁻; 0] with the hip's place and absolute angles (forwards) as coordinates.
    """
    long, centre = ({kind: v[i] for kind, v in RABBIT.items()} for i in (2, 3))

    def down(chain):
        """Levers from the hip: a link's length times the direction to its lower end, as a Jacobian."""
        J = np.zeros((2, 7))
        J[:, :2] = np.eye(2)
        for index, length in chain:
            a = angles[index]
            J[:, 2 + index] = length * np.array([-np.cos(a), np.sin(a)])  # of (−sin a, −cos a) length
        return J

    st, sf, to, wf, wt = range(5)
    coms = {
        sf: down([(sf, centre["femur"])]), st: down([(sf, long["femur"]), (st, centre["tibia"])]),
        to: down([(to, -centre["torso"])]), wf: down([(wf, centre["femur"])]),
        wt: down([(wf, long["femur"]), (wt, centre["tibia"])]),
    }  # fmt: skip
    M = np.zeros((7, 7))
    for i, J in coms.items():
        mass, inertia = RABBIT[NAMES[i].split("_")[-1]][:2]
        M += mass * J.T @ J
        M[2 + i, 2 + i] += inertia
    stance, swing = (down([(a, long["femur"]), (b, long["tibia"])]) for a, b in ((sf, st), (wf, wt)))
    before = np.concatenate([-stance[:, 2:] @ speeds, speeds])  # the stance foot does not move
    whole = np.block([[M, -swing.T], [swing, np.zeros((2, 2))]])
    return np.linalg.solve(whole, np.concatenate([M @ before, [0, 0]]))[2:7]


def test_the_walker_strikes_the_ground_and_repeats_its_step():
    found = PROBLEMS["walker"].solve(intervals=12, accuracy=None).check()
    run = found.run
    angles = np.array([run[f"{name} angle"] for name in NAMES])
    speeds = np.cumsum([run[f"{name}.u1"] for name in NAMES], axis=0)
    assert np.allclose(angles[::-1, -1], angles[:, 0], atol=1e-8)
    after = speeds_after_impact(angles[:, -1], speeds[:, -1])
    assert np.allclose(after[::-1], speeds[:, 0], atol=1e-6)
    assert np.min(run["foot y"]) > -1e-3 and run["foot x"][-1] == pytest.approx(STEP, abs=1e-7)
    assert run["foot x"][0] == pytest.approx(-STEP, abs=1e-7)
    again = PROBLEMS["walker"].model.simulate(
        0.7, initial={n: run.initial[n] for n in found.run.initial if n.endswith(("q1", "u1"))},
        inputs=found.signals(), rtol=1e-8,
    )  # fmt: skip
    assert abs(again.final["torso angle"] - run.final["torso angle"]) < 0.02


def test_a_lap_comes_back_to_its_start_in_the_plane():
    """The road's own coordinates are unknowns; those of the plane are integrated beside them."""
    found = PROBLEMS["lap"].solve(intervals=30, accuracy=None).check()
    run = found.run
    assert abs(run.final["body.q1"]) < 0.05 and run.final["body.q2"] == pytest.approx(
        run["side"][0], abs=0.05
    )
    assert run["way"][-1] == pytest.approx(ROAD) and run["body.u1"][-1] == pytest.approx(run["body.u1"][0])
    assert np.max(np.abs(run["side"])) > 0.9 * SIDE  # the car uses the width of the road
    points = run.time.searchsorted(np.linspace(0, found.duration, 61) - 1e-9)  # of the mesh
    assert np.max(run["rear grip"][points]) < 1 + 1e-6


def test_impacts_and_switches_are_phases():
    """A ball falls 1 m, loses a fifth of its speed and rises: √(2/g), then 0.8 of that."""
    s = arm.System("ball")
    body = s.body("b", joint=arm.Prismatic("y"), mass=1.0, inertia=0)
    s.gravity(9.81, -s.ground.y)
    s.input("F", units="N")
    s.force("push", "F", s.ground.y, at=body.com)
    ball = s.derive().compile()
    idle = {"model": ball, "inputs": {"F": 0.0}, "duration": (0.1, 3.0), "intervals": 2}
    found = control.optimize_phases(
        [
            control.Phase(**idle, initial={"b.q1": 1.0}, final={"b.q1": 0.0}),
            control.Phase(**idle, link={"b.q1": "b.q1", "b.u1": "-0.8*b.u1"}, final={"b.u1": 0.0}),
        ]
    ).check()
    assert found.phases[0].duration == pytest.approx(np.sqrt(2 / 9.81), rel=1e-7)
    assert found.phases[1].duration == pytest.approx(0.8 * np.sqrt(2 / 9.81), rel=1e-7)
    assert found.phases[1].run.final["b.q1"] == pytest.approx(0.64)
    arcs = [
        control.Phase(model=slider(), cost=1, inputs={"F": F}, duration=(0.1, 5.0), intervals=2, final=final)
        for F, final in ((1.0, None), (-1.0, {"b.q1": 1.0, "b.u1": 0.0}))
    ]
    switched = control.optimize_phases(arcs).check()
    assert [p.duration for p in switched.phases] == pytest.approx([1.0, 1.0], rel=1e-7)
    assert switched.cost == pytest.approx(2.0) and "2 phases in 2 s" in repr(switched)


def test_the_least_time_of_the_double_pendulum_is_a_minimum_and_no_saddle():
    """Four switches, found as phases; without the inertia of its steps a search ended at 1.97 s."""
    problem = PROBLEMS["double pendulum, time"]
    found = problem.solve(accuracy=None).check()
    arcs = [(25, 0.43), (-25, 0.08), (25, 0.36), (-25, 0.43), (25, 0.09)]
    phases = [
        control.Phase(
            model=problem.model, cost=1, duration=(0.01, 2.0), inputs={"M": torque}, intervals=16,
            guess={"duration": length}, final=problem.arguments["final"] if i == 4 else None,
        )
        for i, (torque, length) in enumerate(arcs)
    ]  # fmt: skip
    exact = control.optimize_phases(phases, method="radau", accuracy=None).check()
    assert found.duration == pytest.approx(exact.duration, rel=2e-3)
    assert exact.iterations < 80  # 32; 145 where rows of inputs that are given had no unknowns
    x = np.zeros(4)
    for (torque, _), phase in zip(arcs, exact.phases, strict=True):
        start = dict(zip(("upper.q1", "lower.q1", "upper.u1", "lower.u1"), x, strict=True))
        held = {"M": ([0.0, 9.0], [torque, torque])}
        run = problem.model.simulate(phase.duration, initial=start, inputs=held, rtol=1e-10)
        x = np.array([run.final[name] for name in start])
    assert np.allclose(x, [np.pi, 0, 0, 0], atol=2e-3)  # the arcs lead upright


def test_wrong_phases_are_named():
    phase = control.Phase(model=slider(), duration=1.0, inputs=["F"], final={"b.q1": 1.0})
    with pytest.raises(arm.ParameterError, match=r"takes a list of control\.Phase"):
        control.optimize_phases([])
    walker = control.Phase(model=PROBLEMS["walker"].model, duration=1.0, inputs=["ankle"])
    with pytest.raises(arm.ParameterError, match="phase 2 has no state in common with the phase before"):
        control.optimize_phases([phase, walker])
    stuck = control.Phase(
        model=slider(), duration=1.0, inputs={"F": 0.0}, link={"b.q1": "b.q1 + 1", "b.u1": "b.u1"},
        final={"b.q1": 0.0},
    )  # fmt: skip
    found = control.optimize_phases([phase, stuck], accuracy=None)
    assert found.solved  # there is a way: arrive with the speed −2 m/s
    bound = control.Phase(
        model=slider(), duration=1.0, inputs={"F": 0.0}, link={"b.q1": "b.q1 + 1", "b.u1": "b.u1"},
        initial={"b.u1": 0.0}, final={"b.q1": 0.0},
    )  # fmt: skip
    found = control.optimize_phases([phase, bound], accuracy=None)
    assert found.status == "infeasible" and "in phase 2" in found.message
    with pytest.raises(arm.ArmillaryError, match="no motion of 'slider'"):
        found.check()


@pytest.mark.parametrize("name", PROBLEMS)
def test_ipopt_finds_the_same_cost(name):
    pytest.importorskip("casadi", reason="CasADi, which has IPOPT, is not installed")
    ours, theirs = (
        PROBLEMS[name].solve(solver=solver, accuracy=None).check() for solver in ("embedded", "ipopt")
    )
    assert theirs.cost == pytest.approx(ours.cost, rel=1e-6)


def test_the_links_of_the_gait_name_every_link_and_every_joint():
    assert len(GAIT) == 10 and all(name in PROBLEMS["walker"].model.equations.system.outputs for name in GAIT)
