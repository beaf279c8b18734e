"""Operating points that cannot be: sentences that name the quantities and the remedy."""

from __future__ import annotations

from typing import Any

import pytest

from armillary.errors import ArmillaryError
from tests.analysis.operating.systems import hoop, parallelogram, pendulum
from tests.wrong_arguments import WRONG


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"inputs": ["torque"]}, ["2 unknowns (bob.q1, torque)", "1 condition (rate of bob.u1)", "1 more"]),
        ({"fixed": {"bob.q1": 30}}, ["rate of bob.u1 is -562.072 deg/s2", "inputs="]),
        (
            {"inputs": ["torque"], "fixed": {"bob.q1": 80}, "bounds": {"torque": (-1, 5)}},
            ["torque at a bound", "rate of bob.u1", "widen bounds="],
        ),
        ({"outputs": {"height": 600}, "inputs": ["torque"]}, ["height is 500 mm, wanted 600 mm"]),
        ({"outputs": {"height": -400}}, ["2 conditions for 1 unknown (bob.q1)"]),
        ({"fixed": {"bob.q": 1}}, ["did you mean 'bob.q1'?"]),
        ({"fixed": {"bob.u1": 3}}, ["at rest all speeds are zero", "use trim"]),
        ({"fixed": {"torque": 1}}, ["is a parameter", "parameters={'torque': …}"]),
        ({"fixed": 3}, ["fixed= must hold values by name"]),
        ({"fixed": {"bob.q1": "3 kg"}}, ["bob.q1", "kg"]),
        ({"inputs": ["tork"]}, ["did you mean 'torque'?"]),
        ({"inputs": ["c"], "fixed": {"bob.q1": 0}}, ["input 'c' acts on none"]),
        ({"free": ["bob.u2"]}, ["free= names 'bob.u2'"]),
        ({"free": ["bob.q1"], "fixed": {"bob.q1": 0}}, ["both in free= and in fixed="]),
        ({"bounds": {"bob.q1": 3}}, ["pair (low, high)"]),
        ({"bounds": {"bob.q1": (3, 1)}}, ["wrong order"]),
        ({"starts": []}, ["starts= is empty"]),
        ({"starts": "many"}, ["starts="]),
        ({"starts": {"bob.q7": 1}}, ["bob.q7"]),
        ({"outputs": {"hight": 1}}, ["did you mean 'height'?"]),
        ({"inputs": ["torque"], "settle": True, "fixed": {"bob.q1": 3}}, ["settle="]),
    ],
)
def test_an_equilibrium_that_cannot_be(asked: dict[str, Any], words: list[str]) -> None:
    with pytest.raises(ArmillaryError) as error:
        pendulum().equilibrium(**asked)
    for word in words:
        assert word in str(error.value)


def test_a_cyclic_coordinate_cannot_be_found() -> None:
    with pytest.raises(ArmillaryError, match=r"'ring.q1' is cyclic"):
        hoop().trim(free=["ring.q1", "bead.q1"])


def test_what_turns_is_not_at_rest() -> None:
    with pytest.raises(ArmillaryError, match=r"rate of ring.q1 is 3 rad/s"):
        hoop().equilibrium()


def test_a_rate_that_cannot_be_zero_is_named() -> None:
    with pytest.raises(ArmillaryError, match=r"rate of bead.q1 is 2 rad/s.*rates="):
        hoop().trim(fixed={"bead.u1": 2.0})


def test_a_loop_that_cannot_close_is_named() -> None:
    with pytest.raises(ArmillaryError, match=r"loop1 along ground"):
        parallelogram().equilibrium(fixed={"left.q1": 0.2, "coupler.q1": 1.5})


@pytest.mark.parametrize(
    "option", ["fixed", "free", "rates", "inputs", "outputs", "bounds", "starts", "settle", "t"]
)
def test_wrong_types_are_refused_by_a_sentence(option: str) -> None:
    for value in WRONG.values():
        for given in (value, {"bob.q1": value}, [value]):
            try:
                pendulum().trim(**{option: given})
            except ArmillaryError as error:
                assert len(str(error)) > 10
