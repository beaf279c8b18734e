"""Environments on a GPU, without one: the kernel compiled as C++, against runs of the model."""

import numpy as np
import pytest

import armillary as arm
from armillary.control.card_environments import CardEnvironments
from tests.control.systems import cart_pole
from tests.ensembles.fake_cupy import CXX

pytestmark = pytest.mark.skipif(CXX is None, reason="no C++ compiler (c++)")
HOW = dict(
    step=0.02, inputs={"F": (-10, 10)}, observations=["cart.q1", "pole.q1", "pole.u1", "L"],
    reward="1 - 0.01*F^2", within={"cart.q1": (-2.4, 2.4)}, precision="double",
)  # fmt: skip


@pytest.mark.parametrize(("precision", "error"), [("double", 1e-9), ("single", 1e-5), ("fast", 1e-4)])
def test_steps_are_those_of_a_run(card, precision, error):
    how = {**HOW, "precision": precision}
    env = CardEnvironments(cart_pole(), 5, initial={"pole.q1": 0.3}, parts=2, **how)
    assert np.allclose(env.reset()[0], [0, 0.3, 0, 0.5])
    for _ in range(50):
        seen, reward, ended, cut = env.step(np.full((5, 1), 2.0))
    run = cart_pole().simulate(1.0, step=0.01, initial={"pole.q1": 0.3}, memory={"F": 2.0})
    expected = [run.final[name] for name in ("cart.q1", "pole.q1", "pole.u1")]
    assert np.allclose(seen[:, :3], expected, rtol=error)
    assert np.allclose(reward, 0.96) and not ended.any() and not cut.any()


def test_actions_beyond_their_limits_are_held_at_them(card):
    seen = []
    for action in (1000.0, 10.0):
        env = CardEnvironments(cart_pole(), 5, **{**HOW, "inputs": {"F": (-10, 10)}})
        env.reset()
        seen.append([np.array(a) for a in env.step(np.full((5, 1), action))[:2]])
    assert all(np.array_equal(a, b) for a, b in zip(*seen, strict=True))


def test_arrays_go_to_and_from_the_kernel_without_a_copy(card, monkeypatch):
    """The kernel reads the caller's actions, and DLPack hands over the observations that it fills."""
    env = CardEnvironments(cart_pole(), 5, **HOW)
    env.reset()
    read, plain = [], env._code.launch

    def launch(threads, blocks, arguments):
        read.extend(a for a in arguments if isinstance(a, np.ndarray))
        plain(threads, blocks, arguments)

    monkeypatch.setattr(env._code, "launch", launch)
    actions = card.full((5, 1), 2.0)
    seen = env.step(actions)[0]
    assert any(np.shares_memory(actions, a) for a in read)
    assert any(np.shares_memory(np.from_dlpack(seen), a) for a in read)
    assert np.shares_memory(seen, env.step(actions)[0])


def test_copies_draw_their_starts_and_parameters_and_begin_anew(card):
    """Draws are within their limits, spread over them, and the same for the same seed."""
    how = {**HOW, "observations": ["cart.q1", "pole.q1", "pole.u1", "L", "cart.u1"]}
    env = CardEnvironments(
        cart_pole(), 500, initial={"cart.q1": (1.0, 2.0)}, parameters={"L": (0.4, 0.6)}, time_limit=0.1, **how
    )  # fmt: skip
    first = env.reset(seed=3).copy()
    for column, low, high in ((0, 1.0, 2.0), (3, 0.4, 0.6)):
        unit = (first[:, column] - low) / (high - low)
        assert np.all((unit >= 0) & (unit <= 1)) and abs(unit.mean() - 0.5) < 0.05
        assert abs(unit.std() - 1 / np.sqrt(12)) < 0.02
    assert abs(np.corrcoef(first[:, 0], first[:, 3])[0, 1]) < 0.15
    forces = np.full((500, 1), 3.0)
    for _ in range(5):
        seen, _, ended, cut = env.step(forces)
    assert cut.all() and not ended.any()
    run = cart_pole().simulate(
        0.1, step=0.02, initial={"cart.q1": first[7, 0]}, parameters={"L": first[7, 3]}, memory={"F": 3.0}
    )
    assert np.allclose(seen[7, :3], [run.final[n] for n in ("cart.q1", "pole.q1", "pole.u1")], rtol=1e-10)
    second, reward, *_ = env.step(forces)
    assert np.all(reward == 0) and np.all(second[:, 4] == 0) and not np.array_equal(second[:, 0], first[:, 0])
    assert np.array_equal(env.reset(seed=3), first) and not np.array_equal(env.reset(seed=4), first)


def test_euler_parameters_stay_unit(card):
    s = arm.System("top")
    body = s.body("top", joint=arm.Spherical(), com=(0, 0, 0.1), mass=1.0, inertia=(0.01, 0.01, 0.02))
    s.input("tau")
    s.moment("drive", "tau", s.ground.z, on=body)
    s.gravity(9.81, -s.ground.z)
    names = [f"top.q{i}" for i in range(1, 5)]
    env = CardEnvironments(
        s.derive().compile(), 3, step=0.05, inputs={"tau": (-1, 1)}, observations=names, reward=0,
        initial={"top.u1": (1, 5), "top.u3": 20.0}, precision="double",
    )  # fmt: skip
    env.reset(seed=1)
    for _ in range(20):
        seen = env.step(np.zeros((3, 1)))[0]
    assert np.allclose(np.sum(seen**2, axis=1), 1.0, rtol=1e-13) and np.ptp(seen) > 0.1


def test_an_episode_ends_where_a_limit_is_passed(card):
    env = CardEnvironments(cart_pole(), 3, initial={"cart.q1": 2.39, "cart.u1": 1.0}, **HOW)
    env.reset()
    _, _, ended, cut = env.step(np.zeros((3, 1)))
    assert ended.all() and not cut.any()


def test_a_step_needs_a_reset_and_a_known_precision(card):
    with pytest.raises(arm.ArmillaryError, match="call reset"):
        CardEnvironments(cart_pole(), 2, **HOW).step(np.zeros((2, 1)))
    with pytest.raises(arm.ArmillaryError, match="precision="):
        CardEnvironments(cart_pole(), 2, **{**HOW, "precision": "half"})
