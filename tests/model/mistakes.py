"""A small model to make mistakes in, and tables of mistakes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

import armillary as arm


@dataclass
class Model:
    """A small system s with bodies A (revolute) and B (prismatic on A), and a body O of another system."""

    s: arm.System
    A: arm.Body
    B: arm.Body
    O: arm.Body  # noqa: E741 - a body's name


def small_model() -> Model:
    """A fresh one."""
    s = arm.System("model")
    A = s.body("A", joint=arm.Revolute("z"), mass=1, inertia=(1, 1, 1))
    B = s.body("B", A, arm.Prismatic("x"), mass=1, inertia=0)
    s.parameter("L", 1.0, units="m")
    s.parameter("F0", 1.0, units="N")
    other = arm.System("other")
    return Model(s, A, B, other.body("O", joint=arm.Revolute("x"), mass=1, inertia=0))


Table = list[tuple[str, Callable[[Model], Any], str]]  # what is wrong, how it is done, part of the message


def cases(**tables: Table) -> list[Any]:
    """The rows of all tables, as arguments of one test."""
    return [
        pytest.param(mistake, message, id=f"{kind}: {what}")
        for kind, table in tables.items()
        for what, mistake, message in table
    ]


def check(mistake: Callable[[Model], Any], message: str) -> None:
    """The mistake is an ArmillaryError with this message."""
    with pytest.raises(arm.ArmillaryError, match="(?s)" + message):
        mistake(small_model())
