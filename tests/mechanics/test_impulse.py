"""Speeds after joints have been locked, against momenta and energies, whatever the units and sizes."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import armillary as arm
from armillary.algebra.arguments import core_of
from armillary.mechanics.constraints.reduction import Configuration
from armillary.runtime.models.instance import Instance
from armillary.stages.model import Model
from examples import array_deployment

SIZES = [1e-6, 1e-3, 1.0, 1e4, 1e6, 1e8]


def test_a_run_of_heavy_discs_grips_as_the_light_ones_do() -> None:
    """(J + J) a⁺ = J a + J (a + b), for discs of any size."""
    s = arm.System("ship")
    s.parameter("J", 1.0, units="kg*m2")
    A = s.body("A", joint=arm.Revolute("z"), mass=0, inertia=("J", "J", "J"))
    s.body("B", A, arm.Revolute("z"), mass=0, inertia=("J", "J", "J"))
    s.event("grip", "t - 0.5", lock="B.q1")
    model = s.derive().compile()
    for J in SIZES:
        run = model.simulate(1.0, sample=0.1, initial={"A.u1": 1.0, "B.u1": 1.0}, parameters={"J": J})
        assert run["A.u1"][-1] == pytest.approx(1.5, abs=1e-12)
        assert run["B.u1"][-1] == 0.0


# ---------------------------------------------------------------- a free tree


@cache
def wing(formalism: str) -> Model:
    """The array of the example with all panels free, and an event that could lock them."""
    s = array_deployment.system(together=True)
    return s.derive(formalism).compile()


@pytest.mark.parametrize(
    ("formalism", "held"),
    [("kane", ("panel1.u1",)), ("momentum", ("panel2.u1", "panel3.u1"))],
    ids=["one", "two"],
)
def test_latches_keep_momentum_and_lose_the_energy_of_the_change(
    formalism: str, held: tuple[str, ...]
) -> None:
    """No impulse from outside; and Carnot's theorem, T⁻ − T⁺ = T of the difference of both motions."""
    model = wing(formalism)
    free, locked = (
        Instance(core_of(model).in_configuration(Configuration(frozenset(names)))) for names in ((), held)
    )
    chance = np.random.default_rng(7)
    q = np.concatenate([chance.normal(size=3), _unit(chance.normal(size=4)), chance.normal(size=3)])
    before, nothing = chance.normal(size=9), np.empty(0)
    after = locked.changes.impulse(0.0, np.concatenate([q, before]), nothing)
    names = [u.data.name for u in model.equations.system.speeds]
    assert all(after[names.index(name)] == 0.0 for name in held)
    shown = [
        free.model.outputs(0.0, free.changes.enter(0.0, np.concatenate([q, u]), nothing))
        for u in (before, after, before - after)
    ]
    for name in ("px", "py", "pz", "hx", "hy", "hz"):
        assert shown[1][name] == pytest.approx(shown[0][name], abs=1e-11)
    stretched = shown[2]["energy"] - _kinetic(free, q, before - after)
    kinetic = [out["energy"] - stretched for out in shown]
    assert kinetic[0] - kinetic[1] == pytest.approx(kinetic[2], rel=1e-12)


def _unit(e: np.ndarray) -> np.ndarray:
    return e / np.linalg.norm(e)


def _kinetic(instance: Instance, q: np.ndarray, u: np.ndarray) -> float:
    """T, from two values of the energy: that of the springs depends on coordinates alone."""
    moving, still = (
        instance.model.outputs(0.0, instance.changes.enter(0.0, np.concatenate([q, x]), np.empty(0)))
        for x in (u, 0.0 * u)
    )
    return moving["energy"] - still["energy"]


# ---------------------------------------------------------------- a closed loop


def linkage(closed: bool) -> arm.System:
    """Cranks A and C with links B and D on them, joined at their ends where ``closed``."""
    s = arm.System("five-bar")
    bar = {"com": (0.15, 0.02, 0), "mass": 1.0, "inertia": (0, 0.01, 0.01)}
    A = s.body("A", joint=arm.Revolute("z"), at=(-0.1, 0, 0), **bar)
    B = s.body("B", A, arm.Revolute("z"), at=(0.3, 0, 0), **bar)
    C = s.body("C", joint=arm.Revolute("z"), at=(0.1, 0, 0), **bar)
    D = s.body("D", C, arm.Revolute("z"), at=(0.3, 0, 0), **bar)
    s.output("T", s.kinetic_energy())
    if closed:
        ends = B.point("end", (0.4, 0, 0)), D.point("end", (0.4, 0, 0))
        s.close_loop(*ends, [s.ground.x, s.ground.y], name="pin")
        s.event("catch", "t - 1", lock=["A.q1", "C.q1"])
    s.start({"A.q1": 2.3, "B.q1": -1.3, "C.q1": 0.8, "D.q1": 1.3})
    return s


@cache
def linkages() -> tuple[Model, Model]:
    closed, opened = (linkage(closed).derive().compile() for closed in (True, False))
    return closed, opened


def rows(q: np.ndarray) -> np.ndarray:
    """J of the pin: velocities of both ends by the speeds of A, B, C and D."""
    a, b, c, d = q
    J = np.zeros((2, 4))
    for k, (first, second, sign) in enumerate([(a, a + b, 1.0), (c, c + d, -1.0)]):
        crank = sign * 0.3 * np.array([-np.sin(first), np.cos(first)])
        link = sign * 0.4 * np.array([-np.sin(second), np.cos(second)])
        J[:, 2 * k], J[:, 2 * k + 1] = crank + link, link
    return J


@pytest.mark.parametrize("held", [("C.u1",), ("A.u1", "C.u1"), ("B.u1",)], ids=["C", "both cranks", "link"])
def test_a_crank_caught_in_a_loop_is_an_impulse_on_all_joints(held: tuple[str, ...]) -> None:
    """M (u⁺ − u⁻) = JᵀΛ with M from the kinetic energy of the open chains, J by hand, solved by NumPy."""
    closed, opened = linkages()
    place = Instance(core_of(closed)).place(0.0, closed.state({"A.u1": 2.0, "C.u1": 3.0}), np.empty(0))
    T = lambda u: opened.outputs(0.0, np.concatenate([place.q, u]))["T"]  # noqa: E731
    e = np.eye(4)
    M = np.array([[T(e[i] + e[j]) - T(e[i]) - T(e[j]) for j in range(4)] for i in range(4)])
    names = [u.data.name for u in closed.equations.system.speeds]
    J = np.vstack([rows(place.q), e[[names.index(name) for name in held]]])
    K = np.block([[M, -J.T], [J, np.zeros((len(J), len(J)))]])
    expected = np.linalg.solve(K, np.concatenate([M @ place.u, np.zeros(len(J))]))[:4]
    instance = Instance(core_of(closed).in_configuration(Configuration(frozenset(held))))
    after = instance.changes.impulse(0.0, place.motion, np.empty(0))
    assert after == pytest.approx(expected, abs=1e-12)
    again = instance.changes.impulse(0.0, np.concatenate([place.q, after]), np.empty(0))
    assert again == pytest.approx(after, abs=1e-14)
