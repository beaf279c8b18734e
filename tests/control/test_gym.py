"""Environments of Gymnasium: steps against runs, episodes, random starts and Gymnasium's own checks."""

import copy
import pickle

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


def test_copies_that_do_not_fill_the_last_lanes_are_alike():
    """Seven copies, alone and in threads, from one start: all do the same."""
    env = _environments(7, initial={"pole.q1": 0.3}, parts=10_000, threads=2)
    env.reset(seed=1)
    seen = env.step(np.full((7, 1), 2.0))[0]
    assert seen.shape == (7, 4) and np.array_equal(seen, np.tile(seen[0], (7, 1)))


def test_copies_begin_anew_in_the_same_step_if_asked():
    how = dict(autoreset="same step", time_limit=0.1, initial={"cart.q1": [1.0, 2.0]})
    env, other = _environments(3, **how), _environments(3, **{**how, "autoreset": "next step"})
    first, _ = env.reset(seed=5)
    assert np.array_equal(first, other.reset(seed=5)[0])
    for _ in range(5):
        seen, reward, ended, cut, information = env.step(np.ones((3, 1)))
        last, *_ = other.step(np.ones((3, 1)))
    assert cut.all() and not ended.any() and np.allclose(reward, 0.99)
    assert np.array_equal(information["final_obs"], last) and information["_final_obs"].all()
    assert np.array_equal(seen, other.step(np.ones((3, 1)))[0])  # the same starts, a step earlier
    assert env.step(np.ones((3, 1)))[4] == {}
    assert env.metadata["autoreset_mode"].value == "SameStep"


def test_actions_and_observations_have_stated_units_and_a_type():
    s = arm.System("slider in millimetres")
    s.parameter("k", 0.002, units="N/mm")
    body = s.body("b", joint=arm.Prismatic("x"), mass=1.0, inertia=0)
    s.input("F", units="kN")
    s.force("push", "F - k*b.q1", s.ground.x, at=body.com)
    s.output("way", body.q1, units="mm")
    from armillary import gym

    env = gym.ModelEnvironments(
        s.derive().compile(), 2, step=0.1, inputs={"F": (0, 1)}, observations=["way", "k"], reward=1,
        parameters={"k": (0.002, 0.003)}, dtype=np.float32,
    )  # fmt: skip
    seen, _ = env.reset(seed=2)
    assert seen.dtype == np.float32 and env.observation_space.contains(seen)
    assert np.allclose(env.step(np.full((2, 1), 0.001, dtype=np.float32))[0][:, 0], 5.0, rtol=0.01)  # 1 N
    k = seen[:, 1]
    assert np.all((k >= 2.0) & (k <= 3.0))  # N/m, as an expression of the model


def test_euler_parameters_stay_unit():
    s = arm.System("top")
    body = s.body("top", joint=arm.Spherical(), com=(0, 0, 0.1), mass=1.0, inertia=(0.01, 0.01, 0.02))
    s.input("tau")
    s.moment("drive", "tau", s.ground.z, on=body)
    s.gravity(9.81, -s.ground.z)
    from armillary import gym

    names = [f"top.q{i}" for i in range(1, 5)]
    env = gym.ModelEnvironments(
        s.derive().compile(), 3, step=0.05, inputs={"tau": (-1, 1)}, observations=names, reward=0,
        initial={"top.u1": (1, 5), "top.u3": 20.0},
    )  # fmt: skip
    env.reset(seed=1)
    for _ in range(20):
        seen = env.step(np.zeros((3, 1)))[0]
    assert np.allclose(np.sum(seen**2, axis=1), 1.0, rtol=1e-13) and np.ptp(seen) > 0.1


def test_a_single_copy_passes_the_check_of_gymnasium():
    import warnings

    from gymnasium.utils.env_checker import check_env

    from armillary import gym

    one = gym.ModelEnvironment(
        cart_pole(), step=0.02, inputs={"F": (-1, 1)}, observations=["cart.q1", "pole.q1"], reward=1,
        within={"cart.q1": (-2.4, 2.4)}, initial={"pole.q1": (-0.1, 0.1)}, time_limit=1.0, dtype=np.float32,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # observations without limits
        check_env(one, skip_render_check=True)


def test_stable_baselines_takes_copies():
    library = pytest.importorskip(
        "stable_baselines3", reason="Stable-Baselines3 is not installed: pip install 'armillary[learn]'"
    )
    from armillary import gym

    how = dict(autoreset="same step", dtype=np.float32, time_limit=0.1)
    copies = gym.stable_baselines(_environments(4, **how))
    copies.seed(3)
    assert copies.reset().shape == (4, 4)
    for _ in range(5):
        seen, _, over, information = copies.step(np.zeros((4, 1), dtype=np.float32))
    assert over.all() and information[0]["TimeLimit.truncated"]
    assert information[2]["terminal_observation"].shape == (4,)
    learned = library.PPO("MlpPolicy", copies, n_steps=8, batch_size=16, seed=1).learn(32)
    assert learned.predict(seen)[0].shape == (4, 1)
    from stable_baselines3.common.env_checker import check_env

    check_env(gym.ModelEnvironment(
        cart_pole(), step=0.02, inputs={"F": (-1, 1)}, observations=["cart.q1", "pole.q1"], reward=1,
        dtype=np.float32,
    ))  # fmt: skip
    with pytest.raises(arm.ArmillaryError, match="autoreset='same step'"):
        gym.stable_baselines(_environments(2))


def test_actions_beyond_their_limits_are_held_at_them():
    beyond, at = _environments(1), _environments(1)
    seen = []
    for env, action in ((beyond, 1000.0), (at, 10.0)):
        env.reset(seed=1)
        seen.append(env.step(np.array([[action]]))[:2])
    assert np.array_equal(seen[0][0], seen[1][0]) and np.array_equal(seen[0][1], seen[1][1])


def test_a_step_needs_a_reset():
    import gymnasium

    with pytest.raises(gymnasium.error.ResetNeeded):
        _environments(2).step(np.zeros((2, 1)))


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"inputs": {"G": (0, 1)}}, "has no input 'G'"),
        ({"observations": ["pole.q7"]}, "cannot be read"),
        ({"initial": {"pole": 0.0}}, "initial= there is no state 'pole'"),
        ({"parameters": {"M": 1.0}}, "parameters= there is no parameter 'M'"),
        ({"within": {"cart.q1": (1, -1)}}, "above the upper one"),
        ({"autoreset": "never"}, "autoreset="),
        ({"inputs": ["F"]}, "inputs= must hold values by name"),
        ({"observations": []}, "observations= is empty"),
        ({"step": 0.0}, "step must be a positive number, not 0"),
        ({"time_limit": 0.0}, "time_limit must be a positive number, not 0"),
        ({"initial": {"pole.q1": np.nan}}, "initial= 'pole.q1' must be finite, not nan"),
        ({"initial": {"pole.q1": (0.0, np.inf)}}, "initial= 'pole.q1' must be finite"),
        ({"parameters": {"L": (-np.inf, 1.0)}}, "parameters= 'L' must be finite"),
        ({"within": {"cart.q1": 1.0}}, "within= 'cart.q1' must be .*limits"),
        ({"dtype": "wide"}, "dtype= must be a type of reals, .* not 'wide'"),
        ({"dtype": np.int32}, "dtype= must be a type of reals"),
    ],
)
def test_wrong_arguments_are_named(changed, words):
    with pytest.raises(arm.ArmillaryError, match=words):
        _environments(2, **changed)


def test_an_open_limit_ends_nothing():
    """A cart at 2 m/s passes 0.5 m between 0.24 and 0.26 s; the other ends are open."""
    env = _environments(2, within={"cart.q1": (None, 0.5), "pole.q1": (None, None)}, initial={"cart.u1": 2.0})
    env.reset(seed=1)
    ends = [bool(env.step(np.zeros((2, 1)))[2][0]) for _ in range(13)]
    assert ends == [False] * 12 + [True]  # 0.52 m after 0.26 s


def test_a_reset_of_some_copies_alone_is_refused():
    env = _environments(2)
    with pytest.raises(arm.ParameterError, match="takes no reset_mask"):
        env.reset(options={"reset_mask": np.array([True, False])})


def test_environments_that_are_copied_or_pickled_say_that_they_belong_to_a_process():
    env = _environments(2)
    for copied in (copy.deepcopy, pickle.dumps):
        with pytest.raises(arm.ArmillaryError, match="cannot be pickled or copied"):
            copied(env)


def test_actions_of_another_shape_or_not_finite_are_named():
    env = _environments(3)
    env.reset(seed=1)
    with pytest.raises(arm.ParameterError, match="actions must be a number or an array of numbers, not"):
        env.step([["left"], ["right"], ["left"]])
    with pytest.raises(arm.ParameterError, match=r"actions of shape \(2, 1\) were given; give \(3, 1\)"):
        env.step(np.zeros((2, 1)))
    with pytest.raises(arm.ParameterError, match="the action of copy 2 is not finite"):
        env.step(np.array([[0.0], [1.0], [np.nan]]))
