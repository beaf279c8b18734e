"""Environments of Gymnasium: steps against runs, episodes, random starts and Gymnasium's own checks."""

import numpy as np
import pytest

import armillary as arm
from tests.control.systems import cart_pole

pytest.importorskip("gymnasium", reason="Gymnasium is not installed: pip install 'armillary[gym]'")


def _environments(count, **changed):
    from armillary import gym

    how = dict(
        step=0.02, inputs={"F": (-10, 10)}, observations=["cart.q1", "cos(pole.q1)", "pole.u1", "L"],
        reward="1 - 0.01*F^2", within={"cart.q1": (-2.4, 2.4)}, initial={"pole.q1": (-0.1, 0.1)},
    )  # fmt: skip
    return gym.ModelEnvironments(cart_pole(), count, **{**how, **changed})


def test_steps_are_those_of_a_run():
    env = _environments(2, initial={"pole.q1": 0.3}, parts=2)
    first, _ = env.reset(seed=1)
    assert np.allclose(first[0], [0, np.cos(0.3), 0, 0.5])
    for _ in range(50):
        seen, reward, ended, cut, _ = env.step(np.array([[2.0], [2.0]]))
    run = cart_pole().simulate(1.0, step=0.01, initial={"pole.q1": 0.3}, memory={"F": 2.0})
    assert np.allclose(seen[0, [0, 2]], [run.final["cart.q1"], run.final["pole.u1"]], rtol=1e-9)
    assert np.allclose(reward, 0.96) and not ended.any() and not cut.any()


def test_episodes_end_and_begin_anew():
    env = _environments(3, time_limit=0.1, initial={"cart.q1": [2.35, 2.35]})
    env.reset(seed=1)
    actions = np.array([[0.0], [10.0], [0.0]])
    flags = [env.step(actions)[2:4] for _ in range(5)]
    assert [bool(cut[0]) for _, cut in flags] == [False] * 4 + [True]  # 0.1 s over
    seen, reward, ended, cut, _ = env.step(actions)
    assert reward[0] == 0.0 and seen[0, 0] == 2.35 and not ended[0] and not cut[0]


def test_an_episode_ends_where_a_limit_is_passed():
    """From 2.4 m at 1 m/s the first step leaves the limit."""
    env = _environments(2, initial={"cart.q1": 2.39, "cart.u1": 1.0})
    env.reset(seed=1)
    ended, cut = env.step(np.zeros((2, 1)))[2:4]
    assert ended.all() and not cut.any()


def test_parameters_are_drawn_for_each_copy_and_seeds_repeat():
    env = _environments(64, parameters={"L": (0.4, 0.6)}, threads=2)
    first, _ = env.reset(seed=7)
    assert 0.4 <= first[:, 3].min() < 0.45 and 0.55 < first[:, 3].max() <= 0.6
    second, _ = env.reset(seed=7)
    assert np.array_equal(first, second)
    after = env.step(np.zeros((64, 1)))[0]
    run = cart_pole().simulate(
        0.02, step=0.02, initial={"pole.q1": np.arccos(first[5, 1])},
        parameters={"L": first[5, 3]},
    )  # fmt: skip
    assert np.cos(run.final["pole.q1"]) == pytest.approx(after[5, 1], rel=1e-9)


def test_gymnasium_takes_it_for_one_of_its_own():
    import gymnasium

    env = _environments(4)
    assert isinstance(env, gymnasium.vector.VectorEnv)
    wrapped = gymnasium.wrappers.vector.RecordEpisodeStatistics(env)
    seen, _ = wrapped.reset(seed=3)
    assert wrapped.observation_space.contains(seen)
    seen, *_ = wrapped.step(wrapped.action_space.sample())
    assert wrapped.observation_space.contains(seen)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"inputs": {"G": (0, 1)}}, "has no input 'G'"),
        ({"observations": ["pole.q7"]}, "cannot be read"),
        ({"initial": {"pole": 0.0}}, "initial= there is no state 'pole'"),
        ({"parameters": {"M": 1.0}}, "parameters= there is no parameter 'M'"),
        ({"within": {"cart.q1": (1, -1)}}, "above the upper one"),
    ],
)
def test_wrong_arguments_are_named(changed, words):
    with pytest.raises(arm.ArmillaryError, match=words):
        _environments(2, **changed)
